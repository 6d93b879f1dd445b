"""Expectations judged: proven, refuted, undecided, or not judged.

A verdict is about what would hold for more inputs of the same kind, so it comes from intervals: a
bound is proven if all of the interval keeps it, refuted if none does, and undecided in between.
Where cells are missing or sides do not match, nothing is judged: what is missing may be what fails.
Dollars and failures are counted, not estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from fanwise.core.counts import many
from fanwise.core.lag import describe_lag, is_notable
from fanwise.errors import FanwiseError
from fanwise.matrix.cells.cell import NO_MODEL
from fanwise.matrix.spec.matrix_spec import COST, FAILED, LATENCY, NO_WORSE, ExpectationSpec
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.run_comparison import CONTROLS, Side, compare_sides
from fanwise.matrix.stats.compare import Contrast
from fanwise.matrix.stats.data import AnalysisOptions, Samples, Scored, unit_axis
from fanwise.matrix.stats.intervals import Estimate, estimate
from fanwise.matrix.stats.summary import dollars, percentile, summarize

Verdict = Literal["proven", "refuted", "undecided", "not judged"]
SLOW_SHARE = 0.05
"""A 95th percentile is at most a bound if at most so many are above it."""


class Judgement(msgspec.Struct, frozen=True):
    """One expectation of one model and strategy, or of the whole matrix."""

    expectation: str
    of: str
    measured: str
    verdict: Verdict
    why: str = ""
    needs_proof: bool = False
    """Whether undecided is not good enough: `undecided: fail`."""

    @property
    def fails(self) -> bool:
        """Whether a gate stays closed, for want of proof."""
        open_question = self.verdict == "undecided" and self.needs_proof
        return self.verdict == "not judged" or open_question


class Judge:
    """Of a matrix. `side`: a run to compare with, by name; None: it is this very version."""

    def __init__(self, state: MatrixState, own: Side, side: Callable[[str], Side | None]) -> None:
        self._state = state
        self._own = own
        self._side = side

    def judge(self, expect: Mapping[str, ExpectationSpec]) -> list[Judgement]:
        return [
            msgspec.structs.replace(found, needs_proof=each.undecided == "fail")
            for name, each in expect.items()
            for found in self._judged(name, each)
        ]

    def _judged(self, name: str, spec: ExpectationSpec) -> Iterator[Judgement]:
        if name == NO_WORSE:
            yield from self._no_worse(spec)
        elif name in (COST, FAILED):
            yield self._counted(name, spec.at_most or 0.0)
        else:
            kind = self._latency if name == LATENCY else self._score
            for of, cells in self._groups(spec):
                yield kind(name, spec, of, cells)

    def _groups(self, spec: ExpectationSpec) -> list[tuple[str, list[Scored]]]:
        """By model and strategy; controls have no model, and need not meet anything."""
        found: dict[tuple[str, str], list[Scored]] = {}
        for cell in self._state.scored:
            model, strategy = cell.axes["model"], cell.axes["strategy"]
            if fnmatchcase(model, spec.model) and fnmatchcase(strategy, spec.strategy):
                found.setdefault((model, strategy), []).append(cell)
        asked = {group: cells for group, cells in found.items() if group[0] != NO_MODEL} or found
        if not asked:
            return [(f"{spec.model} {spec.strategy}", [])]
        return [(" ".join(group), cells) for group, cells in asked.items()]

    def _options(self, spec: ExpectationSpec) -> AnalysisOptions:
        return msgspec.structs.replace(self._state.options, confidence=spec.confidence)

    def _score(
        self, name: str, spec: ExpectationSpec, of: str, cells: Sequence[Scored]
    ) -> Judgement:
        wanted = f"{name} {_bounds(spec)}"
        score = summarize(cells, by=[], options=self._options(spec)).whole.scores.get(name)
        if score is None:
            return Judgement(wanted, of, "-", "not judged", "it has no scores")
        if score.unscored:
            of_all = score.mean.n + score.unscored
            why = f"{score.unscored:,} of {of_all:,} scores are missing"
            return Judgement(wanted, of, score.mean.text(), "not judged", why)
        verdict, why = _within(score.mean, spec.at_least, spec.at_most)
        return Judgement(wanted, of, score.mean.text(), verdict, why)

    def _latency(
        self, name: str, spec: ExpectationSpec, of: str, cells: Sequence[Scored]
    ) -> Judgement:
        limit = spec.at_most or 0.0
        wanted = f"{name} at most {limit:g} s"
        timed = [cell for cell in cells if cell.status == "done" and not cell.cached]
        measured = percentile([cell.ran_s for cell in timed], 1 - SLOW_SHARE)
        said = "-" if measured is None else f"{measured:.3g} s"
        lost = sum(cell.status != "done" for cell in cells)
        if lost or not timed:
            why = f"{many(lost, 'cell')} without a latency" if lost else "no call was timed"
            return Judgement(wanted, of, said, "not judged", why)
        share = self._slower(timed, limit, spec)
        verdict, _ = _within(share, None, SLOW_SHARE)
        late = [cell for cell in timed if is_notable(cell.lag_s, cell.ran_s)]
        if verdict == "refuted" and late:
            # What is measured is never too short. Too long it may be, if this process was late.
            without_lag = self._slower(timed, limit, spec, lag=False)
            if _within(without_lag, None, SLOW_SHARE)[0] != "refuted":
                lag_s = percentile([cell.lag_s for cell in late], 0.5) or 0.0
                told = describe_lag(lag_s, max(cell.in_flight for cell in late))
                return Judgement(wanted, of, said, "undecided", f"latencies are too long: {told}")
        return Judgement(wanted, of, said, verdict, _slow_share(share))

    def _slower(
        self, timed: Sequence[Scored], limit: float, spec: ExpectationSpec, *, lag: bool = True
    ) -> Estimate:
        """The share of calls that take longer, also without the lag of this process."""
        unit = unit_axis(timed)
        slow: Samples = {}
        for cell in timed:
            took = cell.ran_s if lag else cell.ran_s - cell.lag_s
            slow.setdefault(cell.axes[unit], []).append(float(took > limit))
        return estimate(slow, unit=unit, options=self._options(spec))

    def _counted(self, name: str, limit: float) -> Judgement:
        results, waiting = self._state.results, len(self._state.waiting)
        wanted = f"{name} at most {limit:g}"
        if name == FAILED:
            failed = len(self._state.failed)
            return _counted(wanted, failed, f"{failed:,}", limit, waiting, "")
        parts = [each.usd for each in results] + [each.scoring_usd for each in results]
        known = sum(each for each in parts if each is not None)
        known += sum(each.usd_known for each in results if each.usd is None)
        unknown = "some dollars are unknown" if None in parts else ""
        measured = (
            f"{'≥ ' if unknown else ''}{dollars(known)}" if known or not unknown else "unknown"
        )
        return _counted(wanted, known, measured, limit, waiting, unknown)

    def _no_worse(self, spec: ExpectationSpec) -> Iterator[Judgement]:
        reference = spec.run or ""
        wanted = f"no worse than {reference}" + (f" by {spec.by:g}" if spec.by else "")
        try:
            side = self._side(reference)
            if side is None:
                yield Judgement(wanted, "all", "-", "proven", "this version is that one")
                return
            found = compare_sides(_asked(side, spec), _asked(self._own, spec), self._options(spec))
        except FanwiseError as error:
            yield Judgement(wanted, "all", "-", "not judged", " ".join(str(error).split()))
            return
        gone = [name for name in side.scorers if name not in self._own.scorers]
        for name in gone:
            yield Judgement(wanted, name, "-", "not judged", "this run does not have that score")
        if not found.contrasts and not gone:
            yield Judgement(wanted, "all", "-", "not judged", "the runs share no score")
        lost = "; ".join(
            f"{why}: {', '.join(names[:3])}" + (", …" if len(names) > 3 else "")
            for why, names in found.unmatched.items()
            if why not in ("scores of one side only", CONTROLS)
        )
        for contrast in found.contrasts:
            yield _compared(wanted, contrast, lost, spec.by)


def _asked(side: Side, spec: ExpectationSpec) -> Side:
    """Its rows of what is asked about."""
    rows = [row for row in side.rows if fnmatchcase(row["model"], spec.model)
            and fnmatchcase(row["strategy"], spec.strategy)]  # fmt: skip
    return msgspec.structs.replace(side, rows=rows)


def _counted(
    wanted: str, count: float, measured: str, limit: float, waiting: int, unknown: str
) -> Judgement:
    if count > limit:
        return Judgement(wanted, "all", measured, "refuted")
    missing = f"{many(waiting, 'cell')} did not run" if waiting else unknown
    return Judgement(wanted, "all", measured, "not judged" if missing else "proven", missing)


def _compared(wanted: str, contrast: Contrast, lost: str, by: float) -> Judgement:
    measured, lost = contrast.difference.text(sign=True), contrast.unpaired or lost
    if lost:
        return Judgement(wanted, contrast.scorer, measured, "not judged", lost)
    verdict, why = _within(contrast.difference, -by, None)
    return Judgement(wanted, contrast.scorer, measured, verdict, why)


def _within(mean: Estimate, at_least: float | None, at_most: float | None) -> tuple[Verdict, str]:
    """What the interval says of the bounds."""
    if mean.low is None or mean.high is None:
        return "undecided", mean.note
    if (at_least is not None and mean.high < at_least) or (
        at_most is not None and mean.low > at_most
    ):
        return "refuted", ""
    kept = (at_least is None or mean.low >= at_least) and (at_most is None or mean.high <= at_most)
    return ("proven", "") if kept else ("undecided", "the interval holds the bound")


def _slow_share(share: Estimate) -> str:
    return f"{share.text()} of calls are slower, and {SLOW_SHARE:g} may be"


def _bounds(spec: ExpectationSpec) -> str:
    words = {"at least": spec.at_least, "at most": spec.at_most}
    return " and ".join(f"{word} {bound:g}" for word, bound in words.items() if bound is not None)
