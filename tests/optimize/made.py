"""Verdicts for tests, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fanwise.core.outcome import Outcome
from fanwise.journal.port import RunRecord
from fanwise.optimize.benchmark.sequential import Speed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.propose.port import Unusable
from fanwise.optimize.state.run_state import OptimizeState
from fanwise.optimize.verdict import CandidateVerdict
from fanwise.optimize.views.results import Results


def candidate(name: str = "a", **more: Any) -> Candidate:
    given = {"key": name, "name": name, "kind": "patch", "content": "", **more}
    return Candidate(**given)


def speed(low: float, ratio: float | None = None, high: float | None = None, **more: Any) -> Speed:
    ratio = low * 1.05 if ratio is None else ratio
    given: dict[str, Any] = {
        "ratio": ratio,
        "low": low,
        "high": ratio * 1.05 if high is None else high,
        "decision": "accept",
        "reason": "",
        "rounds": 20,
        "baseline_s": 0.01,
        "candidate_s": 0.01 / (ratio or 1.0),
        "spent_s": 1.5,
    }
    return Speed(**{**given, **more})


def verdict(name: str = "a", low: float | None = None, **more: Any) -> CandidateVerdict:
    """Accepted at the benchmark with this lower bound; without one, rejected by its tests."""
    given: dict[str, Any] = {
        "candidate": candidate(name),
        "status": "rejected" if low is None else "accepted",
        "stage": "test" if low is None else "benchmark",
        "reason": "2 tests failed" if low is None else f"at least {low} times as fast",
        "speed": None if low is None else speed(low),
    }
    return CandidateVerdict(**{**given, **more})


def recorded(
    verdicts: list[CandidateVerdict] | None = None,
    *,
    name: str = "src/pkg/find.py::find",
    noise: dict[str, Any] | None = None,
    waiting: Sequence[Candidate] = (),
    unusable: Sequence[Unusable] = (),
    failures: Mapping[str, str] | None = None,
    profiles: Mapping[str, str] | None = None,
) -> Results:
    """A run as the journal would have it."""
    data = {
        "target": "src/pkg/find.py::find",
        "test": "pytest -q",
        "candidates": {"files": "candidates/*.patch"},
    }
    kept = {"file": "optimize.yaml", "folder": "/", "data": {"optimize": data}, "candidates": []}
    run = RunRecord(
        id="20260101-000000-abcd",
        number=1,
        kind="optimize",
        name=name,
        spec=msgspec.json.encode(kept).decode(),
        digest="0" * 16,
        status="done",
        created_at=1_700_000_000.0,
        ended_at=1_700_000_321.5,
    )
    state = OptimizeState()
    for place, each in enumerate(verdicts or []):
        value = {"place": place, "verdict": msgspec.to_builtins(each)}
        state.apply(f"verdict:{each.candidate.key}", Outcome(0, "done", value))
    for candidate in waiting:
        state.enter(candidate)
    if noise is not None:
        state.apply("baseline:noise", Outcome(0, "done", noise))
    state.unusable += unusable
    state.failures |= failures or {}
    state.profiles |= profiles or {}
    return Results(run, state)
