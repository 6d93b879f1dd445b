"""One line for each item of a run: its status, times and calls."""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.journal.call_totals import total
from fanwise.journal.port import ItemRecord, Journal
from fanwise.processes.result import bytes_to_json
from fanwise.view.calls import call_columns, item_calls
from fanwise.view.items import Inputs, ItemEntry, entries
from fanwise.view.terminal_text import terminal_line


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
    index = item.index if line is None else line.index
    return f"  {index:>6}  {item.status:<9}  {text}".rstrip()


def _times(item: ItemRecord) -> str:
    if item.ended_at is None:
        return ""
    return f"queued {item.queued_s:.3f} s  ran {item.ran_s:.3f} s  backoff {item.backoff_s:.3f} s"
