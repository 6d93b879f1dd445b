"""What a report shows of a run: every candidate in its lineage, the counts and the winner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from fanwise.errors import BadSpec
from fanwise.journal.codec import JSON
from fanwise.journal.port import RunRecord
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.spec.optimize_spec import AcceptSpec, OptimizeSpec
from fanwise.optimize.state.run_state import OptimizeState
from fanwise.optimize.verdict import ORIGINAL, CandidateVerdict, winner
from fanwise.optimize.views.text import why
from fanwise.specs import Document, check


class LineageRow(NamedTuple):
    """A candidate and its depth in the tree."""

    candidate: Candidate
    depth: int
    """0 if it is not based on another."""


def lineage(candidates: Sequence[Candidate]) -> list[LineageRow]:
    """Each below the one that it was made from, else in the order given.

    One whose parent is not there, or that would be its own ancestor, is a root: what is in a
    journal may be cut, and nothing shall be missing from a table.
    """
    known = {each.key for each in candidates}
    children: dict[str | None, list[Candidate]] = {}
    for each in candidates:
        children.setdefault(each.parent if each.parent in known else None, []).append(each)
    placed: dict[str, LineageRow] = {}
    waiting = [LineageRow(each, 0) for each in [*children.get(None, []), *candidates][::-1]]
    while waiting:
        at = waiting.pop()
        if placed.setdefault(at.candidate.key, at) is at:
            below = children.get(at.candidate.key, [])
            waiting += [LineageRow(each, at.depth + 1) for each in reversed(below)]
    return list(placed.values())


WAITING = "waiting"
UNJUDGED = "not judged"
STAGES = ("apply", "compile", "test", "differential", "benchmark")


class Results:
    """The state of a run, with what views need of it."""

    def __init__(self, run: RunRecord, state: OptimizeState) -> None:
        self.run = run
        self.state = state
        self.verdicts = {each.candidate.key: each for each in state.verdicts}
        self.winner = winner(state.verdicts)

    @cached_property
    def rows(self) -> list[LineageRow]:
        """Every candidate, judged or not, below the one that it was made from."""
        judged = [each.candidate for each in self.state.verdicts]
        return lineage([*judged, *self.state.waiting])

    @cached_property
    def counts(self) -> Counter[str]:
        return Counter(map(self.status, (each.candidate for each in self.rows)))

    @cached_property
    def spec(self) -> OptimizeSpec | None:
        """What was asked for; None: it was written by another version, and cannot be read."""
        try:
            document = Document.again(JSON.decode(self.run.spec))
            return check(document, OptimizeSpec, "optimize")
        except (BadSpec, KeyError, TypeError):
            return None

    @property
    def accept(self) -> AcceptSpec:
        return AcceptSpec() if self.spec is None else self.spec.accept

    @property
    def target(self) -> str:
        """The target; empty if there is none."""
        return "" if self.spec is None else self.spec.target or ""

    @property
    def noise(self) -> Mapping[str, Any] | None:
        """The noise of this machine, if it was measured."""
        found = self.state.baseline.get("noise")
        return found if isinstance(found, Mapping) else None

    def status(self, candidate: Candidate) -> str:
        verdict = self.verdicts.get(candidate.key)
        if verdict is not None:
            return verdict.status
        return WAITING if self.state.error(self.state.entries[candidate.key]) is None else UNJUDGED

    def is_winner(self, candidate: Candidate) -> bool:
        return self.winner is not None and self.winner.candidate.key == candidate.key

    def name(self, key: str | None) -> str:
        """The name of the candidate with this key."""
        if key is None or key == ORIGINAL:
            return "the original"
        found = self.verdicts.get(key)
        return key if found is None else found.candidate.name

    def reason(self, candidate: Candidate) -> str:
        """Why it has its verdict, or none, in one line."""
        verdict = self.verdicts.get(candidate.key)
        if verdict is None:
            return self.state.error(self.state.entries[candidate.key]) or "not judged yet"
        return why(verdict, {key: each.candidate.name for key, each in self.verdicts.items()})

    def seconds(self, candidate: Candidate) -> Mapping[str, float]:
        """How long each stage took, in order."""
        verdict = self.verdicts.get(candidate.key)
        if verdict is None:
            return {}
        known = [stage for stage in STAGES if stage in verdict.seconds]
        others = [stage for stage in verdict.seconds if stage not in STAGES]
        return {stage: verdict.seconds[stage] for stage in (*known, *others)}


def ratio_text(verdict: CandidateVerdict | None) -> str:
    """`1.62 (1.55 to 1.69)`; empty if it was not measured."""
    speed = None if verdict is None else verdict.speed
    return "" if speed is None else f"{speed.ratio:.3g} ({speed.low:.3g} to {speed.high:.3g})"
