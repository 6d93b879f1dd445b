"""What a run would still have to do, by what is recorded of it. Nothing is started."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from fanwise.core.outcome import Outcome
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import ItemRecord
from fanwise.plan.driver.board import Board
from fanwise.plan.driver.drive import counts
from fanwise.plan.driver.item import SUB_PLANS, Item


def replay(board: Board, records: Iterable[ItemRecord], retry_failed: bool) -> list[Item]:
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
