"""A split as one page: the scorecard, the tree, the graph between leaves. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fanwise.plan.node import Node, Said, Scorecard, Split
from fanwise.plan.split.picture.svg import graph_svg, tree_svg
from fanwise.plan.split.picture.words import GRAPH, TREE, figures
from fanwise.view.markup import DASH, Html, element
from fanwise.view.page import Section, page
from fanwise.view.pieces import folded, scrolled, tile


def split_page(split: Split, name: str) -> str:
    """The whole document."""
    header = element(
        "div",
        element("h1", name),
        element("p", f"Split into sub-plans, mode {split.mode}", class_="about"),
        element("dl", tiles(split.scorecard), class_="tiles"),
    )
    return page(f"{name}: sub-plans", header, list(sections(split)), [])


def tiles(card: Scorecard) -> Iterator[Html]:
    """The scorecard."""
    for name, value, about in figures(card):
        yield tile(name, value, about)


def sections(split: Split) -> Iterator[Section]:
    """The parts of the page, for a report too."""
    yield Section("tree", "Sub-plans", scrolled(tree_svg(split), "Sub-plans"), TREE)
    if split.imports:
        yield Section("graph", "Imports between them", scrolled(graph_svg(split), "Graph"), GRAPH)
    yield Section("leaves", "Files of each", element("div", map(_files, split.tree.leaves)))
    if split.hubs:
        rows = [(hub.path, f"{hub.importers:,} importers") for hub in split.hubs]
        yield Section("hubs", "Hubs", _table(rows), "Files that very many others import.")
    for id_, title, said in (
        ("unparsed", "Not understood", split.unparsed),
        ("left-out", "Left out", split.left_out),
    ):
        if said:
            yield Section(id_, title, _said(said))


def _files(leaf: Node) -> Html:
    about = f"{leaf.title} {DASH} {len(leaf.files)} files, {leaf.tokens:,} tokens"
    why = element("p", leaf.irreducible, class_="bad") if leaf.irreducible else None
    paths = element("pre", "\n".join(leaf.files), tabindex="0")
    return folded(about, element("p", element("code", leaf.id), class_="small"), why, paths)


def _said(said: Sequence[Said]) -> Html:
    return _table((each.path, each.why) for each in said)


def _table(rows: Iterable[tuple[str, str]]) -> Html:
    body = [element("tr", element("th", a, scope="row"), element("td", b)) for a, b in rows]
    return scrolled(element("table", element("tbody", body), class_="facts"), "Files")
