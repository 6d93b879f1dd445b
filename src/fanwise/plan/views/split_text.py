"""A split as text and as JSON: the scorecard, the tree, and what stands out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from fanwise.plan.model.node import FileNote, Scorecard, Split
from fanwise.plan.split import Listing, Rules
from fanwise.plan.views.tree_text import first_tree_lines
from fanwise.view.formats import DASH

ROWS = 60
"""Lines of the tree, unless all are asked for."""
NAMED = 5
"""Hubs and files that are named, unless all are asked for."""


def split_document(found: Split, rules: Rules, listing: Listing) -> dict[str, Any]:
    """All of it, JSON-able."""
    document: dict[str, Any] = msgspec.to_builtins(found)
    document["rules"] = msgspec.to_builtins(rules)
    document["unmatched"] = list(listing.unmatched)
    document["hubs"] = [each._asdict() for each in found.hubs]
    for name in ("unparsed", "left_out"):
        document[name] = [each._asdict() for each in getattr(found, name)]
    return document


def split_lines(found: Split, listing: Listing, *, width: int, everything: bool) -> list[str]:
    lines = [*scorecard_lines(found), ""]
    lines += first_tree_lines(found.tree, None if everything else ROWS, width=width, rest="--all")
    beyond = [leaf for leaf in found.tree.leaves if leaf.irreducible]
    lines += _some("irreducible", [(each.title, each.irreducible) for each in beyond], everything)
    hubs = [(each.path, f"{each.importers} importers") for each in found.hubs]
    lines += _some("hubs", hubs, everything)
    lines += _some("not UTF-8, but in leaves", _pairs(found.unparsed), everything)
    lines += _some("left out", _pairs(found.left_out), everything)
    lines += _some("match no file", [(each, "") for each in listing.unmatched], True)
    return lines


def figures(card: Scorecard) -> Iterator[tuple[str, str, str]]:
    """Each figure: its name, its value, what it means."""
    yield "files", f"{card.files:,}", f"about {card.tokens:,} tokens"
    yield "leaves", f"{card.leaves:,}", f"at most {card.depth} deep"
    yield "balance", f"{card.balance:.1f}", "the largest leaf / the mean one, by tokens"
    yield "cut", share(card.cut), f"of {card.edges:,} imports go from one leaf to another"
    yield "cut without hubs", share(card.cut_without_hubs), "of those that no hub is part of"
    yield "cyclic", share(card.cyclic), "of the files are in leaves that import in a circle"
    if card.against:
        yield "against the order", f"{card.against:,}", "imports that would close a circle"
    yield "speed-up", f"{card.speedup:.1f}", f"predicted, with {card.max_parallel} at once"
    if card.commits_inside is not None:
        about = f"of {card.commits:,} past commits stay inside one leaf"
        yield "commits inside", share(card.commits_inside), about


def share(value: float | None) -> str:
    return DASH if value is None else f"{value:.0%}" if value in (0, 1) else f"{value:.1%}"


def scorecard_lines(split: Split) -> list[str]:
    rows = list(figures(split.scorecard))
    wide, wider = (max(len(row[n]) for row in rows) for n in (0, 1))
    return [f"{name:<{wide}}  {value:>{wider}}  {about}" for name, value, about in rows]


def _pairs(notes: tuple[FileNote, ...]) -> list[tuple[str, str]]:
    return [(each.path, each.why) for each in notes]


def _some(title: str, rows: list[tuple[str, str]], everything: bool) -> list[str]:
    """A few of them, and how many there are."""
    if not rows:
        return []
    shown = rows if everything else rows[:NAMED]
    lines = ["", f"{title} ({len(rows):,})"]
    lines += [f"  {name}  {why}".replace("\n", "\\n") for name, why in shown]
    more = len(rows) - len(shown)
    return [*lines, f"  … {more:,} more; --all"] if more else lines
