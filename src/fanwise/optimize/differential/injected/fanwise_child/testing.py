"""A program: writes a call down, as tests that say what the original does.

Several, from the plainest to the most exact: which of them fails on a candidate is found out by
running them on both. It runs beside the original only, and reads how from stdin: the plan with
the one group of calls, which step of the last one differs, and in what.
"""

from __future__ import annotations

import inspect
import itertools
import json
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from . import scripts
from .finding import Found, find
from .kinds import Stream
from .outcome import MOST_ITEMS
from .pack import load_call
from .source import NoSource, Writer

Row = dict[str, Any]
_PAD = "    "


def main() -> None:
    """Print one line of JSON: the call, and the tests."""
    how = json.loads(sys.stdin.read())
    out, sys.stdout = sys.stdout, sys.stderr
    rows = [json.loads(line) for line in Path(how["plan"]).read_text().splitlines()]
    found = find(how)
    try:
        told = Teller(found, rows, how["step"], how["kind"]).tell()
    except NoSource as missing:
        told = {"call": "", "tests": [], "missing": str(missing)}
    out.write(json.dumps(told) + "\n")


class Teller:
    """Makes the calls once more, and writes down what it sees."""

    def __init__(self, found: Found, rows: list[Row], step: int, kind: str) -> None:
        self._found = found
        self._rows = rows
        self._step = step
        self._kind = kind
        self._writer = Writer()
        self._body: list[str] = []
        self._calls: list[str] = []

    def tell(self) -> dict[str, Any]:
        """The calls as one line, and the tests."""
        *before, last = self._rows
        for number, row in enumerate(before):
            for _ in range(2 if row["script"] == "again" else 1):
                self._plain_call(row, f"before_{number}")
        asserts = self._last(last)
        tests = [self._whole(each) for each in asserts]
        return {"call": "; ".join(self._calls), "tests": tests, "missing": ""}

    # --- the calls

    def _plain_call(self, row: Row, name: str) -> None:
        args, kwargs = load_call(row)
        call = self._written(args, kwargs)
        self._body += [f"{name} = {call}"]
        self._calls.append(self._inline(args, kwargs))
        try:
            value = self._made(args, kwargs)
            _drained(value)
        except BaseException:
            self._body[-1:] = ["try:", f"{_PAD}{call}", "except Exception:", f"{_PAD}pass"]
        else:
            if inspect.iscoroutine(value) or isinstance(value, Iterator):
                self._body[-1] = f"list({call})"

    def _last(self, row: Row) -> list[list[str]]:
        args, kwargs = load_call(row)
        script = row["script"]
        if script in ("again", "edited") and self._step == 1:
            return self._twice(args, kwargs, edit=script == "edited")
        if script == "spoilt" and self._step == 1:
            return self._after_spoiling(row)
        if script == "thread" and self._step > 0:
            return self._in_thread(row)
        if script == "inside":
            raise NoSource("a call from inside a call")
        return self._one(args, kwargs)

    def _one(self, args: list[Any], kwargs: dict[str, Any]) -> list[list[str]]:
        self._calls.append(self._inline(args, kwargs))
        call = self._written(args, kwargs, named=True)
        return self._outcome(call, args, kwargs)

    def _twice(self, args: list[Any], kwargs: dict[str, Any], *, edit: bool) -> list[list[str]]:
        self._calls += [self._inline(args, kwargs), "the same again"]
        call = self._written(args, kwargs, named=True)
        self._body.append(call)
        _quietly(lambda: _drained(self._made(args, kwargs)))
        if edit:
            self._help("edit")
            for each in self._names(args, kwargs):
                self._body.append(f"edit({each})")
            for value in [*args, *kwargs.values()]:
                scripts.edit(value)
        return self._outcome(call, args, kwargs)

    def _after_spoiling(self, row: Row) -> list[list[str]]:
        args, kwargs = load_call(row)
        self._calls += [self._inline(args, kwargs), "its result is changed", "the same again"]
        first = self._written(args, kwargs, named=True)
        self._help("spoil")
        self._body += [f"first = {first}", "spoil(first)"]
        self._body += [f"spoil({each})" for each in self._names(args, kwargs)]
        value = _quietly(lambda: self._made(args, kwargs))
        for each in [value, *args, *kwargs.values()]:
            scripts.spoil(each)
        fresh, named = load_call(row)
        call = self._written(fresh, named, named=True, suffix="_2")
        return self._outcome(call, fresh, named)

    def _in_thread(self, row: Row) -> list[list[str]]:
        self._plain_call(row, "here")
        args, kwargs = load_call(row)
        call = self._written(args, kwargs)
        self._writer.imports["import threading"] = None
        value = _quietly(lambda: scripts_in_thread(lambda: self._made(args, kwargs)))
        self._calls.append(f"in another thread {self._inline(args, kwargs)}")
        self._body += ["results = []"]
        self._body += [f"other = threading.Thread(target=lambda: results.append({call}))"]
        self._body += ["other.start()", "other.join()"]
        return [[f"assert repr(results[0]) == {repr(value)!r}"]]

    def _made(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        given = [each.open() if isinstance(each, Stream) else each for each in args]
        return self._found.own(*given, **kwargs)

    # --- how a call is written

    def _written(
        self, args: list[Any], kwargs: dict[str, Any], *, named: bool = False, suffix: str = ""
    ) -> str:
        writer = self._writer
        writer.share(*args, *kwargs.values())
        start = len(writer.lines)
        parts = [self._argument(each, f"arg_{i}{suffix}", named) for i, each in enumerate(args)]
        keys = [
            f"{name}={self._argument(each, f'{name}_given{suffix}', named)}"
            for name, each in kwargs.items()
        ]
        self._body += writer.lines[start:]
        return self._call_text(parts, keys)

    def _inline(self, args: list[Any], kwargs: dict[str, Any]) -> str:
        """The call for people, in one line."""
        writer = Writer()
        parts = [writer.text(each) for each in args]
        keys = [f"{name}={writer.text(each)}" for name, each in kwargs.items()]
        return self._call_text(parts, keys)

    def _argument(self, value: Any, name: str, named: bool) -> str:
        text = self._writer.text(value)
        if not named or not _is_mutable(value) or text.isidentifier():
            return text
        self._writer.lines.append(f"{name} = {text}")
        if not isinstance(value, Stream):
            self._writer.name(value, name)
        return name

    def _names(self, args: list[Any], kwargs: dict[str, Any]) -> list[str]:
        given = [each for each in [*args, *kwargs.values()] if _is_mutable(each)]
        return [self._writer.text(each) for each in given if not isinstance(each, Stream)]

    def _call_text(self, parts: list[str], keys: list[str]) -> str:
        found = self._found
        if inspect.isclass(found.owner) and not isinstance(found.raw, staticmethod) and parts:
            owner, *rest = parts
            return f"{owner}.{found.name}({', '.join([*rest, *keys])})"
        name = found.name
        if inspect.isclass(found.owner):
            name = f"{found.owner.__qualname__}.{name}"
        return f"{name}({', '.join([*parts, *keys])})"

    # --- what came of it

    def _outcome(self, call: str, args: list[Any], kwargs: dict[str, Any]) -> list[list[str]]:
        out, err = StringIO(), StringIO()
        self._before_globals = {name: repr(value) for name, value in _data(self._found)}
        raised: BaseException | None = None
        value: Any = None
        with (
            redirect_stdout(out),
            redirect_stderr(err),
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            try:
                value = self._made(args, kwargs)
                if inspect.iscoroutine(value):
                    import asyncio

                    self._writer.imports["import asyncio"] = None
                    call = f"asyncio.run({call})"
                    value = asyncio.run(value)
                lazy = isinstance(value, Iterator)
                items = list(itertools.islice(value, MOST_ITEMS)) if lazy else []
            except BaseException as error:
                raised, lazy, items = error, False, []
        if raised is not None:
            return self._raising(call, raised)
        if self._kind == "stdout":
            return self._printing(call, out.getvalue(), err.getvalue(), warned)
        if self._kind == "globals":
            return self._changing(call)
        if lazy:
            return self._lazy(call, items, args)
        return self._returning(call, value, args, kwargs)

    def _raising(self, call: str, error: BaseException) -> list[list[str]]:
        kind = type(error)
        name = kind.__name__
        if kind.__module__ != "builtins":
            self._writer.imports[f"import {kind.__module__}"] = None
            name = f"{kind.__module__}.{kind.__qualname__}"
        start = [
            "try:", f"{_PAD}{call}", "except Exception as error:", f"{_PAD}raised = error",
            "else:", f"{_PAD}raised = None",
        ]  # fmt: skip
        plain = [*start, f"assert type(raised) is {name}"]
        return [plain, [*plain, f"assert str(raised) == {str(error)!r}"]]

    def _printing(self, call: str, out: str, err: str, warned: Any) -> list[list[str]]:
        self._writer.imports["import contextlib"] = None
        self._writer.imports["import io"] = None
        found = []
        for name, text in (("stdout", out), ("stderr", err)):
            lines = ["printed = io.StringIO()", f"with contextlib.redirect_{name}(printed):"]
            found.append([*lines, f"{_PAD}{call}", f"assert printed.getvalue() == {text!r}"])
        self._writer.imports["import warnings"] = None
        told = [str(each.message) for each in warned]
        lines = ["with warnings.catch_warnings(record=True) as warned:"]
        lines += [f'{_PAD}warnings.simplefilter("always")', f"{_PAD}{call}"]
        return [*found, [*lines, f"assert [str(each.message) for each in warned] == {told!r}"]]

    def _changing(self, call: str) -> list[list[str]]:
        module = self._found.module.__name__
        self._writer.imports[f"import {module}"] = None
        after = {name: repr(value) for name, value in _data(self._found)}
        changed = [name for name in after if after[name] != self._before_globals.get(name)]
        changed += [name for name in after if name not in changed]
        return [[call, f"assert repr({module}.{name}) == {after[name]!r}"] for name in changed[:10]]

    def _lazy(self, call: str, items: list[Any], args: list[Any]) -> list[list[str]]:
        found = [[f"result = {call}", "assert iter(result) is result"]]
        start = [f"result = {call}", f"items = [*itertools.islice(result, {MOST_ITEMS})]"]
        found += [[*start, wanted] for wanted in self._equal("items", items)]
        self._writer.imports["import itertools"] = None
        if any(isinstance(each, Stream) for each in args):
            found += self._laziness(call, args)
        if len({id(each) for each in items}) > 1 and all(map(_is_mutable, items)):
            found.append([f"items = [*{call}]", "assert len({id(each) for each in items}) > 1"])
        return found

    def _laziness(self, call: str, args: list[Any]) -> list[list[str]]:
        """What has been read from a stream before the first item, and by then."""
        self._writer.helpers["reading"] = (
            "def reading(items, taken):\n    for each in items:\n"
            "        taken.append(each)\n        yield each"
        )
        found = []
        for steps in (0, 1, 2):
            taken = self._read(args, steps)
            lines = [f"result = {call}", *["next(result, None)"] * steps]
            found.append(["#taken", *lines, f"assert len(taken) == {taken}"])
        return found

    def _read(self, args: list[Any], steps: int) -> int:
        given = [Stream(each.items) if isinstance(each, Stream) else each for each in args]
        value = self._made(given, {})
        for _ in range(steps):
            next(value, None)
        streams = [each.taken for each in given if isinstance(each, Stream)]
        return sum(each if each >= 0 else -1 - each for each in streams)

    def _returning(
        self, call: str, value: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> list[list[str]]:
        given = list(zip(self._names(args, kwargs), _mutable(args, kwargs), strict=False))
        same = [(name, each) for name, each in given if each is value]
        result = [f"result = {call}", *(f"assert result is {name}" for name, _ in same)]
        found = [] if same else [[*result, each] for each in self._equal("result", value)]
        found += [result] if same else []
        for name, each in given:
            found += [[call, wanted] for wanted in self._equal(name, each, known=False)]
        for name, each in given:
            if each is not value:
                found.append([*result, f"assert result is not {name}"])
        if isinstance(value, list) and len(value) > 1 and all(map(_is_mutable, value)):
            count = len({id(each) for each in value})
            wanted = "assert len({id(each) for each in result}) == "
            found.append([f"result = {call}", f"{wanted}{count}"])
        return found

    def _equal(self, name: str, value: Any, *, known: bool = True) -> Iterator[str]:
        """Ways to say that it is equal, the plainest first."""
        fresh = Writer()
        try:
            text = fresh.text(value)
        except NoSource:
            text = ""
        if text and not fresh.helpers and value == value:
            self._writer.imports.update(fresh.imports)
            yield f"assert {name} == {text}" if value is not None else f"assert {name} is None"
        yield f"assert type({name}) is {_type_name(value, self._writer)}"
        if "0x" not in repr(value):
            yield f"assert repr({name}) == {repr(value)!r}"
        if hasattr(value, "__dict__") and "0x" not in repr(vars(value)):
            yield f"assert repr(vars({name})) == {repr(vars(value))!r}"

    def _help(self, name: str) -> None:
        text = inspect.getsource(getattr(scripts, name))
        plain = re.sub(r'\n    """.*?"""', "", text, flags=re.S).replace(
            "SPOILT", repr(scripts.SPOILT)
        )
        self._writer.helpers[name] = re.sub(r": (Any|int)|\s*-> None", "", plain).rstrip()

    # --- the file

    def _whole(self, lines: list[str]) -> str:
        body, lines = list(self._body), list(lines)
        if lines[:1] == ["#taken"]:
            body = ["taken = []", *(_STREAM.sub(r"\1 = reading(\2, taken)", line) for line in body)]
            lines = lines[1:]
        needed = dict.fromkeys(sorted(self._writer.imports))
        owner = self._found.name
        if inspect.isclass(self._found.owner):
            owner = self._found.owner.__qualname__.partition(".")[0]
        text = "\n".join([*body, *lines])
        head = [each for each in needed if re.search(rf"\b{each.split()[-1]}\b", text)]
        head.append(f"from {self._found.module.__name__} import {owner}")
        helpers = [each for name, each in self._writer.helpers.items() if f"{name}(" in text]
        name = re.sub(r"\W+", "_", self._found.name.lower()).strip("_")
        case = [
            f"def test_{name}_does_what_it_did():",
            *(f"{_PAD}{each}" for each in [*body, *lines]),
        ]
        return "\n\n\n".join(["\n".join(head), *helpers, "\n".join(case)]) + "\n"


_STREAM = re.compile(r"^(arg_\d+\w*) = \(each for each in (.*)\)$")


def scripts_in_thread(work: Any) -> Any:
    """What a function returns in another thread."""
    import threading

    results: list[Any] = []
    other = threading.Thread(target=lambda: results.append(work()))
    other.start()
    other.join()
    return results[0]


def _quietly(work: Any) -> Any:
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            return work()
    except BaseException:
        raise NoSource("a first call that raises") from None


def _drained(value: Any) -> Any:
    return list(itertools.islice(value, MOST_ITEMS)) if isinstance(value, Iterator) else value


def _data(found: Found) -> list[tuple[str, Any]]:
    return [
        (name, value)
        for name, value in vars(found.module).items()
        if not name.startswith("__") and not callable(value) and not inspect.ismodule(value)
    ]


def _mutable(args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    return [
        each
        for each in [*args, *kwargs.values()]
        if _is_mutable(each) and not isinstance(each, Stream)
    ]


def _is_mutable(value: Any) -> bool:
    if isinstance(value, list | dict | set | bytearray | Stream):
        return True
    return hasattr(value, "__dict__") and not callable(value)


def _type_name(value: Any, writer: Writer) -> str:
    kind = type(value)
    if value is None:
        return "type(None)"
    if kind.__module__ == "builtins" and not inspect.isgenerator(value):
        return kind.__name__
    writer.imports[f"import {kind.__module__}"] = None
    return f"{kind.__module__}.{kind.__qualname__}"


if __name__ == "__main__":
    main()
