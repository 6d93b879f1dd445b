"""Who goes through which stage next: a state machine, without clock, files or processes.

    baseline: tests -> recording            noise
                           |                  |
    prepare --(in order)-> check ---------> benchmark --> verdict --> repair, refine

The noise is measured once for all, when a candidate has passed its checks and no check is left to
do: it needs the machine for itself, and a run in which nobody passes has no use for it.

Items out, what came of them in. A candidate is compared with those before it when they have been
prepared, never with those that happened to be quicker: so which of two equal ones is judged, and
which shares its verdict, is the same on every run. Nothing else waits for anything but what it
needs; there are no phases.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from fanwise.core.counts import Counts
from fanwise.core.outcome import Outcome
from fanwise.optimize.benchmark.sequential import Speed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.spec.resolved_spec import ResolvedSpec
from fanwise.optimize.state import judging
from fanwise.optimize.state.item import NOISE, Kind, OptimizeItem, PreparedCandidate
from fanwise.optimize.state.run_state import CandidateState, OptimizeState
from fanwise.optimize.verdict import CandidateVerdict


class BoardOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to do besides judging the given candidates."""

    baseline: Sequence[str]
    """The stages of the original that candidates are checked against, in order."""
    proposals: int = 0
    repair: int = 0
    refine: int = 0
    profiles: bool = False
    """What is accepted is profiled, before it is refined."""


def board_options(resolved: ResolvedSpec) -> BoardOptions:
    """The board's options, from a file."""
    spec = resolved.spec
    recorded = ("tests", "recording", *(("profile",) if spec.profile else ()))
    return BoardOptions(
        baseline=recorded if resolved.recorded else ("tests",),
        proposals=0 if spec.candidates.propose is None else spec.candidates.propose.n,
        repair=spec.rounds.repair,
        refine=spec.rounds.refine,
        profiles=resolved.profiled,
    )


class Board:
    """`begin`, then `take` the outcome of each item that it gave, until it is `over`.

    `claimed`: of an earlier execution, which candidate was judged for which digest; it stays so.
    """

    def __init__(
        self,
        given: Iterable[Candidate],
        wanted: BoardOptions,
        claimed: Mapping[str, str] | None = None,
    ) -> None:
        self._wanted = wanted
        self._claimed = dict(claimed or {})
        self.state = OptimizeState(given)
        self._unsorted: deque[CandidateState] = deque(self.state.entries.values())
        """Candidates that were not compared with earlier ones yet."""
        self._followers: dict[str, list[CandidateState]] = {}
        """They share the verdict of another one, by its key; it may not have come yet."""
        self._stages = deque(wanted.baseline)
        self._noise_asked = False
        self._held: dict[Kind, list[CandidateState]] = {"check": [], "benchmark": []}
        self._open: set[str] = set()
        self.fatal: BaseException | None = None
        """What is wrong with the original: then nothing can be judged."""

    @property
    def over(self) -> bool:
        """Whether nothing is in flight and nothing will follow."""
        return not self._open or self.fatal is not None

    def count(self) -> Counts:
        """How many candidates were judged, and why the others were not."""
        return self.state.counts

    def begin(self) -> list[OptimizeItem]:
        """The first items."""
        return self._out(
            [
                *self._next_stage(),
                *(_item("prepare", entry) for entry in self.state.entries.values()),
                *(
                    OptimizeItem(kind="propose", key=f"propose:{number}", number=number)
                    for number in range(self._wanted.proposals)
                ),
            ]
        )

    def take(self, item: OptimizeItem, outcome: Outcome[Any]) -> list[OptimizeItem]:
        """The items that follow from an outcome, new or recorded."""
        self._open.discard(item.key)
        known = len(self.state.entries)
        self.state.apply(item.key, outcome)
        if outcome.error is not None and item.kind == "baseline":
            self.fatal = outcome.error
            return []
        if outcome.error is not None:
            return self._out(self._sort())
        if item.kind == "baseline":
            return self._out(self._after_baseline(item.stage))
        if item.kind == "propose":
            fresh = list(self.state.entries.values())[known:]
            self._unsorted.extend(fresh)
            return self._out([_item("prepare", entry) for entry in fresh])
        assert item.candidate is not None
        return self._out(self._next(item, self.state.entries[item.candidate.key], outcome.value))

    def _next(self, item: OptimizeItem, entry: CandidateState, value: Any) -> list[OptimizeItem]:
        """The items that follow a stage of a candidate."""
        match item.kind:
            case "prepare":
                return self._sort()
            case "check":
                assert entry.checked is not None
                if entry.checked.findings and not entry.checked.findings[-1].ok:
                    return [_judge(entry)]
                return self._enter_stage("benchmark", entry)
            case "benchmark":
                return [_judge(entry, msgspec.convert(value, Speed))]
            case "profile":
                return self._refine(entry, value)
            case _:
                same = self._followers.pop(entry.candidate.key, ())
                return [*(_shared(each, entry) for each in same), *self._children(entry)]

    def _after_baseline(self, stage: str) -> list[OptimizeItem]:
        """The next stage of the original, and the items that waited for this one."""
        freed: list[OptimizeItem] = []
        if stage == NOISE:
            freed = [_item("benchmark", entry) for entry in self._let_go("benchmark")]
        elif not self._stages:
            freed = [_item("check", entry) for entry in self._let_go("check")]
        return [*self._next_stage(), *freed]

    # -- inside ---------------------------------------------------------------------------------

    def _out(self, items: list[OptimizeItem]) -> list[OptimizeItem]:
        self._open.update(item.key for item in items)
        items = [*items, *self._noise()]
        if not items and not self._open:
            items = self._promote()
        self._open.update(item.key for item in items)
        return items

    def _next_stage(self) -> list[OptimizeItem]:
        if not self._stages:
            return []
        return [_baseline(self._stages.popleft())]

    def _is_open(self, kind: Kind) -> bool:
        """Whether the stages of the original that this one needs have ended."""
        if kind == "benchmark":
            return NOISE in self.state.baseline
        stages = {f"baseline:{stage}" for stage in self._wanted.baseline}
        return not self._stages and not stages & self._open

    def _enter_stage(self, kind: Kind, entry: CandidateState) -> list[OptimizeItem]:
        if self._is_open(kind):
            return [_item(kind, entry)]
        self._held[kind].append(entry)
        return []

    def _noise(self) -> list[OptimizeItem]:
        """The noise, if somebody waits for it and no check would have to wait for it."""
        checks = any(key.startswith(("prepare:", "check:")) for key in self._open)
        if self._noise_asked or checks or not self._held["benchmark"]:
            return []
        self._noise_asked = True
        return [_baseline(NOISE)]

    def _let_go(self, kind: Kind) -> list[CandidateState]:
        held, self._held[kind] = self._held[kind], []
        return held

    def _sort(self) -> list[OptimizeItem]:
        """Compare each with those before it, as soon as those are known."""
        items: list[OptimizeItem] = []
        while self._unsorted:
            entry = self._unsorted[0]
            if entry.prepared is None and entry.error is None:
                break
            self._unsorted.popleft()
            if entry.prepared is not None:
                items += self._place(entry, entry.prepared)
        return items

    def _place(self, entry: CandidateState, found: PreparedCandidate) -> list[OptimizeItem]:
        unfit = any(not each.ok for each in found.findings)
        if unfit or found.original:
            return [_judge(entry)]
        first = self._claimed.setdefault(found.digest, entry.candidate.key)
        if first == entry.candidate.key:
            return self._enter_stage("check", entry)
        other = self.state.entries.get(first)
        if other is not None and other.verdict is not None:
            return [_shared(entry, other)]
        self._followers.setdefault(first, []).append(entry)
        return []

    def _promote(self) -> list[OptimizeItem]:
        """Those whose equal never came, though an earlier execution had it: the first is judged."""
        items: list[OptimizeItem] = []
        for key in [key for key in self._followers if key not in self.state.entries]:
            first, *others = self._followers.pop(key)
            assert first.prepared is not None
            self._claimed[first.prepared.digest] = first.candidate.key
            self._followers[first.candidate.key] = others
            items += self._enter_stage("check", first)
        return items

    # -- the next round -------------------------------------------------------------------------

    def _children(self, entry: CandidateState) -> list[OptimizeItem]:
        verdict = entry.verdict
        assert verdict is not None
        if verdict.status == "accepted":
            return [_item("profile", entry)] if self._wanted.profiles else self._refine(entry)
        wrong = verdict.status == "rejected" and verdict.stage != "benchmark"
        if wrong and self._count(entry, "repaired") < self._wanted.repair:
            return [self._propose("repair", entry)]
        return []

    def _refine(self, entry: CandidateState, profile: str = "") -> list[OptimizeItem]:
        if self._count(entry, "refined") >= self._wanted.refine:
            return []
        return [self._propose("refine", entry, profile)]

    def _count(self, entry: CandidateState, how: str) -> int:
        """How often it, or one that it was made from, came to be in this way."""
        found = 0
        at: CandidateState | None = entry
        while at is not None:
            found += at.candidate.how == how
            at = self.state.entries.get(at.candidate.parent or "")
        return found

    def _propose(self, how: str, entry: CandidateState, profile: str = "") -> OptimizeItem:
        return OptimizeItem(
            kind="propose",
            key=f"{how}:{entry.candidate.key}",
            candidate=entry.candidate,
            verdict=entry.verdict,
            source="" if entry.prepared is None else entry.prepared.source,
            profile=profile,
        )


def _baseline(stage: str) -> OptimizeItem:
    return OptimizeItem(kind="baseline", key=f"baseline:{stage}", stage=stage)


def _item(kind: Kind, entry: CandidateState) -> OptimizeItem:
    return OptimizeItem(kind=kind, key=f"{kind}:{entry.candidate.key}", candidate=entry.candidate)


def _judge(entry: CandidateState, speed: Speed | None = None) -> OptimizeItem:
    assert entry.prepared is not None
    found = judging.verdict_of(entry.candidate, entry.prepared, entry.checked, speed)
    return _verdict(entry, found)


def _shared(entry: CandidateState, other: CandidateState) -> OptimizeItem:
    assert entry.prepared is not None
    assert other.verdict is not None
    found = judging.shared_verdict(entry.candidate, entry.prepared, other.verdict)
    return _verdict(entry, found)


def _verdict(entry: CandidateState, verdict: CandidateVerdict) -> OptimizeItem:
    return OptimizeItem(
        kind="verdict",
        key=f"verdict:{entry.candidate.key}",
        candidate=entry.candidate,
        verdict=verdict,
        number=entry.place,
    )
