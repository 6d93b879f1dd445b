"""What the original does in a call, as the ends of tests: from the plainest to the most exact."""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from types import FunctionType
from typing import Any

from . import call_scripts
from .argument_kinds import StreamArgument, opened
from .find_function import TargetFunction
from .outcome import MOST_ITEMS
from .test_text import PAD, TAKEN, TestText
from .value_source import NoSource, SourceWriter, is_mutable

Lines = list[str]
Arguments = tuple[list[Any], dict[str, Any]]


def make(found: TargetFunction, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call the function, with a generator for each stream."""
    return found.own(*opened(args), **kwargs)


def ends(
    body: TestText, call: str, args: list[Any], kwargs: dict[str, Any], kind: str
) -> list[Lines]:
    """Make the call, and write down ways to say what it did; `kind` is what differs."""
    seen = _ObservedCall(body, args, kwargs)
    if seen.awaited:
        body.writer.imports["import asyncio"] = None
        call = f"asyncio.run({call})"
    if seen.raised is not None:
        return _raising(body, call, seen.raised)
    if kind == "stdout":
        return _printing(body, call, seen)
    if kind == "globals":
        return _changing(body, call, seen)
    if seen.lazy:
        return _lazy(body, call, seen, args)
    return _returning(body, call, seen.value, args, kwargs)


class _ObservedCall:
    def __init__(self, body: TestText, args: list[Any], kwargs: dict[str, Any]) -> None:
        self.out, self.err = StringIO(), StringIO()
        self.before = _data(body.found)
        self.value: Any = None
        self.items: list[Any] = []
        self.lazy = self.awaited = False
        self.raised: BaseException | None = None
        kept = warnings.catch_warnings(record=True)
        with redirect_stdout(self.out), redirect_stderr(self.err), kept as warned:
            warnings.simplefilter("always")
            try:
                self._make(body.found, args, kwargs)
            except BaseException as error:  # whatever it raises is what it does
                self.raised = error
        self.warned = [str(each.message) for each in warned or ()]

    def _make(self, found: TargetFunction, args: list[Any], kwargs: dict[str, Any]) -> None:
        value = make(found, args, kwargs)
        if inspect.iscoroutine(value):
            import asyncio

            self.awaited = True
            value = asyncio.run(value)
        self.value = value
        self.lazy = isinstance(value, Iterator)
        if self.lazy:
            self.items = list(itertools.islice(value, MOST_ITEMS))


def _raising(body: TestText, call: str, error: BaseException) -> list[Lines]:
    start = [
        "try:", f"{PAD}{call}", "except Exception as error:", f"{PAD}raised = error",
        "else:", f"{PAD}raised = None",
    ]  # fmt: skip
    plain = [*start, f"assert type(raised) is {_type_name(error, body.writer)}"]
    return [plain, [*plain, f"assert str(raised) == {str(error)!r}"]]


def _printing(body: TestText, call: str, seen: _ObservedCall) -> list[Lines]:
    for name in ("contextlib", "io", "warnings"):
        body.writer.imports[f"import {name}"] = None
    found = []
    for name, text in (("stdout", seen.out), ("stderr", seen.err)):
        lines = ["printed = io.StringIO()", f"with contextlib.redirect_{name}(printed):"]
        found.append([*lines, f"{PAD}{call}", f"assert printed.getvalue() == {text.getvalue()!r}"])
    lines = ["with warnings.catch_warnings(record=True) as warned:"]
    lines += [f'{PAD}warnings.simplefilter("always")', f"{PAD}{call}"]
    return [*found, [*lines, f"assert [str(each.message) for each in warned] == {seen.warned!r}"]]


def _changing(body: TestText, call: str, seen: _ObservedCall) -> list[Lines]:
    module = body.found.module.__name__
    body.writer.imports[f"import {module}"] = None
    after = _data(body.found)
    names = sorted(after, key=lambda name: after[name] == seen.before.get(name))
    plain = [name for name in names if "0x" not in after[name]]
    return [[call, f"assert repr({module}.{name}) == {after[name]!r}"] for name in plain[:10]]


def _lazy(body: TestText, call: str, seen: _ObservedCall, args: list[Any]) -> list[Lines]:
    body.writer.imports["import itertools"] = None
    found = [[f"result = {call}", "assert iter(result) is result"]]
    start = [f"result = {call}", f"items = [*itertools.islice(result, {MOST_ITEMS})]"]
    found += [[*start, wanted] for wanted in _equal(body.writer, "items", seen.items)]
    if any(isinstance(each, StreamArgument) for each in args):
        for steps in range(3):
            lines = [f"result = {call}", *["next(result, None)"] * steps]
            read = _read(body.found, args, steps)
            found.append([TAKEN, *lines, f"assert len(taken) == {read}"])
    if len({id(each) for each in seen.items}) > 1 and all(map(is_mutable, seen.items)):
        found.append([f"items = [*{call}]", "assert len({id(each) for each in items}) > 1"])
    return found


def _read(found: TargetFunction, args: list[Any], steps: int) -> int:
    """How often the streams were asked, when so many items had come."""
    given = [
        StreamArgument(each.items) if isinstance(each, StreamArgument) else each for each in args
    ]
    value = make(found, given, {})
    for _ in range(steps):
        next(value, None)
    taken = [each.taken for each in given if isinstance(each, StreamArgument)]
    return sum(each if each >= 0 else -each for each in taken)


def _returning(
    body: TestText, call: str, value: Any, args: list[Any], kwargs: dict[str, Any]
) -> list[Lines]:
    given = body.names(args, kwargs)
    result = f"result = {call}"
    same = [name for name, each in given if each is value]
    if same:
        return [[result, f"assert result is {same[0]}"], *_left(body, call, given)]
    found = [[result, wanted] for wanted in _equal(body.writer, "result", value)]
    found += _functions(result, value)
    found += _left(body, call, given)
    found += [[result, f"assert result is not {name}"] for name, _ in given]
    if isinstance(value, list) and len(value) > 1 and all(map(is_mutable, value)):
        count = len({id(each) for each in value})
        found.append([result, f"assert len({{id(each) for each in result}}) == {count}"])
    return found + _apart(body, result, value, given)


def _left(body: TestText, call: str, given: list[tuple[str, Any]]) -> list[Lines]:
    """Ways to say what the call did to its arguments."""
    return [[call, wanted] for name, each in given for wanted in _equal(body.writer, name, each)]


def _functions(result: str, value: Any) -> list[Lines]:
    """A returned function is compared by what it returns."""
    if not isinstance(value, list) or not value:
        return []
    if not all(isinstance(each, FunctionType) for each in value):
        return []
    try:
        answers = [each(1) for each in value]
    except Exception:
        return []
    return [[result, f"assert [each(1) for each in result] == {answers!r}"]]


def _apart(body: TestText, result: str, value: Any, given: list[tuple[str, Any]]) -> list[Lines]:
    """Whoever changes the result does not change what it was made from."""
    if not isinstance(value, list | dict | set):
        return []
    before = [(name, [*_equal(body.writer, name, each)]) for name, each in given]
    call_scripts.spoil(value)
    if before != [(name, [*_equal(body.writer, name, each)]) for name, each in given]:
        return []
    body.help("spoil")
    return [[result, "spoil(result)", wanted] for _, ways in before for wanted in ways]


def _equal(writer: SourceWriter, name: str, value: Any) -> Iterator[str]:
    """Ways to say that it is equal, the plainest first."""
    fresh = SourceWriter()
    try:
        text = fresh.text(value)
    except NoSource:
        text = ""
    if text and not fresh.helpers and _equals_itself(value):
        writer.imports.update(fresh.imports)
        yield f"assert {name} == {text}" if value is not None else f"assert {name} is None"
    yield f"assert type({name}) is {_type_name(value, writer)}"
    if "0x" not in repr(value):
        yield f"assert repr({name}) == {repr(value)!r}"
    if hasattr(value, "__dict__") and "0x" not in repr(vars(value)):
        yield f"assert repr(vars({name})) == {repr(vars(value))!r}"


def _equals_itself(value: Any) -> bool:
    try:
        return bool(value == value)
    except Exception:  # an array answers with an array
        return False


def _data(found: TargetFunction) -> dict[str, str]:
    return {
        name: repr(value)
        for name, value in vars(found.module).items()
        if not name.startswith("__") and not callable(value) and not inspect.ismodule(value)
    }


def _type_name(value: Any, writer: SourceWriter) -> str:
    kind = type(value)
    if value is None:
        return "type(None)"
    if kind.__module__ == "builtins":
        return kind.__name__
    writer.imports[f"import {kind.__module__}"] = None
    return f"{kind.__module__}.{kind.__qualname__}"
