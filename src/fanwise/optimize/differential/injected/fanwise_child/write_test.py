"""A program: writes calls down, as tests that say what the original does.

Several, from the plainest to the most exact: which of them fails on a candidate is found out by
running them on both. It runs beside the original only, and reads how from stdin: the plan with
the one group of calls, which step of the last one differs, and in what.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from . import call_scripts
from .argument_kinds import StreamArgument
from .asserts import Lines, ends, make
from .find_function import TargetFunction, find
from .outcome import MOST_ITEMS
from .pickling import load_call
from .test_text import PAD, TestText
from .value_source import NoSource

Row = dict[str, Any]


def main() -> None:
    how = json.loads(sys.stdin.read())
    out, sys.stdout = sys.stdout, sys.stderr
    rows = [json.loads(line) for line in Path(how["plan"]).read_text().splitlines()]
    found = find(how)
    try:
        told = TestWriter(found, how["step"], how["kind"]).tell(rows)
    except NoSource as missing:
        told = {"call": "", "tests": [], "missing": str(missing)}
    out.write(json.dumps(told) + "\n")


class TestWriter:
    """Makes the calls once more, and writes tests of what they do."""

    def __init__(self, found: TargetFunction, step: int, kind: str) -> None:
        self._found = found
        self._step = step
        self._kind = kind
        self._body = TestText(found)

    def tell(self, rows: list[Row]) -> dict[str, Any]:
        *before, last = rows
        for number, row in enumerate(before):
            self._before(row, f"before_{number}")
        found = self._last(last)
        tests = [self._body.whole(each) for each in found]
        return {"call": "; ".join(self._body.calls), "tests": tests, "missing": ""}

    def _before(self, row: Row, name: str) -> None:
        """Write a call that comes before the differing one."""
        args, kwargs = self._first(row, name)
        if row["script"] == "spoilt":
            self._spoil(name, args, kwargs)
        if row["script"] != "once":
            self._first(row, name)

    def _first(self, row: Row, name: str) -> tuple[list[Any], dict[str, Any]]:
        args, kwargs = load_call(row)
        call = self._body.call(args, kwargs)
        self._body.tell(args, kwargs)
        try:
            value = _quiet(lambda: make(self._found, args, kwargs))
        except BaseException:
            lines = ["try:", f"{PAD}{call}", "except Exception:", f"{PAD}pass"]
        else:
            lines = [f"{name} = {call}"]
            if isinstance(value, Iterator):
                lines = [f"{name} = [*{call}]"]
                _drained(value)
        self._body.lines += lines
        self._value = None if len(lines) > 1 else value
        return args, kwargs

    def _last(self, row: Row) -> list[Lines]:
        script, later = row["script"], self._step > 0
        if script == "spoilt" and later:
            self._before({**row, "script": "once"}, "first")
            self._spoil("first", *load_call(row))
        elif script == "thread" and later:
            return self._in_thread(row)
        elif script in ("again", "edited") and later:
            return self._twice(row)
        elif script == "inside":
            return self._inside(row)
        return self._one(*load_call(row))

    def _one(self, args: list[Any], kwargs: dict[str, Any]) -> list[Lines]:
        self._body.tell(args, kwargs)
        call = self._body.call(args, kwargs, named=True)
        return ends(self._body, call, args, kwargs, self._kind)

    def _spoil(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Change what was returned. That the arguments were changed too matters rarely."""
        self._body.help("spoil")
        self._body.lines.append(f"spoil({name})")
        self._body.calls.append("its result is changed")
        call_scripts.spoil(self._value)

    def _twice(self, row: Row) -> list[Lines]:
        args, kwargs = load_call(row)
        self._body.tell(args, kwargs)
        self._body.calls.append("the same again")
        call = self._body.call(args, kwargs, named=True)
        self._body.lines.append(call)
        try:
            _quiet(lambda: _drained(make(self._found, args, kwargs)))
        except BaseException:
            raise NoSource("a first call that raises") from None
        if row["script"] == "edited":
            self._body.help("edit")
            self._body.lines += [f"edit({name})" for name, _ in self._body.names(args, kwargs)]
            for value in [*args, *kwargs.values()]:
                call_scripts.edit(value)
        return ends(self._body, call, args, kwargs, self._kind)

    def _in_thread(self, row: Row) -> list[Lines]:
        self._before({**row, "script": "once"}, "here")
        args, kwargs = load_call(row)
        call = self._body.call(args, kwargs)
        self._body.tell(args, kwargs, "in another thread ")
        self._body.writer.imports["import threading"] = None
        results: list[Any] = []
        other = threading.Thread(target=lambda: results.append(make(self._found, args, kwargs)))
        other.start()
        other.join()
        lines = ["results = []"]
        lines += [f"other = threading.Thread(target=lambda: results.append({call}))"]
        lines += ["other.start()", "other.join()"]
        return [[*lines, f"assert repr(results) == {repr(results)!r}"]]

    def _inside(self, row: Row) -> list[Lines]:
        """A stream that calls the function when it is read."""
        args, kwargs = load_call(row)
        inner = self._body.call(*load_call(row))
        place = next(i for i, each in enumerate(args) if isinstance(each, StreamArgument))
        items = self._body.writer.text(args[place].items)
        self._body.tell(args, kwargs, "with the same call inside it ")
        self._body.lines += [
            "def entering():", f"{PAD}for number, item in enumerate({items}):",
            f"{PAD * 2}if number == 1:", f"{PAD * 3}{inner}", f"{PAD * 2}yield item",
        ]  # fmt: skip
        args[place] = call_scripts.Entering(
            args[place].items, lambda: make(self._found, *load_call(row))
        )
        self._body.writer.name(args[place], "entering()")
        call = self._body.call(args, kwargs, named=True)
        return ends(self._body, call, args, kwargs, self._kind)


def _quiet(work: Callable[[], Any]) -> Any:
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        return work()


def _drained(value: Any) -> Any:
    return list(itertools.islice(value, MOST_ITEMS)) if isinstance(value, Iterator) else value


if __name__ == "__main__":
    main()
