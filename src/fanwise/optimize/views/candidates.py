"""Every candidate as a row: its lineage, verdict, interval, time and reason."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fanwise.optimize.benchmark.sequential import Speed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.checking.static_checks import Finding
from fanwise.optimize.verdict import CandidateVerdict
from fanwise.optimize.views.results import STAGES, LineageRow, Results, ratio_text
from fanwise.view.formats import DASH, duration_text
from fanwise.view.geometry import colour
from fanwise.view.scales import Log, Scale, spanning, spanning_log

LOG_FROM = 4.0
"""From this span on, equal ratios are equally far apart."""
COLOURS = {stage: colour(place) for place, stage in enumerate(STAGES)}


class CandidateRow(NamedTuple):
    """A candidate and its verdict, ready for the table."""

    candidate: Candidate
    depth: int
    verdict: CandidateVerdict | None
    status: str
    best: bool
    class_: str
    """The colour of its interval."""
    ratio: str
    bars: Sequence[tuple[float, float, str, str]]
    """Its stages: start and width from 0 to 1, class and title."""
    stages: str
    time: str
    reason: str
    origin: str
    findings: Sequence[Finding]
    """What failed, and what was said there."""


def candidate_rows(results: Results) -> list[CandidateRow]:
    totals = [sum(results.seconds(each.candidate).values()) for each in results.rows]
    longest = max(totals, default=0.0)
    return [_row(results, each, longest) for each in results.rows]


def _row(results: Results, placed: LineageRow, longest: float) -> CandidateRow:
    candidate = placed.candidate
    verdict, best = results.verdicts.get(candidate.key), results.is_winner(candidate)
    speed = None if verdict is None else verdict.speed
    taken = results.seconds(candidate)
    stages = ", ".join(f"{stage} {duration_text(s)}" for stage, s in taken.items())
    return CandidateRow(
        candidate=candidate,
        depth=placed.depth,
        verdict=verdict,
        status=results.status(candidate),
        best=best,
        class_="c2" if best else "c0" if speed and speed.decision == "accept" else "c-none",
        ratio=ratio_text(verdict) or DASH,
        bars=list(_bars(taken.items(), longest)),
        stages=stages,
        time=duration_text(sum(taken.values())) if taken else DASH,
        reason=results.reason(candidate),
        origin=_origin(results, candidate, stages),
        findings=list(_findings(verdict)),
    )


def _findings(verdict: CandidateVerdict | None) -> Iterator[Finding]:
    if verdict is not None:
        for each in verdict.findings:
            if each.detail and not each.ok:
                yield each


def _bars(
    parts: Iterable[tuple[str, float]], longest: float
) -> Iterator[tuple[float, float, str, str]]:
    """Bars side by side; the candidate that took longest fills the cell."""
    at = 0.0
    for stage, seconds in parts:
        share = max(0.0, seconds) / longest if longest > 0 else 0.0
        if share > 0:
            yield at, share, f"part {stage_colour(stage)}", ""
        at += share


def stage_colour(stage: str) -> str:
    """The CSS class of a stage."""
    return COLOURS.get(stage, colour(None))


def legend(results: Results) -> list[tuple[str, str]]:
    """The stages that any candidate went through, with their classes."""
    used = dict.fromkeys(stage for row in results.rows for stage in results.seconds(row.candidate))
    ordered = sorted(used, key=lambda each: STAGES.index(each) if each in STAGES else len(STAGES))
    return [(stage, stage_colour(stage)) for stage in ordered]


def speed_scale(speeds: Sequence[Speed], wanted: float) -> Scale:
    """Over all intervals, 1 and the wanted speed-up; logarithmic if that is wide."""
    ends = [end for each in speeds for end in (each.ratio, each.low, each.high)]
    values = [end for end in (*ends, 1.0, wanted) if math.isfinite(end) and end > 0]
    if max(values) / min(values) >= LOG_FROM:
        scale = spanning_log(values)
        return Log(min(scale.low, 0.5), max(scale.high, 2.0))  # at least from one tick to another
    room = 0.05 * (max(values) - min(values)) or 0.05
    return spanning((min(values) - room, max(values) + room))


def _origin(results: Results, candidate: Candidate, stages: str) -> str:
    origin = f"a {candidate.kind}, {candidate.how}"
    if candidate.parent is not None:
        origin += f" from {results.name(candidate.parent)} in round {candidate.round}"
    return f"{origin}; {stages}" if stages else origin
