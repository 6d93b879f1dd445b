"""What the calls to models cost, by step."""

from __future__ import annotations

from fanwise.journal.call_totals import total
from fanwise.journal.port import AttemptRecord, CallTotals, Journal


def costs_of(journal: Journal, run_id: str) -> dict[str, CallTotals]:
    """By the path of a step. What a system inside a step asked counts for that step's fan-out."""
    found: dict[str, list[AttemptRecord]] = {}
    for fan_out in journal.fan_outs(run_id):
        name, below, _ = fan_out.path.partition("/")
        for attempt in journal.attempts(fan_out.id):
            if attempt.call is not None:
                key = name if below else attempt.key
                found.setdefault(key.replace("%2F", "/").replace("%25", "%"), []).append(attempt)
    return {key: total(attempts) for key, attempts in found.items()}
