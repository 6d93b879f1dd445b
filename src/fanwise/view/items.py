"""The items of a run in item order, each with its recorded input or its attempts.

If the run recorded inputs, as a map does its lines, those that have not started are entries too.
An input belongs to the item with its index or, `by key`, to the item whose key is its text: after a
resume with an edited input, a recorded item may have moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

import msgspec

from fanwise.journal.port import (
    JOINED,
    AttemptRecord,
    FanOutRecord,
    InputRecord,
    ItemRecord,
    Journal,
)

PAGE = 500
"""How many items' attempts are read at once."""


Inputs = Literal["", "by index", "by key"]
"""Whether the journal has the input of each item, and how to find it."""


def input_key(data: bytes) -> str:
    """The key of an input: its text, or the Python representation of bytes that are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return repr(data)


class ItemEntry(msgspec.Struct, frozen=True):
    """An item, or a recorded input that has not started."""

    item: ItemRecord | None
    line: InputRecord | None = None
    path: str | None = None
    """The path of the fan-out; None if the run recorded inputs, since then there is only one."""
    attempts: Sequence[AttemptRecord] = ()


def entries(journal: Journal, run_id: str, *, inputs: Inputs = "") -> Iterator[ItemEntry]:
    """Those of all fan-outs, one after the other."""
    fan_outs = journal.fan_outs(run_id)
    if inputs == "by key" and fan_outs:
        yield from _with_inputs_by_key(journal, run_id, fan_outs[0])
        return
    if inputs:
        items = _single_fan_out(journal, run_id, fan_outs[0]) if fan_outs else iter(())
        yield from _with_inputs(items, journal.inputs(run_id))
        return
    for fan_out in fan_outs:
        yield from _of_fan_out(journal, fan_out)


def _of_fan_out(
    journal: Journal, fan_out: FanOutRecord, keys: Sequence[str] | None = None
) -> Iterator[ItemEntry]:
    items = journal.items(fan_out.id, keys)
    while page := list(islice(items, PAGE)):
        by_key: dict[str, list[AttemptRecord]] = {}
        for attempt in journal.attempts(fan_out.id, [item.key for item in page]):
            by_key.setdefault(attempt.key, []).append(attempt)
        for item in page:
            yield ItemEntry(item, path=fan_out.path, attempts=by_key.get(item.key, ()))


def _single_fan_out(
    journal: Journal, run_id: str, fan_out: FanOutRecord, keys: Sequence[str] | None = None
) -> Iterator[ItemEntry]:
    """Without attempts, which a command has only if it was tried again or a worker made it."""
    if any(journal.events(run_id, JOINED)):
        return _of_fan_out(journal, fan_out, keys)
    return map(ItemEntry, journal.items(fan_out.id, keys))


def _with_inputs(items: Iterator[ItemEntry], inputs: Iterator[InputRecord]) -> Iterator[ItemEntry]:
    """Both are in item order."""
    found = next(items, None)
    for line in inputs:
        while found is not None and _index(found) < line.index:
            found = next(items, None)
        there = found is not None and _index(found) == line.index
        yield _with_line(found if there else None, line)


def _with_line(found: ItemEntry | None, line: InputRecord) -> ItemEntry:
    return (
        ItemEntry(None, line)
        if found is None
        else ItemEntry(found.item, line, None, found.attempts)
    )


def _index(entry: ItemEntry) -> int:
    assert entry.item is not None
    return entry.item.index


def _with_inputs_by_key(
    journal: Journal, run_id: str, fan_out: FanOutRecord
) -> Iterator[ItemEntry]:
    """An item without an input belongs to an earlier input, and is left out."""
    inputs = journal.inputs(run_id)
    while page := list(islice(inputs, PAGE)):
        keys = [input_key(line.data) for line in page]
        found = _single_fan_out(journal, run_id, fan_out, keys)
        items = {each.item.key: each for each in found if each.item is not None}
        for key, line in zip(keys, page, strict=True):
            yield _with_line(items.get(key), line)
