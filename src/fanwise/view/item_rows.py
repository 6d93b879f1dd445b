"""One row for each item of a run, in item order: what `export` writes and `map --json` prints.

Bytes that are not UTF-8 stand in base64 under another name, as in the journal. Items that the
journal knows only from the input are rows too, with the status `waiting`. An item that made calls
has what they came to, over all its attempts and executions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from fanwise.journal.call_totals import total
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import AttemptRecord, FanOutRecord, InputRecord, ItemRecord, Journal
from fanwise.processes import CommandResult
from fanwise.processes.result import bytes_to_json
from fanwise.view.calls import COLUMNS as CALL_COLUMNS
from fanwise.view.calls import call_columns
from fanwise.view.table import Kind, Row, Table
from fanwise.view.times import moment

PAGE = 500
"""Items whose attempts are read at once."""

COLUMNS: dict[str, Kind] = {
    "path": "text", "index": "integer", "key": "text", "input": "text", "input_base64": "text",
    "status": "text", "value": "json", "stdout": "text", "stdout_base64": "text",
    "stdout_path": "text", "stderr": "text", "stderr_base64": "text", "stderr_path": "text",
    "exit_code": "integer", "signal": "integer", "error": "text", "starts": "integer",
    "queued_s": "number", "ran_s": "number", "backoff_s": "number", **CALL_COLUMNS,
    "started_at": "moment", "ended_at": "moment",
}  # fmt: skip
"""All that a row can have, in the order of a table."""


def item_table(journal: Journal, run_id: str) -> Table:
    """All items of a run."""
    return Table("items", COLUMNS, item_rows(journal, run_id))


def item_rows(journal: Journal, run_id: str) -> Iterator[Row]:
    """The rows of all fan-outs, one after the other."""
    is_map = journal.run(run_id).kind == "map"
    fan_outs = journal.fan_outs(run_id)
    if is_map:
        items = journal.items(fan_outs[0].id) if fan_outs else iter(())
        yield from _with_inputs(items, journal.inputs(run_id))
        return
    for fan_out in fan_outs:
        yield from _of_fan_out(journal, fan_out)


def _of_fan_out(journal: Journal, fan_out: FanOutRecord) -> Iterator[Row]:
    items = journal.items(fan_out.id)
    while page := list(islice(items, PAGE)):
        made: dict[str, list[AttemptRecord]] = {}
        for attempt in journal.attempts(fan_out.id, [item.key for item in page]):
            made.setdefault(attempt.key, []).append(attempt)
        for item in page:
            attempts = made.get(item.key)
            calls = {} if attempts is None else call_columns(total(attempts))
            yield {"path": fan_out.path, **_row(item), **calls, **_value(item)}


def _with_inputs(items: Iterator[ItemRecord], inputs: Iterator[InputRecord]) -> Iterator[Row]:
    """Both are in item order; an item without a line belongs to an earlier, edited input."""
    item = next(items, None)
    for line in inputs:
        while item is not None and item.index < line.index:
            item = next(items, None)
        given = bytes_to_json("input", line.data)
        if item is None or item.index > line.index:
            yield {"index": line.index, "key": str(line.index), **given, "status": "waiting"}
        else:
            yield {**_row(item, given), **command_columns(item)}


def _row(item: ItemRecord, given: Row | None = None) -> Row:
    row: Row = {
        "index": item.index, "key": item.key, **(given or {}), "status": item.status,
        "starts": item.starts, "queued_s": item.queued_s, "ran_s": item.ran_s,
        "backoff_s": item.backoff_s, "started_at": moment(item.started_at),
        "ended_at": moment(item.ended_at),
    }  # fmt: skip
    if item.error is not None:
        row["error"] = str(decode_error(item.error))
    return row


def _value(item: ItemRecord) -> Row:
    return {} if item.value is None else {"value": JSON.decode(item.value)}


def command_columns(item: ItemRecord) -> Row:
    """What a command gave, as columns."""
    if item.value is None:
        return {}
    result = CommandResult.from_json(JSON.decode(item.value))
    row: Row = {"exit_code": result.exit_code, "signal": result.signal}
    for name, capture in (("stdout", result.stdout), ("stderr", result.stderr)):
        row |= bytes_to_json(name, capture.data)
        if capture.path is not None:
            row[f"{name}_path"] = capture.path
    return row
