"""A split as one page: the scorecard, and the tree with the files of each leaf. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.plan.model.node import FileNote, Scorecard, Split
from fanwise.plan.views.split_text import figures
from fanwise.view.html import Section, Templates, Tile


def split_page(split: Split, name: str) -> str:
    templates = Templates("fanwise.plan.views")
    return templates.page(
        "split_page.html",
        f"{name}: sub-plans",
        _sections(templates, split),
        name=name,
        mode=split.mode,
        tiles=scorecard_tiles(split.scorecard),
    )


def scorecard_tiles(card: Scorecard) -> list[Tile]:
    return [Tile(*each) for each in figures(card)]


def _sections(templates: Templates, split: Split) -> Iterator[Section]:
    section = templates.section
    yield section("split-tree", "Sub-plans", tree=split.tree)
    hubs = [FileNote(hub.path, f"{hub.importers:,} importers") for hub in split.hubs]
    for id_, title, about, rows in (
        ("hubs", "Hubs", "Files that very many others import.", hubs),
        ("unparsed", "Not UTF-8", "", split.unparsed),
        ("left-out", "Left out", "", split.left_out),
    ):
        if rows:
            yield section(id_, title, template="file_table.html", about=about, rows=rows)
