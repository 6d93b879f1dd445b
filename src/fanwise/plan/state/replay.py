"""Replays the records of a journal through a board. Nothing is started."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from fanwise.core.outcome import Outcome
from fanwise.errors import fields_of
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import ItemRecord, Journal
from fanwise.plan.model.merge_result import WorkTree
from fanwise.plan.spec.plan_spec import PlanBase, PlanSpec
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import FAN_OUT, SUB_PLANS, PlanItem
from fanwise.plan.state.policy import grower, policy_of

TOLD = "told"
"""The kind of event that keeps a word of the user's for a sub-plan."""
WORK_TREE = "work_tree"
"""The kind of event that says what became of the result in the user's work tree."""
Counts = Callable[[PlanItem, Outcome[Any]], bool]


class Replay(NamedTuple):
    """The items of a board, in the order in which it gave them."""

    known: list[PlanItem]
    """Their outcomes are on record, and the board has taken them."""
    left: list[PlanItem]
    """They are still to be done."""


def replay(board: PlanBoard, records: Iterable[ItemRecord], counts: Counts) -> Replay:
    """Let a board take every recorded outcome that `counts`."""
    recorded = {each.key: each for each in records if each.status in ("done", "failed")}
    waiting = deque(board.begin())
    found = Replay([], [])
    while waiting:
        item = waiting.popleft()
        record = recorded.get(item.key)
        outcome = None if record is None else _outcome(record)
        if outcome is not None and counts(item, outcome):
            found.known.append(item)
            waiting.extend(board.take(item, outcome))
        else:
            found.left.append(item)
    return found


def reusable(item: PlanItem, recorded: Outcome[Any]) -> bool:
    """Whether a resume may use an outcome: it is of this very item, and can be relied on."""
    if recorded.ok:
        return isinstance(recorded.value, dict) and recorded.value.get("of") == item.of
    error = recorded.error
    return item.kind in SUB_PLANS and error is not None and fields_of(error).get("of") == item.of


def reusable_success(item: PlanItem, recorded: Outcome[Any]) -> bool:
    """The same, where what failed is tried again."""
    return recorded.ok and reusable(item, recorded)


def items_of(journal: Journal, run_id: str, path: str = FAN_OUT) -> Iterable[ItemRecord]:
    for fan_out in journal.fan_outs(run_id):
        if fan_out.path == path:
            return journal.items(fan_out.id)
    return []


def cut_off_keys(journal: Journal, run_id: str, path: str = FAN_OUT) -> frozenset[str]:
    """Items that were begun and have no end: what began them was killed."""
    items = items_of(journal, run_id, path)
    return frozenset(each.key for each in items if each.status == "started")


def merged_tasks(records: Iterable[ItemRecord]) -> list[str]:
    """The leaves of the recorded merges, in the order in which they came in."""
    merges = [each for each in records if each.key.startswith("merge:") and each.value]
    found: dict[str, None] = {}
    for record in sorted(merges, key=lambda each: int(each.key.partition(":")[2])):
        merged = JSON.decode(record.value or "null")["merged"]
        found |= dict.fromkeys(merged["leaves"])
        found |= dict.fromkeys(each["leaf"] for each in merged.get("conflicts", ()))
    return list(found)


def board_of(
    spec: PlanSpec,
    base: PlanBase,
    work: str,
    records: Collection[ItemRecord] = (),
    *,
    bisect: bool = False,
    failed: Collection[str] = (),
) -> PlanBoard:
    """The board of a plan as it begins. `work`: the digest of how leaves are done.

    Records of earlier executions say in which order tasks were merged, and whether somebody asked
    for a bisection: then there was a second check.
    """
    bisect = bisect or any(each.key == "check:1" for each in records)
    policy = policy_of(spec, base, work, bisect=bisect)
    order = merged_tasks(records)
    return PlanBoard(base.split.tree, policy, grower(spec, base), failed=failed, merged=order)


def told_by_user(journal: Journal, run_id: str, path: str = FAN_OUT) -> dict[str, str]:
    """What the user has told sub-plans, by their ids; the last word counts."""
    notes = (JSON.decode(event.data) for event in journal.events(run_id, TOLD))
    return {note["leaf"]: note["text"] for note in notes if note["path"] == path}


def earlier_work_tree(journal: Journal, run_id: str, path: str = FAN_OUT) -> WorkTree:
    """Whether the result was applied or rolled back last."""
    notes = (JSON.decode(event.data) for event in journal.events(run_id, WORK_TREE))
    found: list[WorkTree] = [note["state"] for note in notes if note["path"] == path]
    return found[-1] if found else ""


def _outcome(record: ItemRecord) -> Outcome[Any]:
    value = None if record.value is None else JSON.decode(record.value)
    error = None if record.error is None else decode_error(record.error)
    return Outcome(0, "done" if record.status == "done" else "failed", value, error)
