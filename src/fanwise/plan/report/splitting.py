"""How the files were split: the scorecard, pictures, hubs, and what was said of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fanwise.plan.node import Said
from fanwise.plan.recorded import Recorded
from fanwise.plan.split.picture.page import tiles
from fanwise.plan.split.picture.svg import graph_svg, tree_svg
from fanwise.plan.states import State
from fanwise.view.markup import Html, element
from fanwise.view.pieces import block, folded, scrolled

MOST = 500
COLOURS: Mapping[State, str] = {
    "done": "c2", "unchanged": "c5", "failed": "c4", "given up": "c4", "skipped": "c6",
    "conflict": "c1", "left out": "c1", "running": "c0", "verifying": "c0", "merging": "c3",
    "queued": "c-none",
}  # fmt: skip
PICTURE = (
    "From left to right: the plan, its parts, and the sub-plans that are worked on. A bar is the "
    "tokens of one, the number beside it its files. Green: done; red: failed; grey: not begun."
)


def splitting(found: Recorded) -> Html:
    """All of it."""
    split = found.split
    hubs = [f"{each.importers:>5}  {each.path}" for each in split.hubs]
    irreducible = [
        f"{each.title}: {each.irreducible}" for each in split.tree.leaves if each.irreducible
    ]
    return element(
        "div",
        element("dl", tiles(split.scorecard), class_="tiles"),
        folded("picture of the tree", _picture(found), class_="fold"),
        _fold("hubs: files that very many others import", hubs),
        _fold("sub-plans beyond the limits", irreducible),
        _fold("files whose imports could not be read", _said(split.unparsed)),
        _fold("files that were left out", _said(split.left_out)),
    )


def graph(found: Recorded) -> Html:
    """Who imports from whom, as the tree is now."""
    return scrolled(graph_svg(replace(found.split, tree=found.tree)), "Imports between sub-plans")


def _picture(found: Recorded) -> Html:
    classes = {leaf: COLOURS.get(each.state, "c0") for leaf, each in found.leaves.items()}
    drawn = tree_svg(replace(found.split, tree=found.tree), classes)
    return element("div", element("p", PICTURE, class_="small"), scrolled(drawn, "Tree"))


def _said(said: Sequence[Said]) -> list[str]:
    return [f"{each.path}: {each.why}" for each in said]


def _fold(title: str, lines: list[str]) -> Html | None:
    if not lines:
        return None
    more = len(lines) - MOST
    shown = [*lines[:MOST], *([f"… and {more:,} more"] if more > 0 else [])]
    return folded(f"{len(lines):,} {title}", block(title, "\n".join(shown)), class_="fold")
