"""A run as a table in markdown: for a pull request, and readable on a terminal.

Names and reasons come from files, models and programs that failed. A name is code, which no
renderer looks into; in a reason all that has a meaning in markdown or HTML is escaped.
"""

from __future__ import annotations

import re

from fanwise.optimize.views.results import LineageRow, Results, ratio_text
from fanwise.view.formats import cut, duration_text

HEAD = ("candidate", "verdict", "times as fast", "time", "lines", "reason")
MOST_NAME = 60
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#&!$])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


def markdown_lines(results: Results) -> list[str]:
    """The winner, then a table of all candidates."""
    rows = [HEAD, *(_row(results, each) for each in results.rows)]
    widths = [max(3, *(len(row[place]) for row in rows)) for place in range(len(HEAD))]
    aligned = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return [*_ending(results), *_compared(results), "", aligned[0], rule, *aligned[1:]]


def code(text: str) -> str:
    """A text as inline code."""
    return f"`{cut(_plain(text), MOST_NAME).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def escaped(text: str) -> str:
    """As text, in one line, with nothing that a renderer takes for more."""
    return _SPECIAL.sub(r"\\\1", _plain(text))


def _ending(results: Results) -> list[str]:
    best = results.winner
    what = code(results.target) if results.target else "the code"
    if best is None or best.speed is None:
        return [f"No faster version of {what} was found."]
    speed = best.speed
    before, now = duration_text(speed.baseline_s), duration_text(speed.candidate_s)
    name = code(best.candidate.name)
    return [f"With {name} {what} is at least {speed.low:.3g} times as fast: {before} → {now}."]


def _compared(results: Results) -> list[str]:
    """In how many calls; beyond them nothing is known."""
    calls, notes = results.state.calls_compared, results.state.notes
    told = [f"Each candidate that passed was compared in {calls:,} calls."] if calls else []
    return [*told, *(escaped(f"{note}.") for note in notes if " compared" in note)]


def _row(results: Results, placed: LineageRow) -> tuple[str, ...]:
    candidate = placed.candidate
    verdict = results.verdicts.get(candidate.key)
    taken = results.seconds(candidate)
    status = results.status(candidate)
    return (
        "↳ " * placed.depth + code(candidate.name),
        f"**{status}, winner**" if results.is_winner(candidate) else status,
        ratio_text(verdict),
        ", ".join(f"{escaped(stage)} {duration_text(spent)}" for stage, spent in taken.items()),
        "" if verdict is None or not verdict.patch else str(verdict.diff_lines),
        escaped(results.reason(candidate)),
    )


def _plain(text: str) -> str:
    return " ".join(_CONTROL.sub(" ", text).split())
