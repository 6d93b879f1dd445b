"""What is known of a run: one object, from which everything that people and programs see is made.

It is built from the outcomes of items, one by one: by the board while a run executes, and from the
records of a journal afterwards. So `run`, `show`, `export` and the report cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.core.counts import Counts, many
from fanwise.core.outcome import Outcome
from fanwise.errors import one_line, refused_by_budget
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import Journal, RunRecord
from fanwise.kernel.repository_watch import outside_lines, recorded_changes
from fanwise.optimize.benchmark.noise import Noise
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.checking.report import TestReport
from fanwise.optimize.propose.port import Proposals, Unusable
from fanwise.optimize.state.item import FAN_OUT, NOISE, CheckResult, PreparedCandidate
from fanwise.optimize.verdict import ORIGINAL, CandidateVerdict

PROPOSALS = ("propose", "repair", "refine")
JUDGING = ("prepare", "check", "benchmark", "verdict")
"""The stages without which a candidate cannot be judged."""


class CandidateState:
    """A candidate, and how far it is."""

    def __init__(self, candidate: Candidate, place: int) -> None:
        self.candidate = candidate
        self.place = place
        self.prepared: PreparedCandidate | None = None
        self.checked: CheckResult | None = None
        self.verdict: CandidateVerdict | None = None
        self.error: str | None = None
        """Why it could not be judged."""


class OptimizeState:
    """The candidates, the original, and what could not be done."""

    def __init__(self, given: Iterable[Candidate] = ()) -> None:
        self.entries: dict[str, CandidateState] = {}
        """By key, in the order in which they came."""
        self.baseline: dict[str, Any] = {}
        """The result of each stage of the original."""
        self.profiles: dict[str, str] = {}
        """Where the time goes, line by line: by the key of a candidate, and of the `original`."""
        self.unusable: list[Unusable] = []
        """Answers that contained no candidate."""
        self.failures: dict[str, str] = {}
        """What could not be done, by the key of the item, and why."""
        self.unaffordable = 0
        """Of the failures, those for which the budget had no room."""
        self.outside: tuple[str, ...] = ()
        """What changed in the user's repository during the run, not by fanwise."""
        self._checked: dict[str, CandidateState] = {}
        """Of candidates with the same digest, the one that is checked for all."""
        for each in given:
            self.enter(each)

    def enter(self, candidate: Candidate) -> CandidateState:
        """Add a candidate. Two that are alike to the letter are two, each with its own row."""
        key, copy = candidate.key, 2
        while key in self.entries:
            key, copy = f"{candidate.key}-{copy}", copy + 1
        entry = CandidateState(replace(candidate, key=key), len(self.entries))
        self.entries[key] = entry
        return entry

    def apply(self, key: str, outcome: Outcome[Any]) -> None:
        """Take in the outcome of an item."""
        kind, _, name = key.partition(":")
        entry = self.entries.get(name) if kind in JUDGING else None
        if kind == "check" and entry is not None and entry.prepared is not None:
            self._checked[entry.prepared.digest] = entry
        if outcome.error is not None:
            self.failures[key] = one_line(outcome.error)
            self.unaffordable += refused_by_budget(outcome.error)
            if entry is not None:
                entry.error = self.failures[key]
            return
        value: Any = outcome.value
        if kind == "baseline":
            self.baseline[name] = value
            self._profile(ORIGINAL, value if name == "profile" else "")
        elif kind in PROPOSALS:
            found = msgspec.convert(value, Proposals)
            self.unusable += found.unusable
            for each in found.candidates:
                self.enter(each)
        elif kind == "profile":
            self._profile(name, value)
        elif kind == "verdict":
            self._judged(msgspec.convert(value["verdict"], CandidateVerdict), value["place"])
        elif kind == "prepare" and entry is not None:
            entry.prepared = msgspec.convert(value, PreparedCandidate)
        elif kind == "check" and entry is not None:
            entry.checked = msgspec.convert(value, CheckResult)

    def _profile(self, key: str, text: str) -> None:
        if text:
            self.profiles[key] = text

    def _judged(self, verdict: CandidateVerdict, place: int) -> None:
        key = verdict.candidate.key
        entry = self.entries.get(key) or self.enter(verdict.candidate)
        entry.verdict, entry.place = verdict, place

    # -- what follows from it --------------------------------------------------------------------

    def error(self, entry: CandidateState) -> str | None:
        """Why a candidate could not be judged: itself, or the equal one that is checked for it."""
        if entry.error is None and entry.verdict is None and entry.prepared is not None:
            other = self._checked.get(entry.prepared.digest)
            return None if other is None else other.error
        return entry.error

    @property
    def verdicts(self) -> list[CandidateVerdict]:
        """In the order of the candidates; those that were not judged are missing."""
        entries = sorted(self.entries.values(), key=lambda each: each.place)
        return [each.verdict for each in entries if each.verdict is not None]

    @property
    def waiting(self) -> list[Candidate]:
        """Candidates without a verdict."""
        return [each.candidate for each in self.entries.values() if each.verdict is None]

    @property
    def unjudged(self) -> dict[str, str]:
        """Candidates that could not be judged, by name, and why."""
        found = ((each.candidate.name, self.error(each)) for each in self.entries.values())
        return {name: why for name, why in found if why is not None}

    @property
    def unproposed(self) -> dict[str, str]:
        """Proposals that did not come, by the key of the item, and why."""
        wanted = (*PROPOSALS, "profile")
        return {k: why for k, why in self.failures.items() if k.partition(":")[0] in wanted}

    @property
    def complete(self) -> bool:
        """Whether every candidate was judged, or could not be."""
        return all(each.verdict or self.error(each) for each in self.entries.values())

    @property
    def checked_for(self) -> dict[str, str]:
        """Which candidate was checked for which digest."""
        done = self._checked.items()
        return {digest: each.candidate.key for digest, each in done if each.checked is not None}

    @property
    def counts(self) -> Counts:
        """How many candidates were judged, and why the others were not."""
        done, failed, total = len(self.verdicts), len(self.unjudged), len(self.entries)
        if not self.unaffordable:
            return Counts("candidate", done, failed, total)
        halted = f"the budget is used up: {many(self.unaffordable, 'stage')} not run"
        go_on = "raise the budget, and start a new run"
        return Counts("candidate", done, failed, total, halted, go_on)

    @property
    def calls_compared(self) -> int | None:
        """In how many calls each candidate that passed was compared; None: none passed so far."""
        found = (finding.calls for each in self.verdicts for finding in each.findings)
        return max((calls for calls in found if calls is not None), default=None)

    @property
    def noise(self) -> Noise | None:
        """How steadily the original runs, and how long measuring takes; None: not measured yet."""
        found = self.baseline.get(NOISE)
        return msgspec.convert(found, Noise) if found else None

    def measuring(self, budget_s: float) -> str:
        """What is said before candidates are measured: how long that will take."""
        passed = [each for each in self.entries.values() if each.checked and not each.verdict]
        return "" if self.noise is None else self.noise.announcement(len(passed), budget_s)

    @property
    def notes(self) -> list[str]:
        """What limits how far the verdicts can be trusted, and what else a user must know."""
        found = list(self.baseline.get("recording", {}).get("notes", ()))
        if "tests" in self.baseline:
            found += _test_notes(msgspec.convert(self.baseline["tests"], TestReport))
        if (noise := self.noise) is not None:
            found.append(f"noise: the original differs from itself by {noise.spread:.1%}")
            found += noise.warnings
        return found + outside_lines(self.outside)


def _test_notes(report: TestReport) -> list[str]:
    found = []
    if report.tests is None:
        found.append("the test command reports no single tests: only its exit code is compared")
    if report.left_out:
        found.append(f"{len(report.left_out)} tests are left out: their outcome varies")
    return found


def read_run(journal: Journal, run: RunRecord) -> OptimizeState:
    """The state of a run, as its journal has it now."""
    spec: Mapping[str, Any] = JSON.decode(run.spec) or {}
    return read_state(journal, run.id, msgspec.convert(spec.get("candidates", []), list[Candidate]))


def read_state(
    journal: Journal, run_id: str, given: Iterable[Candidate], path: str = FAN_OUT
) -> OptimizeState:
    """The state that the records of a fan-out come to."""
    state = OptimizeState(given)
    state.outside = recorded_changes(journal, run_id, path)
    for fan_out in journal.fan_outs(run_id):
        for record in journal.items(fan_out.id) if fan_out.path == path else ():
            if record.status in ("done", "failed"):
                value = None if record.value is None else JSON.decode(record.value)
                error = None if record.error is None else decode_error(record.error)
                state.apply(record.key, Outcome(0, record.status, value, error))
    return state
