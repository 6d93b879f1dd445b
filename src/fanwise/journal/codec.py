"""Values and errors as JSON text.

A value that is read back after a resume must equal the one that was returned, or the resumed
half of a run would see other data than the first half. So the rule is: it comes back equal, or
it is refused with `NotStorable`. One exception is made, for it is harmless and everywhere: a
tuple comes back as a list. Refused are sets, bytes, dates, dataclasses, objects, NaN and the
infinities, and dicts whose keys are not strings (JSON would turn 1 into "1").

The test is the thing itself: encode, decode, compare. All three are C, so that this is cheaper
than looking at each value in Python; that is done only to find out what was wrong.

Never pickle: a journal is data, and reading one must not execute what it says.
"""

from __future__ import annotations

import builtins
import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

import msgspec

from fanwise import errors
from fanwise.errors import FanwiseError, NotStorable, RecordedError, full_name

MOST_TEXT = 8_000
MOST_FIELD = 4_000
MOST_FIELDS = 20
MOST_CAUSES = 5
MOST_MEMBERS = 20
MOST_GROUP = 64_000


# Made once: this is the hot path.
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Codec(Protocol):
    """How values become JSON text, and text values again. Give your own to `open_run`."""

    def encode(self, value: Any) -> str:
        """JSON text; `NotStorable` for what this codec cannot write."""

    def decode(self, text: str) -> Any:
        """What `encode` was given, as far as JSON can hold it."""


class JsonCodec:
    """Plain data: None, bool, int, float, str, lists and dicts of them."""

    def encode(self, value: Any) -> str:
        try:
            encoded = _encode(value)
            if _decode(encoded) == value:
                return encoded.decode()
        except (TypeError, ValueError, OverflowError, RecursionError):
            pass
        return _encode_slowly(value)

    def decode(self, text: str) -> Any:
        try:
            return _decode(text)
        except msgspec.DecodeError:
            # Half of a surrogate pair, as in a file name that is not UTF-8; msgspec takes none.
            return json.loads(text)


JSON = JsonCodec()


def _encode_slowly(value: Any) -> str:
    """Tuples and lone surrogates; for all else, say what is wrong and where."""
    try:
        for where, problem in _problems(value, "the value"):
            raise NotStorable(where, _name(problem), _why(problem))
        return json.dumps(value, allow_nan=False)
    except RecursionError:
        raise NotStorable("the value", _name(value), "it is too deep, or holds itself") from None
    except NotStorable:
        raise
    except ValueError as error:
        raise NotStorable("the value", _name(value), str(error)) from error


def _problems(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """What JSON cannot hold, and where it is."""
    if value is None or isinstance(value, str | int):
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            yield where, value
    elif isinstance(value, list | tuple):
        for index, member in enumerate(value):
            yield from _problems(member, f"{where}[{index}]")
    elif isinstance(value, dict):
        for key, member in value.items():
            if not isinstance(key, str):
                yield f"a key of {where}", key
            yield from _problems(member, f"{where}[{key!r}]")
    else:
        yield where, value


def _why(problem: Any) -> str:
    if isinstance(problem, float) and not math.isfinite(problem):
        return f"it is {problem}"
    if problem is None or isinstance(problem, bool | int | float):
        return "it would come back as a str"
    return ""


def _name(thing: Any) -> str:
    cls = thing if isinstance(thing, type) else type(thing)
    return cls.__qualname__ if cls.__module__ == "builtins" else full_name(cls)


# Errors: as much as helps a person or a program later, never more than a few kilobytes, and
# without ever failing, for an error that cannot be recorded would be an error that is lost.


class Recorded(msgspec.Struct, omit_defaults=True):
    """An error as data: what is on disk."""

    type: str
    text: str = ""
    fields: dict[str, Any] = {}
    notes: list[str] = []
    cause: Recorded | None = None
    args: list[Any] | None = None
    """Of a built-in exception whose only argument is not its text; of a group, its message."""
    bases: list[str] = []
    """Known classes that an unknown one derives from."""
    members: list[Recorded] = []
    """Of a group."""


def _known() -> dict[str, type[Exception]]:
    found: dict[str, type[Exception]] = {}
    for cls in vars(builtins).values():
        # A group is made of its members, and has no other way to be made.
        if isinstance(cls, type) and issubclass(cls, Exception) and cls is not ExceptionGroup:
            found[cls.__name__] = cls
    for cls in vars(errors).values():
        if isinstance(cls, type) and issubclass(cls, FanwiseError) and cls is not RecordedError:
            found[full_name(cls)] = cls
    return found


GROUP = ExceptionGroup.__name__
KNOWN = _known()
"""Errors that are made again when they are read back: built-in ones, and fanwise's own."""


def encode_error(error: BaseException) -> str:
    """An error as JSON: type, text, public fields, notes, causes, members of a group."""
    try:
        return JSON.encode(msgspec.to_builtins(_record(error, MOST_CAUSES)))
    except Exception:
        return json.dumps({"type": _name(error), "text": _text(error)})


def decode_error(text: str) -> RecordedError:
    """What `encode_error` wrote, as data; `revive_error` makes of it what it was."""
    return _as_data(recorded_error(text))


def _as_data(recorded: Recorded) -> RecordedError:
    error = RecordedError(recorded.type, recorded.text, recorded.fields)
    for note in recorded.notes:
        error.add_note(note)
    if recorded.cause is not None:
        error.__cause__ = _as_data(recorded.cause)
    return error


def recorded_error(text: str) -> Recorded:
    """What `encode_error` wrote. Any text is read as something."""
    try:
        return msgspec.convert(JSON.decode(text), Recorded)
    except (ValueError, RecursionError):
        return Recorded("unknown error", text[:MOST_TEXT])


def _record(error: BaseException, depth: int) -> Recorded:
    if isinstance(error, RecordedError):
        recorded = Recorded(error.type_name, _cut(error.text), _fields(error.fields))
        recorded.bases = _bases(type(error))
    else:
        known = KNOWN.get(_name(error))
        recorded = Recorded(_name(error), _text(error), _fields(_own_fields(error, known)))
        if known is None:
            recorded.bases = _bases(type(error))
        elif not issubclass(known, FanwiseError):
            recorded.args = _arguments(known, error, recorded.text)
    if isinstance(error, ExceptionGroup) and recorded.type == GROUP and depth:
        recorded.args = [_cut(error.message)]
        recorded.members = list(_members(error, min(depth, 2) - 1))
    recorded.notes = [_cut(str(note)) for note in getattr(error, "__notes__", [])][:MOST_MEMBERS]
    if error.__cause__ is not None and depth:
        recorded.cause = _record(error.__cause__, depth - 1)
    return recorded


def _members(group: ExceptionGroup[Exception], depth: int) -> Iterator[Recorded]:
    """As many as there is room for; what the others were is in the text of the fields."""
    room = MOST_GROUP
    for member in group.exceptions[:MOST_MEMBERS]:
        recorded = _record(member, depth)
        room -= len(JSON.encode(msgspec.to_builtins(recorded)))
        if room < 0:
            return
        yield recorded


def _bases(cls: type) -> list[str]:
    """The nearest known classes that it derives from, those aside that any recorded error has."""
    found: list[type] = []
    for base in cls.__mro__[1:]:
        is_known = KNOWN.get(_name(base)) is base and not issubclass(RecordedError, base)
        if is_known and not any(issubclass(nearer, base) for nearer in found):
            found.append(base)
    return [_name(base) for base in found]


def _arguments(cls: type[Exception], error: BaseException, text: str) -> list[Any] | None:
    """What the class is called with to make it again; None if that is its text."""
    args = cls.__reduce__(error)[1]  # with a file name of an OSError, for instance
    if args == (text,):
        return None
    plain = _plain(list(args))
    return plain if isinstance(plain, list) else None


def _own_fields(error: BaseException, known: type[Exception] | None) -> dict[str, Any]:
    given = vars(error)
    if known is not None and not issubclass(known, FanwiseError):
        given = dict(*known.__reduce__(error)[2:])  # such as the name of an ImportError
    # `message` is in the text already; a group's members are no attribute of their own.
    fields = {k: v for k, v in given.items() if not k.startswith("_") and k != "message"}
    if isinstance(error, BaseExceptionGroup):
        fields["exceptions"] = [_brief(each)[:200] for each in error.exceptions[:MOST_MEMBERS]]
    return fields


def _brief(error: BaseException) -> str:
    # The text of a recorded error begins with its type.
    return str(error) if isinstance(error, RecordedError) else f"{_name(error)}: {_text(error)}"


def _fields(given: dict[str, Any]) -> dict[str, Any]:
    """Not too long, and None for what JSON cannot hold: that there is such a field is known."""
    return {name: _plain(value) for name, value in islice(given.items(), MOST_FIELDS)}


def _plain(value: Any) -> Any:
    """The value as plain data, structs and dataclasses as dicts; None if that cannot be."""
    try:
        return _shrink(msgspec.to_builtins(value, str_keys=True), MOST_FIELD)
    except Exception:
        return None


def _shrink(plain: Any, most: int) -> Any:
    """Cut what is too long, but not the exit code beside it."""
    if isinstance(plain, str):
        return _ends(plain, most)
    if len(JSON.encode(plain)) <= most:
        return plain
    if isinstance(plain, dict):
        kept = dict(islice(plain.items(), MOST_FIELDS))
        return dict(zip(kept, _share(list(kept.values()), most), strict=True))
    if isinstance(plain, list):
        return _share(plain[-MOST_MEMBERS:], most)
    return None


def _share(values: list[Any], most: int) -> list[Any]:
    """What is short stays whole; what is long shares the rest."""
    sizes = [len(JSON.encode(value)) for value in values]
    fair = most // max(1, len(values))
    long = sum(size > fair for size in sizes)
    left = max(0, most - sum(size for size in sizes if size <= fair)) // max(1, long)
    return [
        value if size <= fair else _shrink(value, left)
        for value, size in zip(values, sizes, strict=True)
    ]


def _text(error: BaseException) -> str:
    try:
        return _cut(str(error))
    except Exception as problem:
        return f"(its text cannot be had: {_name(problem)})"


def _cut(text: str, most: int = MOST_TEXT) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= most else f"{text[:most]} … ({len(text)} characters)"


def _ends(text: str, most: int) -> str:
    """Of what a program wrote the beginning and the end: an error stands at either."""
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) <= most:
        return text
    return f"{text[: most // 3]} … ({len(text)} characters) … {text[-(2 * most // 3) :]}"
