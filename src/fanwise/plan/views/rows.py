"""A run for programs: one document, and one row for each leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from fanwise.plan.state.plan_state import LeafState, PlanState
from fanwise.plan.state.read_run import RecordedPlan
from fanwise.view.calls import COLUMNS as CALL_COLUMNS
from fanwise.view.calls import call_columns
from fanwise.view.table import Kind, Row, Table
from fanwise.view.times import moment

COLUMNS: dict[str, Kind] = {
    "id": "text", "title": "text", "goal": "text", "parent": "text", "depth": "integer",
    "after": "json", "files": "json", "tokens": "integer", "state": "text", "reason": "text",
    "verified": "text", "tries": "json", "said": "text", "seconds": "number", "changed": "json",
    "deleted": "json", "requests": "json", "conflicts": "json", "subplans": "json", "kept": "text",
    "in_result": "integer", "starts": "integer", "queued_s": "number", "ran_s": "number",
    **CALL_COLUMNS, "started_at": "moment", "ended_at": "moment",
}  # fmt: skip
"""All that a row can have, in the order of a table."""


def leaf_table(found: RecordedPlan) -> Table:
    """Every leaf, in the order of the tree; those that returned sub-plans too."""
    return Table("leaves", COLUMNS, _rows(found.state, found.goal))


def document_of(state: PlanState, goal: str) -> dict[str, Any]:
    """A run as plain data: for `run --json`, and in that of the report."""
    return {
        "ok": state.ok,
        "complete": state.complete,
        "halted": state.halted,
        "counts": dict(state.by_state),
        "leaves": list(_rows(state, goal)),
        "conflicts": _plain(state.conflicts),
        "broken": _plain(state.broken),
        "checks": _plain(state.checks),
        "innocent": state.innocent,
        "merged": state.merged,
        "result": _plain(state.result),
        "may_have_run_twice": _plain(state.may_have_run_twice),
        "work_tree": state.work_tree,
        "outside": _plain(state.outside),
    }


def recorded_document(found: RecordedPlan) -> dict[str, Any]:
    """The same, with what only a journal knows."""
    return {
        "run": found.run.id,
        "name": found.run.name,
        "status": found.run.status,
        "goal": found.goal,
        "base": found.base.commit,
        **document_of(found.state, found.goal),
        "scorecard": msgspec.to_builtins(found.split.scorecard),
        "failures": {step.span.key: step.error for step in found.failures},
    }


def _rows(state: PlanState, goal: str) -> Iterator[Row]:
    for leaf in state.leaves:
        row = {name: _plain(value) for name, value in _row(leaf, state, goal).items()}
        yield {name: value for name, value in row.items() if value is not None}


def _row(leaf: LeafState, state: PlanState, goal: str) -> Row:
    node, last = leaf.node, leaf.last
    row: Row = {
        "id": node.id, "title": node.title, "goal": node.goal or goal, "parent": node.parent,
        "depth": node.depth, "after": node.after, "files": leaf.files, "tokens": node.tokens,
        "state": leaf.state, "reason": leaf.reason or None, "tries": leaf.tries,
        "changed": leaf.changed, "deleted": leaf.deleted, "requests": leaf.requests,
        "conflicts": leaf.conflicts, "kept": leaf.kept,
    }  # fmt: skip
    if state.result is not None:
        row["in_result"] = int(node.id in state.result.leaves)
    if last is not None:
        row |= {"verified": last.verified, "said": last.said, "seconds": last.seconds}
        row["subplans"] = last.subplans or None
    if leaf.spans:
        row |= {"starts": leaf.starts, "queued_s": leaf.queued_s, "ran_s": leaf.ran_s}
        row |= call_columns(leaf.calls)
        row["started_at"] = moment(leaf.spans[0].start)
        row["ended_at"] = moment(leaf.spans[-1].end)
    return row


def _plain(value: Any) -> Any:
    """Plain data. File names need not be valid Unicode; what other programs read is."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {_plain(name): _plain(each) for name, each in value.items()}
    return _plain(msgspec.to_builtins(value)) if isinstance(value, msgspec.Struct) else value
