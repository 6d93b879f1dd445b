"""Values and errors as JSON text.

A value read back after a resume must equal the one that was returned; otherwise the second half of
a run would see different data than the first. So a value either comes back equal or is refused with
`NotStorable`. There is one exception, because it is common and harmless: a tuple comes back as a
list. Sets, bytes, dates, dataclasses, other objects, NaN, infinities, and dicts whose keys are not
strings (JSON would turn 1 into "1") are refused.

The check is to encode, decode and compare. All three run in C, which is faster than inspecting each
value in Python; that happens only to find out what was wrong.

Never pickle: a journal is data, and reading one must not run code.
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


# Created once, because this is the hot path.
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Codec(Protocol):
    """Turns values into JSON text and back. Pass your own to `open_run`."""

    def encode(self, value: Any) -> str:
        """The value as JSON text. Raises `NotStorable` if this codec cannot write it."""

    def decode(self, text: str) -> Any:
        """The value that `encode` was given, as far as JSON can hold it."""


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
            # A lone surrogate, as in a file name that is not UTF-8, which msgspec refuses.
            return json.loads(text)


JSON = JsonCodec()


def _encode_slowly(value: Any) -> str:
    """Encode tuples and lone surrogates; for anything else, say what is wrong and where."""
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
    """The parts that JSON cannot hold, and where they are."""
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


# Errors keep what helps a person or a program later, at most a few kilobytes. Recording one never
# fails, because an error that cannot be recorded is lost.


class Recorded(msgspec.Struct, omit_defaults=True):
    """An error as it is stored."""

    type: str
    text: str = ""
    fields: dict[str, Any] = {}
    notes: list[str] = []
    cause: Recorded | None = None
    args: list[Any] | None = None
    """Of a built-in exception, unless its text is the only argument; of a group, its message."""
    bases: list[str] = []
    """The known base classes of an unknown class."""
    members: list[Recorded] = []
    """The members of a group."""


def _known() -> dict[str, type[Exception]]:
    found: dict[str, type[Exception]] = {}
    for cls in vars(builtins).values():
        # A group can only be made from its members.
        if isinstance(cls, type) and issubclass(cls, Exception) and cls is not ExceptionGroup:
            found[cls.__name__] = cls
    for cls in vars(errors).values():
        if isinstance(cls, type) and issubclass(cls, FanwiseError) and cls is not RecordedError:
            found[full_name(cls)] = cls
    return found


GROUP = ExceptionGroup.__name__
KNOWN = _known()
"""Classes that are restored when an error is read back: built-in ones and fanwise's own."""


def encode_error(error: BaseException) -> str:
    """An error as JSON: type, text, public fields, notes, causes, and the members of a group."""
    try:
        return JSON.encode(msgspec.to_builtins(_record(error, MOST_CAUSES)))
    except Exception:
        return json.dumps({"type": _name(error), "text": _text(error)})


def decode_error(text: str) -> RecordedError:
    """A stored error as data. `revive_error` restores its class."""
    return _as_data(recorded_error(text))


def _as_data(recorded: Recorded) -> RecordedError:
    error = RecordedError(recorded.type, recorded.text, recorded.fields)
    for note in recorded.notes:
        error.add_note(note)
    if recorded.cause is not None:
        error.__cause__ = _as_data(recorded.cause)
    return error


def recorded_error(text: str) -> Recorded:
    """A stored error. Text that is not one becomes an unknown error."""
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
    """As many members as there is room for. A field has a line about each of the others."""
    room = MOST_GROUP
    for member in group.exceptions[:MOST_MEMBERS]:
        recorded = _record(member, depth)
        room -= len(JSON.encode(msgspec.to_builtins(recorded)))
        if room < 0:
            return
        yield recorded


def _bases(cls: type) -> list[str]:
    """The nearest known base classes, without those that every `RecordedError` has."""
    found: list[type] = []
    for base in cls.__mro__[1:]:
        is_known = KNOWN.get(_name(base)) is base and not issubclass(RecordedError, base)
        if is_known and not any(issubclass(nearer, base) for nearer in found):
            found.append(base)
    return [_name(base) for base in found]


def _arguments(cls: type[Exception], error: BaseException, text: str) -> list[Any] | None:
    """The arguments to create the error again; None if its text is the only one."""
    args = cls.__reduce__(error)[1]  # includes, for instance, the file name of an OSError
    if args == (text,):
        return None
    plain = _plain(list(args))
    return plain if isinstance(plain, list) else None


def _own_fields(error: BaseException, known: type[Exception] | None) -> dict[str, Any]:
    given = vars(error)
    if known is not None and not issubclass(known, FanwiseError):
        given = dict(*known.__reduce__(error)[2:])  # for instance the name of an ImportError
    # `message` is part of the text; the members of a group are not in `vars`.
    fields = {k: v for k, v in given.items() if not k.startswith("_") and k != "message"}
    if isinstance(error, BaseExceptionGroup):
        fields["exceptions"] = [_brief(each)[:200] for each in error.exceptions[:MOST_MEMBERS]]
    return fields


def _brief(error: BaseException) -> str:
    # The text of a recorded error starts with its type.
    return str(error) if isinstance(error, RecordedError) else f"{_name(error)}: {_text(error)}"


def _fields(given: dict[str, Any]) -> dict[str, Any]:
    """The fields, shortened, with None for values that JSON cannot hold."""
    return {name: _plain(value) for name, value in islice(given.items(), MOST_FIELDS)}


def _plain(value: Any) -> Any:
    """The value as plain data (structs and dataclasses as dicts), or None if that fails."""
    try:
        return _shrink(msgspec.to_builtins(value, str_keys=True), MOST_FIELD)
    except Exception:
        return None


def _shrink(plain: Any, most: int) -> Any:
    """Shorten what is too long, and keep the short values beside it."""
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
    """Keep short values whole, and share the remaining room among the long ones."""
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
        return f"(its text cannot be read: {_name(problem)})"


def _cut(text: str, most: int = MOST_TEXT) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= most else f"{text[:most]} … ({len(text)} characters)"


def _ends(text: str, most: int) -> str:
    """The beginning and the end of a program's output, where errors usually are."""
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) <= most:
        return text
    return f"{text[: most // 3]} … ({len(text)} characters) … {text[-(2 * most // 3) :]}"
