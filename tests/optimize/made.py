"""Verdicts for tests, made by hand."""

from __future__ import annotations

from typing import Any

import msgspec

from fanwise.journal.port import RunRecord
from fanwise.optimize.benchmark.sequential import Speed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.state.recorded_run import RecordedRun
from fanwise.optimize.verdict import Verdict


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


def verdict(name: str = "a", low: float | None = None, **more: Any) -> Verdict:
    """Accepted at the benchmark with this lower bound; without one, rejected by its tests."""
    given: dict[str, Any] = {
        "candidate": candidate(name),
        "status": "rejected" if low is None else "accepted",
        "stage": "test" if low is None else "benchmark",
        "reason": "2 tests failed" if low is None else f"at least {low} times as fast",
        "speed": None if low is None else speed(low),
    }
    return Verdict(**{**given, **more})


def recorded(
    verdicts: list[Verdict] | None = None,
    *,
    name: str = "src/pkg/find.py::find",
    noise: dict[str, Any] | None = None,
    **more: Any,
) -> RecordedRun:
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
    given: dict[str, Any] = {
        "run": run,
        "verdicts": verdicts or [],
        "waiting": [],
        "failures": {},
        "baseline": {} if noise is None else {"noise": noise},
        "unusable": [],
    }
    return RecordedRun(**{**given, **more})
