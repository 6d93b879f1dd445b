"""A program: prints smaller ones of a group of calls, each a group of its own.

It runs beside the original only. Which of them still differ is found out by making them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .argument_kinds import StreamArgument
from .find_function import find
from .pickling import dumps, load_call, to_text
from .plan import in_front
from .value_source import NoSource, SourceWriter
from .variations import Member, places, put

_MOST = 48
_ELEMENTS = 10
Row = dict[str, Any]


def main() -> None:
    how = json.loads(sys.stdin.read())
    rows = [json.loads(line) for line in Path(how["plan"]).read_text().splitlines()]
    out, sys.stdout = sys.stdout, sys.stderr
    skip = in_front(find(how))
    number = 0
    for group, smaller in enumerate(_chosen(rows, skip)):
        for row in smaller:
            number += 1
            out.write(
                json.dumps({**row, "id": number, "group": group, "size": size(smaller)}) + "\n"
            )


def _chosen(rows: list[Row], skip: int) -> list[list[Row]]:
    """The smallest of the smaller ones; all of them would take too long."""
    known = {_identity(rows)}
    found = [rows]
    now = size(rows)
    for smaller in _smaller(rows, skip):
        identity = _identity(smaller)
        if identity not in known and size(smaller) < now:
            known.add(identity)
            found.append(smaller)
    return sorted(found, key=size)[:_MOST] if len(found) > 1 else found


def _identity(rows: list[Row]) -> str:
    return json.dumps([[row["script"], row["call"]] for row in rows])


def size(rows: list[Row]) -> int:
    """How long the calls are to read."""
    total = 0
    for row in rows:
        total += {"once": 40, "again": 60}.get(row["script"], 120) + 2 * _length(row)
    return total


def _length(row: Row) -> int:
    args, kwargs = load_call(row)
    writer = SourceWriter()
    try:
        return sum(len(writer.text(each)) for each in [*args, *kwargs.values()])
    except NoSource:
        return len(row["call"])


def _smaller(rows: list[Row], skip: int) -> Iterator[list[Row]]:
    if len(rows) > 1:
        yield rows[-1:]
        half = len(rows) // 2
        yield rows[half:]
        yield [*rows[:half], rows[-1]]
        for number in range(len(rows) - 1) if len(rows) <= 12 else ():
            yield [*rows[:number], *rows[number + 1 :]]
            yield [rows[number], rows[-1]]
    for number, row in enumerate(rows) if len(rows) <= 3 else ():
        for smaller in _smaller_row(row, skip):
            yield [*rows[:number], smaller, *rows[number + 1 :]]


def _smaller_row(row: Row, skip: int) -> Iterator[Row]:
    for script in ("once", "again"):
        if row["script"] not in ("once", script):
            yield {**row, "script": script}
    args, kwargs = load_call(row)
    for name in kwargs:
        fresh, named = load_call(row)
        del named[name]
        yield from _packed(row, fresh, named)
    for place in places(args, kwargs, skip, _members, deep=4):
        for new in simpler(place.value):
            fresh, named = load_call(row)
            put(fresh, named, place.way, new)
            yield from _packed(row, fresh, named)


def _members(value: Any) -> Iterator[Member]:
    if isinstance(value, list | tuple) and len(value) <= _ELEMENTS:
        yield from (("item", i, each) for i, each in enumerate(value))
    elif isinstance(value, dict) and len(value) <= _ELEMENTS:
        yield from (("key", key, each) for key, each in value.items())
    elif isinstance(value, StreamArgument):
        yield "stream", "items", value.items


def _packed(row: Row, args: list[Any], kwargs: dict[str, Any]) -> Iterator[Row]:
    try:
        call = to_text(dumps((args, kwargs)))
    except Exception:  # it cannot be stored
        return
    yield {**{key: value for key, value in row.items() if key != "streams"}, "call": call}


def simpler(value: Any) -> Iterator[Any]:
    """Simpler values to try in its place."""
    kind = type(value)
    if kind is bool or value is None:
        return
    if isinstance(value, int):
        yield from (each for each in (0, 1, 2, int(value) // 2) if abs(each) < abs(value))
        if kind is not int:
            yield int(value)
    elif isinstance(value, str):
        yield from (value[:0], value[:1], value[: len(value) // 2], value[len(value) // 2 :])
    elif isinstance(value, float):
        yield from (each for each in (0.0, 1.0, 0.5) if len(repr(each)) < len(repr(value)))
    elif isinstance(value, list):
        yield from _shorter(value)
    elif isinstance(value, dict):
        yield from (dict(each) for each in _shorter(list(value.items())))
    elif isinstance(value, set | frozenset):
        yield from (kind(each) for each in _shorter(list(value)))
    elif isinstance(value, StreamArgument):
        yield value.items
    elif kind is tuple and len(value) > 3:
        yield from (tuple(each) for each in _shorter(list(value)))


def _shorter(value: list[Any]) -> Iterator[list[Any]]:
    half = len(value) // 2
    if value:
        yield []
        yield list(value[:half])
        yield list(value[half:])
        yield list(value)  # of a subclass: plainly
    if len(value) > 20:
        yield list(value[: len(value) * 3 // 4])
        yield list(value[:20])
    for number in range(len(value)) if len(value) <= _ELEMENTS else ():
        yield [*value[:number], *value[number + 1 :]]


if __name__ == "__main__":
    main()
