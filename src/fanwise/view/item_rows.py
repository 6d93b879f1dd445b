"""One row for each item of a run, in item order: what `export` writes and `map --json` prints.

Bytes that are not UTF-8 are in base64, under another name, as in the journal. Recorded inputs whose
item has not started are rows too, with the status `waiting`. An item that made calls has their
totals over all attempts and executions.
"""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.journal.call_totals import total
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import ItemRecord, Journal
from fanwise.processes.result import Capture, bytes_to_json
from fanwise.view.calls import COLUMNS as CALL_COLUMNS
from fanwise.view.calls import call_columns, item_calls
from fanwise.view.items import Inputs, ItemEntry, entries
from fanwise.view.table import Kind, Row, Table
from fanwise.view.terminal_text import terminal_line
from fanwise.view.times import moment

COLUMNS: dict[str, Kind] = {
    "path": "text", "index": "integer", "key": "text", "input": "text", "input_base64": "text",
    "status": "text", "value": "json", "stdout": "text", "stdout_base64": "text",
    "stdout_path": "text", "stderr": "text", "stderr_base64": "text", "stderr_path": "text",
    "exit_code": "integer", "signal": "integer", "error": "text", "starts": "integer",
    "queued_s": "number", "ran_s": "number", "backoff_s": "number", **CALL_COLUMNS,
    "worker": "text",
    "started_at": "moment", "ended_at": "moment",
}  # fmt: skip
"""All columns of a row, in order."""


def item_table(journal: Journal, run_id: str, *, inputs: Inputs = "") -> Table:
    """All items of a run."""
    return Table("items", COLUMNS, item_rows(journal, run_id, inputs=inputs))


def item_rows(journal: Journal, run_id: str, *, inputs: Inputs = "") -> Iterator[Row]:
    """The rows of all fan-outs, one after the other."""
    return map(_row, entries(journal, run_id, inputs=inputs))


def _row(entry: ItemEntry) -> Row:
    item, line = entry.item, entry.line
    if line is None:
        assert item is not None
        calls = call_columns(total(entry.attempts)) if entry.attempts else {}
        value = {} if item.value is None else {"value": JSON.decode(item.value)}
        return {"path": entry.path} | _item(item) | calls | _by(entry) | value
    given = bytes_to_json("input", line.data)
    if item is None:
        return {"index": line.index, "key": str(line.index), **given, "status": "waiting"}
    return _item(item, given) | command_columns(item) | _by(entry) | {"index": line.index}


def _by(entry: ItemEntry) -> Row:
    workers = _workers(entry)
    return {} if workers is None else {"worker": workers}


def _workers(entry: ItemEntry) -> str | None:
    """Who made its attempts and calls, in the order in which they ended; None: the driver."""
    known = (each.worker for each in entry.attempts if each.worker is not None)
    return ", ".join(dict.fromkeys(known)) or None


def _item(item: ItemRecord, given: Row | None = None) -> Row:
    row: Row = {
        "index": item.index, "key": item.key, **(given or {}), "status": item.status,
        "starts": item.starts, "queued_s": item.queued_s, "ran_s": item.ran_s,
        "backoff_s": item.backoff_s, "started_at": moment(item.started_at),
        "ended_at": moment(item.ended_at),
    }  # fmt: skip
    if item.error is not None:
        row["error"] = str(decode_error(item.error))
    return row


def command_columns(item: ItemRecord) -> Row:
    """The result of a command, as columns."""
    if item.value is None:
        return {}
    result = JSON.decode(item.value)
    row: Row = {"exit_code": result["exit_code"], "signal": result["signal"]}
    for name in ("stdout", "stderr"):
        capture = result[name]
        if "data" in capture:
            row[name] = capture["data"]
        else:
            row[f"{name}_base64"] = capture["data_base64"]
        if "path" in capture or "path_base64" in capture:
            row[f"{name}_path"] = Capture.from_json(capture).path
    return row


def item_lines(journal: Journal, run_id: str, *, inputs: Inputs = "") -> Iterator[str]:
    """The lines, with a title."""
    yield "items"
    for entry in entries(journal, run_id, inputs=inputs):
        yield _line(entry)


def _line(entry: ItemEntry) -> str:
    item, line = entry.item, entry.line
    if line is not None:
        [name] = bytes_to_json("input", line.data).values()
    else:
        assert item is not None
        name = item.key
    if item is None:
        assert line is not None
        return f"  {line.index:>6}  waiting    {terminal_line(name)}"
    calls = item_calls(call_columns(total(entry.attempts))) if entry.attempts else ""
    text = f"{terminal_line(name)}  {_times(item)}  {calls}"
    if (workers := _workers(entry)) is not None:
        text = f"{text.rstrip()}  on {terminal_line(workers)}"
    index = item.index if line is None else line.index
    return f"  {index:>6}  {item.status:<9}  {text}".rstrip()


def _times(item: ItemRecord) -> str:
    if item.ended_at is None:
        return ""
    return f"queued {item.queued_s:.3f} s  ran {item.ran_s:.3f} s  backoff {item.backoff_s:.3f} s"
