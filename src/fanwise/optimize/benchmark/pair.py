"""What was measured of both sides, and what is wrong with it. PURE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from fanwise.optimize.benchmark.statistics import place
from fanwise.optimize.differential.equal import FormMatcher, Tolerance

PRINTED = "-1"
"""In `forms`, in the place of a call: what a command printed."""
_SURE = 0.01
_PART_OF_GAIN = 0.2
_PART_SHOWN = 0.5
_IMPORT_NOTICED_S = 0.002


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
    claimed_s: float = 0.0
    """What all that was timed took, by its own figures."""
    wall_s: float = 0.0
    """What measuring took, seen from another process."""
    cpu_s: float = 0.0
    """The processor time that the system counted for that."""
    import_s: float = 0.0
    """What importing the target took, seen from another process."""
    import_cpu_s: float = 0.0
    source: str = ""
    """The digest of the benchmark's own file."""
    changed: tuple[str, ...] = ()
    """Files of the workspace that it changed: something may be kept there for the next process."""
    made: tuple[str, ...] = ()
    """The files that were there afterwards and not before."""
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
    return _surely([each for pair in pairs if (each := _more_for_new(pair)) is not None]) > 0


def _more_for_new(pair: Pair) -> float | None:
    ours, theirs = pair.baseline, pair.candidate
    if ours.new_s is None or ours.again_s is None or theirs.new_s is None or theirs.again_s is None:
        return None
    gain = ours.again_s - theirs.again_s
    return (theirs.new_s - theirs.again_s) - (ours.new_s - ours.again_s) - _PART_OF_GAIN * gain


def gain_shows(pairs: Sequence[Pair]) -> bool:
    """Whether the gain that the candidate's figures claim shows from outside of its process.

    It shares a process with the clock, and can turn that back, but not the processor time that the
    system counts, which load hardly changes; that must have become less by at least half of what
    is claimed. A candidate that waits less, or computes in several threads, gains wall-clock time
    alone. Load moves that as well, so many pairs must show it.
    """
    claims = [p.baseline.claimed_s - p.candidate.claimed_s for p in pairs]
    claimed = _PART_SHOWN * _quartile(claims)
    if claimed <= 0:
        return True
    before = _quartile([p.baseline.cpu_s for p in pairs])
    if before - _quartile([p.candidate.cpu_s for p in pairs]) >= claimed:
        return True
    return _surely([p.baseline.wall_s - p.candidate.wall_s - claimed for p in pairs]) > 0


def import_cost_s(pairs: Sequence[Pair]) -> float:
    """How much longer the candidate takes to be imported; 0 if that may be noise."""
    cpu = _at_least([p.candidate.import_cpu_s - p.baseline.import_cpu_s for p in pairs])
    wall = _at_least([p.candidate.import_s - p.baseline.import_s for p in pairs])
    found = max(cpu, wall)
    return found if found > _IMPORT_NOTICED_S else 0.0


def _surely(values: Sequence[float]) -> float:
    """A value that the true median is not below; 0 if so few values do not tell."""
    end = place(len(values), _SURE) if values else 0
    return sorted(values)[end - 1] if end else 0.0


def _at_least(values: Sequence[float]) -> float:
    """The same, and of few values the least."""
    return _surely(values) or min(values, default=0.0)


def _quartile(values: Sequence[float]) -> float:
    """The lower one: what disturbs only makes it longer."""
    return sorted(values)[len(values) // 4]


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
