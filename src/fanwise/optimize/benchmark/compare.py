"""The candidate beside the original, until it is decided which is faster.

Both are measured in pairs, each side in a fresh process, in blocks of four: original, candidate,
candidate, original, or the other way round, as is drawn. So what drifts, and what whoever goes
first has to pay, comes upon both alike. Both sides of a pair have the same hash seed, the next
pair has another; where things lie in memory is left to chance, and is part of the noise.

A benchmark of the user's own may make the same call again and again, and a cache gains there
whatever it costs at new calls. So the calls that the benchmark makes are recorded once, and a gain
counts only if these calls show it too, each made for the first time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from statistics import median

from msgspec.structs import replace

from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.benchmark.pair import (
    Measurement,
    Pair,
    TimedValues,
    class_ratios,
    gain_shows,
    import_cost_s,
    remembers,
)
from fanwise.optimize.benchmark.sequential import (
    EARLY,
    FIRST,
    OVERWHELMING,
    Accept,
    Decision,
    Looks,
    Speed,
)
from fanwise.optimize.benchmark.size_class import NOTICED_S, SLOWER, SizeClass
from fanwise.optimize.benchmark.stopwatch import Bench, NoFigure, Stopwatch
from fanwise.optimize.differential.child_program import Where
from fanwise.optimize.differential.equal import Tolerance

_HASH_SEEDS = 1 << 32
_ONLY_KNOWN = "it gains only on repeated calls"
ONLY_REPEATED = "only repeated calls were measured"


async def compare_speed(
    baseline: Where,
    candidate: Where,
    bench: Bench,
    settings: Settings,
    *,
    accept: Accept = Accept(),  # noqa: B008
    budget_s: float = 60.0,
    seed: int = 0,
    tolerance: Tolerance = Tolerance(),  # noqa: B008
    pin: bool = True,
    pair_s: float = 0.0,
) -> Speed:
    """Measure both until the interval of their ratio decides, or the time is over.

    The caller sees to it that nothing else of the run is on the CPU meanwhile. `BenchFailed` if
    the original cannot be measured; a candidate that cannot is rejected. `pair_s`: what a pair
    takes, if that is known. What cannot be decided within the budget is not begun, and not
    continued.
    """
    begun = time.monotonic()
    comparison = Comparison(accept, tolerance)
    if not comparison.can_decide(budget_s, pair_s):
        comparison.give_up(budget_s)
        return comparison.speed(0.0)
    meter = Stopwatch(bench, settings, pin=pin)
    await meter.calibrate(baseline)
    comparison = Comparison(accept, tolerance, meter.classes)
    order = random.Random(seed)
    while comparison.decision is None:
        for baseline_first in _block(order):
            spent, n = time.monotonic() - begun, len(comparison.pairs)
            if n and not comparison.can_decide(budget_s - spent, spent / n):
                comparison.give_up(budget_s)
                break
            pair = await measure_pair(meter, baseline, candidate, order, baseline_first)
            comparison.add(pair)
            if comparison.decision is not None:
                break
    return comparison.speed(time.monotonic() - begun)


async def measure_pair(
    meter: Stopwatch, baseline: Where, candidate: Where, order: random.Random, baseline_first: bool
) -> Pair | NoFigure:
    """Both sides, one directly after the other. Raises `BenchFailed` if the original fails."""
    seed = order.randrange(_HASH_SEEDS)
    found: dict[bool, Measurement] = {}
    for is_baseline in (True, False) if baseline_first else (False, True):
        measured = await meter.measure(baseline if is_baseline else candidate, seed)
        if isinstance(measured, NoFigure):
            if is_baseline:
                raise meter.failed(measured)
            return measured
        found[is_baseline] = measured
    return Pair(found[True], found[False])


def _block(order: random.Random) -> tuple[bool, bool]:
    first = order.random() < 0.5
    return first, not first


class Comparison:
    """The pairs so far, and what they come to. Decides, and measures nothing."""

    def __init__(self, accept: Accept, tolerance: Tolerance, classes: Sequence[str] = ()) -> None:
        self.pairs: list[Pair] = []
        self.decision: Decision | None = None
        self._reason = ""
        self._accept = accept
        self._looks = Looks(accept)
        self._values = TimedValues(tolerance)
        self._remembers = False
        self._only_repeated = False
        self._names = classes

    def add(self, pair: Pair | NoFigure) -> None:
        """One more pair, or why there is none."""
        if isinstance(pair, NoFigure):
            self._decide("reject", f"it cannot be timed: {pair.reason}")
            return
        self.pairs.append(pair)
        self._values.add(pair)
        if pair.baseline.source != pair.candidate.source:
            self._decide("reject", "it changes the benchmark itself")
        elif len(self.pairs) >= self._looks.next_at:
            self._judge(self._looks.look(self._series()))

    def can_decide(self, left_s: float, pair_s: float) -> bool:
        """Whether there is time for one more pair, and for as many as another look needs."""
        more = int(left_s / pair_s) if pair_s > 0 else FIRST
        return more > 0 and self._looks.can_decide(len(self.pairs) + more)

    def give_up(self, budget_s: float) -> None:
        """No time is left: decide now, or say that it is undecided."""
        n = len(self.pairs)
        if n:
            self._judge(self._looks.last(self._series()))
        if self.decision is None:
            few = f"; {FIRST} pairs are needed: give it more time" if n < FIRST else ""
            if not n:
                few = f": {EARLY[0]} take longer, so it is not measured; give it more time"
            new = f" by new calls, and {_ONLY_KNOWN}" if self._remembers else ""
            if self._only_repeated and not new:
                new = ": it is faster at repeated calls, and new ones do not show that"
            self._decide("undecided", f"{n} pairs in {budget_s:g} s do not decide it{new}{few}")

    def speed(self, spent_s: float) -> Speed:
        """The result; `decision` must be known."""
        assert self.decision is not None
        ratios = self._series() if self.pairs else [0.0]
        seen = self._looks.interval(ratios)
        return Speed(
            ratio=seen.ratio,
            low=seen.low,
            high=min(seen.high, max(ratios)),
            decision=self.decision,
            reason=self._reason,
            rounds=len(self.pairs),
            baseline_s=_median([pair.baseline.seconds for pair in self.pairs]),
            candidate_s=_median([pair.candidate.seconds for pair in self.pairs]),
            spent_s=spent_s,
            classes=self._classes(),
        )

    def _series(self) -> list[float]:
        """The ratios; only of new calls, once the candidate was seen to cache results."""
        self._remembers = self._remembers or remembers(self.pairs)
        return [pair.new_ratio if self._remembers else pair.ratio for pair in self.pairs]

    def _new(self) -> list[float]:
        """The ratios of calls that neither side had seen before."""
        return [pair.new_ratio for pair in self.pairs]

    def _judge(self, decision: Decision) -> None:
        if wrong := self._values.wrong:
            what = f"call {wrong[0]} returns" if wrong[0] >= 0 else "it prints"
            self._decide("reject", f"while it is timed, {what} something else")
        elif decision == "accept" and (slower := self._slower()):
            told = ", ".join(f"{each.text()} (at most {each.high:.2f})" for each in slower)
            self._decide(
                "reject", f"slower for calls of some sizes: {told}; {self._told(decision)}"
            )
        elif decision == "accept" and not self._looks.passes(self._new()):
            self._only_repeated = True  # until new calls show the gain by themselves
        elif decision == "accept" and (file := self._changed_file()):
            self._decide("undecided", f"{ONLY_REPEATED}: {file} is written while it is timed")
        elif decision == "accept" and not gain_shows(self.pairs):
            if len(self.pairs) >= FIRST:
                self._decide("undecided", "its process takes longer than its figures say")
        elif decision == "accept" and (cost := self._unpaid_import()):
            if len(self.pairs) >= FIRST:  # of fewer, a busy machine may be the cause
                self._decide("undecided", f"{cost}; {self._told(decision)}")
        elif decision != "undecided" and not (decision == "accept" and self._may_be_slower()):
            self._decide(decision, self._told(decision))

    def _unpaid_import(self) -> str:
        """What an import costs that a pass over all calls does not gain; empty: there is none."""
        cost = import_cost_s(self.pairs)
        ours, theirs = (_median(each) for each in zip(*_passes(self.pairs), strict=True))
        if self._accept.allow_repeated or ours >= self._accept.speedup * (theirs + cost):
            return ""
        after = f"pays after {cost / (ours - theirs):.0f} passes" if ours > theirs else "never pays"
        return (
            f"its import takes {_short_s(cost)} longer, and a pass over the calls gains "
            f"{_short_s(ours - theirs)}, so it {after}; allow repeated calls if that is enough"
        )

    def _changed_file(self) -> str:
        """A file in which calls may keep results for others; empty: there is none."""
        files = (
            name
            for pair in self.pairs
            for name in (
                *pair.candidate.changed,
                *(each for each in pair.candidate.made if each not in pair.baseline.made),
            )
        )
        return "" if self._accept.allow_repeated else next(files, "")

    def _slower(self) -> list[SizeClass]:
        """Sizes at which it is slower, for all that can be known by now, and somebody notices."""
        found = () if self._accept.allow_slower else self._classes()
        early = len(self.pairs) < FIRST
        return [
            each
            for k, each in enumerate(found)
            if each.high < (1 / OVERWHELMING if early or self._loss_s(k) < NOTICED_S else SLOWER)
        ]

    def _sizes(self) -> str:
        """How fast it is at each size, with losses that nobody notices."""
        told = ""
        for k, each in enumerate(self._classes()):
            told += f", {each.text()}"
            if each.high < SLOWER and (loss := self._loss_s(k)) < NOTICED_S:
                told += f" (which loses {loss * 1e9:.0f} ns in all)"
        return told

    def _loss_s(self, k: int) -> float:
        """How much longer a pass over one size class takes."""
        return _median([p.candidate.classes[k] - p.baseline.classes[k] for p in self.pairs])

    def _may_be_slower(self) -> bool:
        """Whether few pairs leave open that it is slower at some size."""
        open_yet = len(self.pairs) < FIRST and not self._accept.allow_slower
        return open_yet and any(each.low < 1 for each in self._classes())

    def _classes(self) -> tuple[SizeClass, ...]:
        series = class_ratios(self.pairs, len(self._names))
        return tuple(
            SizeClass(name=name, ratio=seen.ratio, low=seen.low, high=min(seen.high, max(ratios)))
            for name, ratios, seen in zip(
                self._names, series, self._looks.parts(series), strict=False
            )
        )

    def _told(self, decision: Decision) -> str:
        seen = self._looks.interval(self._series())
        asked = f"{self._accept.speedup:g} times"
        only = f" for new calls; {_ONLY_KNOWN}" if self._remembers else ""
        if decision == "accept":
            sizes = self._sizes()
            if cost := import_cost_s(self.pairs):
                sizes += f"; its import takes {_short_s(cost)} longer"
            return f"at least {seen.low:.2f} times as fast{only}, and {asked} is asked for{sizes}"
        return f"at most {seen.high:.2f} times as fast{only}, and {asked} is asked for"

    def _decide(self, decision: Decision, reason: str) -> None:
        self.decision = decision
        self._reason = reason


def _passes(pairs: Sequence[Pair]) -> list[tuple[float, float]]:
    return [(pair.baseline.seconds, pair.candidate.seconds) for pair in pairs]


def _short_s(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _median(values: Sequence[float]) -> float:
    return median(values) if values else 0.0


def only_repeated(speed: Speed, why: str) -> Speed:
    """A gain that may be that of a cache, and nobody can tell."""
    step = "name a target that the benchmark calls, or allow repeated calls"
    reason = f"{ONLY_REPEATED}: {why}; {step}. There it is {speed.reason}"
    return replace(speed, decision="undecided", reason=reason)


def by_new_calls(speed: Speed, new: Speed) -> Speed:
    """The verdict of the benchmark, if its calls show a gain when they are new."""
    spent = speed.spent_s + new.spent_s
    if new.decision == "accept":
        reason = f"{speed.reason}; at its new calls {new.reason}"
        return replace(speed, reason=reason, spent_s=spent)
    told = f"the benchmark repeats calls, and its new ones do not show a gain: {new.reason}"
    return replace(speed, decision=new.decision, reason=told, spent_s=spent)
