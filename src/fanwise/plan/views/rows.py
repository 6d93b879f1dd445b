"""A run for other programs: one row for each leaf, and all of it as one document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from fanwise.plan.state.recorded import Leaf, Recorded
from fanwise.view.calls import COLUMNS as CALL_COLUMNS
from fanwise.view.calls import call_columns
from fanwise.view.table import Kind, Row, Table
from fanwise.view.times import moment

COLUMNS: dict[str, Kind] = {
    "id": "text", "title": "text", "goal": "text", "parent": "text", "depth": "integer",
    "after": "json", "files": "json", "tokens": "integer", "state": "text", "why": "text",
    "verified": "text", "tries": "json", "said": "text", "changed": "json", "requests": "json",
    "conflicts": "json", "subplans": "json", "kept": "text", "in_result": "integer",
    "starts": "integer", "queued_s": "number", "ran_s": "number", **CALL_COLUMNS,
    "started_at": "moment", "ended_at": "moment",
}  # fmt: skip
"""All that a row can have, in the order of a table."""


def leaf_table(found: Recorded) -> Table:
    """Every leaf, in the order of the tree; those that returned sub-plans too."""
    return Table("leaves", COLUMNS, _rows(found))


def document_of(found: Recorded) -> dict[str, Any]:
    """All of it as plain data."""
    joined = found.joined
    return {
        "run": found.run.id,
        "name": found.run.name,
        "status": found.run.status,
        "goal": found.goal,
        "base": found.base,
        "counts": dict(Counter(each.state for each in found.leaves.values())),
        "scorecard": msgspec.to_builtins(found.split.scorecard),
        "leaves": list(_rows(found)),
        "conflicts": msgspec.to_builtins(joined.conflicts),
        "taken": msgspec.to_builtins(joined.taken),
        "broken": msgspec.to_builtins(joined.broken),
        "checks": msgspec.to_builtins(joined.checks),
        "result": msgspec.to_builtins(joined.result),
        "failures": {step.key: step.error for step in joined.failures},
    }


def _rows(found: Recorded) -> Iterator[Row]:
    for leaf in found.leaves.values():
        row = {name: _plain(value) for name, value in _row(leaf, found).items()}
        yield {name: value for name, value in row.items() if value is not None}


def _row(leaf: Leaf, found: Recorded) -> Row:
    node, change, result = leaf.node, leaf.change, found.joined.result
    last = leaf.again or leaf.ended
    row: Row = {
        "id": node.id, "title": node.title, "goal": node.goal or found.goal, "parent": node.parent,
        "depth": node.depth, "after": list(node.after), "files": list(node.files),
        "tokens": node.tokens, "state": leaf.state, "why": leaf.why or None,
        "tries": msgspec.to_builtins(leaf.tries), "changed": sorted(change.files) if change else [],
        "requests": msgspec.to_builtins(leaf.requests),
        "conflicts": msgspec.to_builtins(leaf.conflicts), "kept": leaf.kept,
        "starts": leaf.starts, "queued_s": leaf.queued_s, "ran_s": leaf.ran_s,
        **call_columns(leaf.calls),
    }  # fmt: skip
    if result is not None:
        row["in_result"] = int(node.id in result.leaves)
    if last is not None:
        row |= {"verified": last.verified, "said": last.said}
        row["subplans"] = msgspec.to_builtins(last.subplans) or None
    if leaf.spans:
        row["started_at"] = moment(leaf.spans[0].start)
        row["ended_at"] = moment(leaf.spans[-1].end)
    return row


def _plain(value: Any) -> Any:
    """Names of files need not be Unicode; what other programs read is."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {_plain(name): _plain(each) for name, each in value.items()}
    return value
