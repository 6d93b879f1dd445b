"""What a run would still have to do, by what is recorded of it. Nothing is started."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from fanwise.core.outcome import Outcome
from fanwise.errors import fields_of
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import ItemRecord, Journal
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import FAN_OUT, SUB_PLANS, PlanItem


def replay(board: PlanBoard, records: Iterable[ItemRecord], retry_failed: bool) -> list[PlanItem]:
    """Tell a board all that counts of what is recorded; return what it would have done next."""
    known = {each.key: each for each in records if each.status in ("done", "failed")}
    waiting, left = deque(board.begin()), []
    while waiting:
        item = waiting.popleft()
        record = known.get(item.key)
        outcome = None if record is None else _outcome(record)
        failures_count = item.kind in SUB_PLANS and not retry_failed
        if outcome is not None and counts(item, outcome, failures_count):
            waiting.extend(board.take(item, outcome))
        else:
            left.append(item)
    return left


def _outcome(record: ItemRecord) -> Outcome[Any]:
    value = None if record.value is None else JSON.decode(record.value)
    error = None if record.error is None else decode_error(record.error)
    return Outcome(0, "done" if record.status == "done" else "failed", value, error)


def counts(item: PlanItem, recorded: Outcome[Any], failures_count: bool) -> bool:
    """Whether an outcome of the past is of this very item."""
    if recorded.ok:
        return isinstance(recorded.value, dict) and recorded.value.get("of") == item.of
    error = recorded.error
    return failures_count and error is not None and fields_of(error).get("of") == item.of


def items_of(journal: Journal, run_id: str, path: str = FAN_OUT) -> Iterable[ItemRecord]:
    """All that is recorded of the plan's fan-out."""
    for fan_out in journal.fan_outs(run_id):
        if fan_out.path == path:
            return journal.items(fan_out.id)
    return []
