"""Who goes through which stage next: a state machine, without clock, files or processes.

    baseline: tests -> recording ---------> noise
                           |                  |
    prepare --(in order)-> check ---------> benchmark --> verdict --> repair, refine

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
from msgspec.structs import replace

from fanwise.core.counts import Counts, many
from fanwise.core.outcome import Outcome
from fanwise.errors import one_line, refused_by_budget
from fanwise.optimize.benchmark.sequential import Speed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.spec.resolved_spec import ResolvedSpec
from fanwise.optimize.state import judging
from fanwise.optimize.state.item import (
    CheckResult,
    Kind,
    OptimizeItem,
    PreparedCandidate,
    ProposalResult,
)
from fanwise.optimize.verdict import Verdict


class BoardOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a run shall do beside judging what it was given."""

    baseline: Sequence[str]
    """The stages of the original that candidates are checked against, in order."""
    noise: str = "noise"
    """The last stage of the original: benchmarks need it, checks do not."""
    proposals: int = 0
    repair: int = 0
    refine: int = 0
    profiles: bool = False
    """What is accepted is profiled, before it is refined."""


def board_options(resolved: ResolvedSpec) -> BoardOptions:
    """What the file asks for, as the board takes it."""
    spec = resolved.spec
    recorded = ("tests", "recording", *(("profile",) if spec.profile else ()))
    return BoardOptions(
        baseline=recorded if resolved.recorded else ("tests",),
        proposals=0 if spec.candidates.propose is None else spec.candidates.propose.n,
        repair=spec.rounds.repair,
        refine=spec.rounds.refine,
        profiles=resolved.profiled,
    )


class CandidateProgress:
    """A candidate, and how far it is."""

    def __init__(self, candidate: Candidate, place: int) -> None:
        self.candidate = candidate
        self.place = place
        self.prepared: PreparedCandidate | None = None
        self.checked: CheckResult | None = None
        self.verdict: Verdict | None = None
        self.error: str | None = None
        """It could not be judged."""
        self.followers: list[CandidateProgress] = []
        """Those that share its verdict."""

    @property
    def over(self) -> bool:
        """Whether there is nothing more to know of it."""
        return self.verdict is not None or self.error is not None


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
        self.entries: dict[str, CandidateProgress] = {}
        """By key, in the order in which they came."""
        self._given = [self._enter(candidate) for candidate in given]
        self._unsorted: deque[CandidateProgress] = deque(self._given)
        """Not yet compared with those before them."""
        self._strangers: dict[str, list[CandidateProgress]] = {}
        """They share the verdict of one that has not come yet."""
        self._stages = deque([*wanted.baseline, wanted.noise])
        self._held: dict[Kind, list[CandidateProgress]] = {"check": [], "benchmark": []}
        self._open: set[str] = set()
        self.unproposed: list[tuple[str, str]] = []
        """Proposals that did not come, and why."""
        self.unaffordable = 0
        """Of the failures, those for which the budget had no room."""
        self.fatal: BaseException | None = None
        """What is wrong with the original: then nothing can be judged."""

    @property
    def over(self) -> bool:
        """Whether nothing is under way and nothing will be."""
        return not self._open or self.fatal is not None

    def count(self) -> Counts:
        """How many candidates were judged, and why not all of them."""
        entries = self.entries.values()
        done = sum(each.verdict is not None for each in entries)
        failed = sum(each.error is not None for each in entries)
        if not self.unaffordable:
            return Counts("candidate", done, failed, len(entries))
        halted = f"the budget is used up: {many(self.unaffordable, 'stage')} not run"
        go_on = "raise the budget, and start a new run"
        return Counts("candidate", done, failed, len(entries), halted, go_on)

    def begin(self) -> list[OptimizeItem]:
        """What can be done at once."""
        return self._out(
            [
                *self._next_stage(),
                *(_item("prepare", entry) for entry in self._given),
                *(
                    OptimizeItem(kind="propose", key=f"propose:{number}", number=number)
                    for number in range(self._wanted.proposals)
                ),
            ]
        )

    # -- what comes back ------------------------------------------------------------------------

    def take(self, item: OptimizeItem, outcome: Outcome[Any]) -> list[OptimizeItem]:
        """What follows from an outcome, new or recorded."""
        if outcome.error is not None:
            return self.fail(item, outcome.error)
        value = outcome.unwrap()
        match item.kind:
            case "baseline":
                return self.baseline_done(item)
            case "prepare":
                return self.prepared(item, msgspec.convert(value, PreparedCandidate))
            case "check":
                return self.checked(item, msgspec.convert(value, CheckResult))
            case "benchmark":
                return self.measured(item, msgspec.convert(value, Speed))
            case "profile":
                return self.profiled(item, value)
            case "propose":
                return self.proposed(item, msgspec.convert(value, ProposalResult).candidates)
            case "verdict":
                return self.judged(item, msgspec.convert(value["verdict"], Verdict))

    def baseline_done(self, item: OptimizeItem) -> list[OptimizeItem]:
        """A stage of the original has ended; the next one, and what waited for this one."""
        self._open.discard(item.key)
        freed: list[OptimizeItem] = []
        if item.stage == self._wanted.noise:
            freed = [_item("benchmark", entry) for entry in self._let_go("benchmark")]
        elif self._stages and self._stages[0] == self._wanted.noise:
            freed = [_item("check", entry) for entry in self._let_go("check")]
        return self._out([*self._next_stage(), *freed])

    def prepared(self, item: OptimizeItem, found: PreparedCandidate) -> list[OptimizeItem]:
        """It was placed, or could not be."""
        self._of(item).prepared = found
        return self._out(self._sort())

    def checked(self, item: OptimizeItem, found: CheckResult) -> list[OptimizeItem]:
        """It does what the original does, or not."""
        entry = self._of(item)
        entry.checked = found
        if found.findings and not found.findings[-1].ok:
            return self._out([self._judge(entry)])
        return self._out(self._enter_stage("benchmark", entry))

    def measured(self, item: OptimizeItem, speed: Speed) -> list[OptimizeItem]:
        """It is faster, or not."""
        return self._out([self._judge(self._of(item), speed)])

    def judged(self, item: OptimizeItem, verdict: Verdict) -> list[OptimizeItem]:
        """Its verdict is on disk."""
        entry = self._of(item)
        entry.verdict = verdict
        same = [self._shared(each, entry) for each in self._followers(entry)]
        return self._out([*same, *self._children(entry)])

    def profiled(self, item: OptimizeItem, profile: str) -> list[OptimizeItem]:
        """Where its time goes."""
        return self._out(self._refine(self._of(item), profile))

    def proposed(self, item: OptimizeItem, candidates: Iterable[Candidate]) -> list[OptimizeItem]:
        """More candidates."""
        self._open.discard(item.key)
        fresh = [self._enter(candidate) for candidate in candidates]
        self._unsorted.extend(fresh)
        return self._out([_item("prepare", entry) for entry in fresh])

    def fail(self, item: OptimizeItem, error: BaseException) -> list[OptimizeItem]:
        """The stage failed for reasons outside the candidate."""
        self._open.discard(item.key)
        if item.kind == "baseline":
            self.fatal = error
            return []
        reason = one_line(error)
        self.unaffordable += refused_by_budget(error)
        if item.candidate is None or item.kind in ("propose", "profile"):
            self.unproposed.append((item.key, reason))
            return self._out([])
        return self._out(self._give_up(self.entries[item.candidate.key], reason))

    # -- inside ---------------------------------------------------------------------------------

    def _out(self, items: list[OptimizeItem]) -> list[OptimizeItem]:
        if not items and not self._open:
            items = self._promote()
        self._open.update(item.key for item in items)
        return items

    def _of(self, item: OptimizeItem) -> CandidateProgress:
        self._open.discard(item.key)
        assert item.candidate is not None
        return self.entries[item.candidate.key]

    def _enter(self, candidate: Candidate) -> CandidateProgress:
        """Two that are alike to the letter are two: each has its row in the report."""
        key, copy = candidate.key, 2
        while key in self.entries:
            key, copy = f"{candidate.key}-{copy}", copy + 1
        entry = CandidateProgress(replace(candidate, key=key), len(self.entries))
        self.entries[key] = entry
        return entry

    def _next_stage(self) -> list[OptimizeItem]:
        if not self._stages:
            return []
        stage = self._stages.popleft()
        return [OptimizeItem(kind="baseline", key=f"baseline:{stage}", stage=stage)]

    def _is_open(self, kind: Kind) -> bool:
        """Whether what this stage needs of the original is known."""
        left = len(self._stages) + sum(key.startswith("baseline:") for key in self._open)
        return left == 0 or (kind == "check" and left == 1)

    def _enter_stage(self, kind: Kind, entry: CandidateProgress) -> list[OptimizeItem]:
        if self._is_open(kind):
            return [_item(kind, entry)]
        self._held[kind].append(entry)
        return []

    def _let_go(self, kind: Kind) -> list[CandidateProgress]:
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

    def _place(self, entry: CandidateProgress, found: PreparedCandidate) -> list[OptimizeItem]:
        unfit = any(not each.ok for each in found.findings)
        if unfit or found.original:
            return [self._judge(entry)]
        first = self._claimed.setdefault(found.digest, entry.candidate.key)
        if first == entry.candidate.key:
            return self._enter_stage("check", entry)
        other = self.entries.get(first)
        if other is None:
            self._strangers.setdefault(first, []).append(entry)
            return []
        if other.error is not None:
            return self._give_up(entry, other.error)
        if other.verdict is not None:
            return [self._shared(entry, other)]
        other.followers.append(entry)
        return []

    def _followers(self, entry: CandidateProgress) -> list[CandidateProgress]:
        found = [*entry.followers, *self._strangers.pop(entry.candidate.key, ())]
        entry.followers = []
        return found

    def _promote(self) -> list[OptimizeItem]:
        """Those whose like never came, though an earlier execution had it: the first is judged."""
        items: list[OptimizeItem] = []
        for waiting in list(self._strangers.values()):
            first = waiting[0]
            assert first.prepared is not None
            self._claimed[first.prepared.digest] = first.candidate.key
            first.followers += waiting[1:]
            items += self._enter_stage("check", first)
        self._strangers.clear()
        return items

    def _give_up(self, entry: CandidateProgress, error: str) -> list[OptimizeItem]:
        entry.error = error
        items = self._sort()
        for each in self._followers(entry):
            items += self._give_up(each, error)
        return items

    def _judge(self, entry: CandidateProgress, speed: Speed | None = None) -> OptimizeItem:
        assert entry.prepared is not None
        found = judging.verdict_of(entry.candidate, entry.prepared, entry.checked, speed)
        return _verdict(entry, found)

    def _shared(self, entry: CandidateProgress, other: CandidateProgress) -> OptimizeItem:
        assert entry.prepared is not None
        assert other.verdict is not None
        found = judging.shared_verdict(entry.candidate, entry.prepared, other.verdict)
        return _verdict(entry, found)

    # -- the next round -------------------------------------------------------------------------

    def _children(self, entry: CandidateProgress) -> list[OptimizeItem]:
        verdict = entry.verdict
        assert verdict is not None
        if verdict.status == "accepted":
            return [_item("profile", entry)] if self._wanted.profiles else self._refine(entry)
        wrong = verdict.status == "rejected" and verdict.stage != "benchmark"
        if wrong and self._count(entry, "repaired") < self._wanted.repair:
            return [self._propose("repair", entry)]
        return []

    def _refine(self, entry: CandidateProgress, profile: str = "") -> list[OptimizeItem]:
        if self._count(entry, "refined") >= self._wanted.refine:
            return []
        return [self._propose("refine", entry, profile)]

    def _count(self, entry: CandidateProgress, how: str) -> int:
        """How often it, or one that it was made from, came to be in this way."""
        found = 0
        at: CandidateProgress | None = entry
        while at is not None:
            found += at.candidate.how == how
            at = self.entries.get(at.candidate.parent or "")
        return found

    def _propose(self, how: str, entry: CandidateProgress, profile: str = "") -> OptimizeItem:
        return OptimizeItem(
            kind="propose",
            key=f"{how}:{entry.candidate.key}",
            candidate=entry.candidate,
            verdict=entry.verdict,
            source="" if entry.prepared is None else entry.prepared.source,
            profile=profile,
        )


def _item(kind: Kind, entry: CandidateProgress) -> OptimizeItem:
    return OptimizeItem(kind=kind, key=f"{kind}:{entry.candidate.key}", candidate=entry.candidate)


def _verdict(entry: CandidateProgress, verdict: Verdict) -> OptimizeItem:
    return OptimizeItem(
        kind="verdict",
        key=f"verdict:{entry.candidate.key}",
        candidate=entry.candidate,
        verdict=verdict,
        number=entry.place,
    )
