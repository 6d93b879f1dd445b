"""How the files were split: the scorecard, hubs, and what was said of files."""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.plan.node import Said, Scorecard, Split
from fanwise.view.markup import Child, Html, element
from fanwise.view.pieces import block, facts, folded

MOST = 500


def splitting(split: Split) -> Html:
    """All of it."""
    hubs = [f"{each.importers:>5}  {each.path}" for each in split.hubs]
    irreducible = [
        f"{each.title}: {each.irreducible}" for each in split.tree.leaves if each.irreducible
    ]
    return element(
        "div",
        facts(f"Scorecard of the mode {split.mode}", list(_card(split.scorecard))),
        _fold("hubs: files that many others import", hubs),
        _fold("sub-plans beyond the limits", irreducible),
        _fold("files whose imports could not be read", _said(split.unparsed)),
        _fold("files that were left out", _said(split.left_out)),
    )


def _card(card: Scorecard) -> Iterator[tuple[str, Child]]:
    yield "files", f"{card.files:,}, about {card.tokens:,} tokens"
    yield "sub-plans", f"{card.leaves:,}, {card.depth} deep"
    yield "balance", f"the biggest is {card.balance:.2f} times the mean one"
    if card.cut is not None:
        yield "imports from one to another", f"{card.cut:.0%} of {card.edges:,}"
    if card.cut_without_hubs is not None:
        yield "the same, without hubs", f"{card.cut_without_hubs:.0%}"
    yield "files in circles between them", f"{card.cyclic:.0%}"
    yield "predicted speed-up", f"{card.speedup:.1f} times, with {card.max_parallel} at once"
    if card.commits_inside is not None:
        yield (
            "past commits that stay in one",
            f"{card.commits_inside:.0%} of {card.commits:,}",
        )


def _said(said: tuple[Said, ...]) -> list[str]:
    return [f"{each.path}: {each.why}" for each in said]


def _fold(title: str, lines: list[str]) -> Html | None:
    if not lines:
        return None
    more = len(lines) - MOST
    shown = [*lines[:MOST], *([f"… and {more:,} more"] if more > 0 else [])]
    return folded(f"{len(lines):,} {title}", block(title, "\n".join(shown)), class_="fold")
