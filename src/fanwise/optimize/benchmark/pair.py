"""What was measured of both sides, and what is wrong with it. PURE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from fanwise.optimize.benchmark.statistics import place
from fanwise.optimize.differential.equal import FormMatcher, Tolerance

_SURE = 0.01
_PART_OF_GAIN = 0.2
_HIDDEN_S = 0.25
_HIDDEN_PART = 0.25


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """The measurement of one side, in one process."""

    seconds: float
    """For one pass: the lower quartile of its samples."""
    new_s: float | None = None
    """For one pass over calls that it had not seen before; None: nobody knows."""
    again_s: float | None = None
    """Seconds for the same calls, repeated."""
    classes: tuple[float, ...] = ()
    """Seconds for the calls of each size class."""
    forms: Mapping[str, str] = {}
    """What the calls gave while it was timed, as JSON."""
    told_s: float = 0.0
    """The total time that the process reports."""
    wall_s: float = 0.0
    """The total time, measured from outside."""
    cpu_s: float = 0.0
    """The processor time that the system counted for its processes."""
    source: str = ""
    """The digest of the benchmark's own file."""
    changed: tuple[str, ...] = ()
    """Files of the workspace that it changed: something may be kept there for the next process."""
    pinned: bool = False


class Pair(msgspec.Struct, frozen=True):
    """The measurements of both sides, one directly after the other."""

    baseline: Measurement
    candidate: Measurement

    @property
    def ratio(self) -> float:
        """How many times as fast the candidate is."""
        return self.baseline.seconds / self.candidate.seconds

    @property
    def new_ratio(self) -> float:
        """The same, for calls that neither side had seen before."""
        if self.baseline.new_s is None or self.candidate.new_s is None:
            return self.ratio
        return self.baseline.new_s / self.candidate.new_s


def class_ratios(pairs: Sequence[Pair], number: int) -> list[list[float]]:
    """How many times as fast each size class is, by pair. Empty if the sides differ in classes."""
    if not pairs or any(len(m.classes) < number for p in pairs for m in (p.baseline, p.candidate)):
        return []
    return [
        [pair.baseline.classes[k] / pair.candidate.classes[k] for pair in pairs]
        for k in range(number)
    ]


def remembers(pairs: Sequence[Pair]) -> bool:
    """Whether much of the gain is there only when a call comes again.

    Calls that are made for the first time take longer anyway, on both sides alike. If the
    candidate's take still longer by more than a fifth of what it gains at known ones, it remembers.
    """
    if not pairs or median(pair.ratio for pair in pairs) <= 1:
        return False
    more = sorted(each for pair in pairs if (each := _more_for_new(pair)) is not None)
    end = place(len(more), _SURE) if more else 0
    return bool(end) and more[end - 1] > 0


def _more_for_new(pair: Pair) -> float | None:
    ours, theirs = pair.baseline, pair.candidate
    if ours.new_s is None or ours.again_s is None or theirs.new_s is None or theirs.again_s is None:
        return None
    gain = ours.again_s - theirs.again_s
    return (theirs.new_s - theirs.again_s) - (ours.new_s - ours.again_s) - _PART_OF_GAIN * gain


def hides_time(pairs: Sequence[Pair]) -> bool:
    """Whether the candidate's process took longer than it says, and the original's did not.

    Its figures come from a process that it shares. What cannot be turned back there: the time
    between its start and its end, and the processor time that the system counted. Both must be
    too long: a busy machine adds to the first alone, threads add to the second alone.
    """
    hidden = [min(_hidden_wall(pair), _hidden_cpu(pair)) for pair in pairs]
    return median(hidden) > _HIDDEN_S + _HIDDEN_PART * median(p.baseline.told_s for p in pairs)


def _hidden_wall(pair: Pair) -> float:
    ours, theirs = pair.baseline, pair.candidate
    return (theirs.wall_s - theirs.told_s) - (ours.wall_s - ours.told_s)


def _hidden_cpu(pair: Pair) -> float:
    """Load makes what a process tells longer, and never its processor time."""
    ours, theirs = pair.baseline, pair.candidate
    return (theirs.cpu_s - theirs.told_s) - max(0.0, ours.cpu_s - ours.told_s)


class TimedValues:
    """Whether the candidate still gives what the original gives, while it is timed.

    Calls at which the original itself does not always give the same are left out.
    """

    def __init__(self, tolerance: Tolerance) -> None:
        self._tolerance = tolerance
        self._first: Mapping[str, str] | None = None
        self._unsteady: set[str] = set()
        self._wrong: set[str] = set()

    def add(self, pair: Pair) -> None:
        ours, theirs = pair.baseline.forms, pair.candidate.forms
        first = self._first = self._first or ours
        self._unsteady |= {call for call in first if not self._same(first[call], ours.get(call))}
        self._wrong |= {call for call in ours if not self._same(ours[call], theirs.get(call))}

    @property
    def wrong(self) -> list[int]:
        """The calls that gave something else, by their places among the recorded ones."""
        return sorted(int(call) for call in self._wrong - self._unsteady)

    def _same(self, a: str, b: str | None) -> bool:
        if a == b or b is None:
            return a == b
        return FormMatcher(self._tolerance).same(msgspec.json.decode(a), msgspec.json.decode(b))
