"""The scorecard in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.plan.model.node import Scorecard, Split
from fanwise.view.formats import DASH


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
    """A share in per cent."""
    return DASH if value is None else f"{value:.0%}" if value in (0, 1) else f"{value:.1%}"


def scorecard_lines(split: Split) -> list[str]:
    rows = list(figures(split.scorecard))
    wide, wider = (max(len(row[n]) for row in rows) for n in (0, 1))
    return [f"{name:<{wide}}  {value:>{wider}}  {about}" for name, value, about in rows]
