"""Other calls, made from a recorded one: the same with something changed.

Each variation says how far it goes. `strict`: of the types that were recorded. `foreign`: of
another type than was ever given there. `far`: what nobody gives: None, a float for an int, an int
of more than 63 bits. `opaque`: of another type, where only the original can tell whether the type
matters; it is asked by `probe`, with objects that can do nothing but be equal. What is held
against a candidate in each case is in `compare.py` of the other side. A type hint that does not
admit a value takes the variation out: nobody promised anything for it.

Chance is seeded, and the plan is made once, from the original; both sides get the same bytes.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from .argument_kinds import LIKE, DeepArgument, MissingDict, Opaque, StreamArgument

LARGE = 1500
"""Elements of a large argument: more than Python recurses."""
HUGE = "huge"
DEEP = "nested deeply"
STREAM = "a stream"
"""The label of a generator in the place of a list."""
SPELLED = "two spellings"
RELATED = "made from"
_DEEP = 3
_WIDE = 3
Change = tuple[str, str, Any]
"""A label, how far it goes, and the value."""
Member = tuple[str, Any, Any]
"""How a value inside another is reached (`item`, `key` …), its index or name, and the value."""


class ArgumentPlace:
    """Somewhere inside the arguments: the way there, and what stands there."""

    def __init__(self, way: tuple[Any, ...], value: Any) -> None:
        self.way = way
        self.value = value

    @property
    def text(self) -> str:
        return "".join(f"[{step[1]!r}]" for step in self.way)


def places(
    args: list[Any],
    kwargs: dict[str, Any],
    skip: int,
    members: Callable[[Any], Iterator[Member]] | None = None,
    deep: int = _DEEP,
) -> Iterator[ArgumentPlace]:
    """Where something can be changed; not in the first `skip` (the object of a method)."""

    def below(place: ArgumentPlace, depth: int) -> Iterator[ArgumentPlace]:
        yield place
        for kind, key, value in (members or _members)(place.value) if depth < deep else ():
            yield from below(ArgumentPlace((*place.way, (kind, key)), value), depth + 1)

    for number, value in enumerate(args[skip:], start=skip):
        yield from below(ArgumentPlace((("args", number),), value), 0)
    for name, value in kwargs.items():
        yield from below(ArgumentPlace((("kwargs", name),), value), 0)


def _members(value: Any) -> Iterator[Member]:
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        picks = dict.fromkeys([*range(min(_WIDE, len(value))), len(value) - 1] if value else [])
        yield from (("item", i, value[i]) for i in picks)
    elif type(value) is dict:
        yield from (("key", key, value[key]) for key in list(value)[:_WIDE])
    elif isinstance(value, StreamArgument):
        yield "stream", "items", value.items
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.name[:1] != "_"]
        yield from (("attribute", name, getattr(value, name, None)) for name in names)


def put(args: list[Any], kwargs: dict[str, Any], way: tuple[Any, ...], new: Any) -> None:
    (root, key), *rest = way
    top: Any = args if root == "args" else kwargs
    top[key] = _with(top[key], rest, new)


def _with(value: Any, way: list[Any], new: Any) -> Any:
    if not way:
        return new
    (kind, key), *rest = way
    if kind == "attribute":
        object.__setattr__(value, key, _with(getattr(value, key), rest, new))
    elif kind == "stream":
        return StreamArgument(_with(value.items, rest, new))
    elif isinstance(value, tuple):
        parts = list(value)
        parts[key] = _with(parts[key], rest, new)
        return tuple(parts)
    else:
        value[key] = _with(value[key], rest, new)
    return value


def probe(value: Any) -> Any:
    """The value, with opaque objects for its elements."""
    if type(value) is list:
        first = {id(each): value.index(each) for each in value}
        return [Opaque(first[id(each)]) for each in value]
    return Opaque(0)


def changes(value: Any, rng: random.Random, *, top: bool) -> Iterator[Change]:
    """What could stand in the place of a value; `top`: it is an argument itself."""
    make = _MAKERS.get(type(value))
    if make is not None:
        yield from make(value, rng)
        if type(value) in LIKE:
            yield "a subclass", "strict", LIKE[type(value)](value)
    if value is not None and type(value) is not bool:
        yield "None", _none_level(value, top=top), None


def _none_level(value: Any, *, top: bool) -> str:
    return "far" if top or isinstance(value, int | float) else "opaque"


def _of_list(value: list[Any], rng: random.Random) -> Iterator[Change]:
    yield "empty", "strict", []
    if value:
        yield "its first twice", "strict", [*value, value[0]]
        yield "its last twice", "strict", [value[-1], *value]
        yield "everything twice", "strict", value * 2
        yield "reversed", "strict", value[::-1]
        yield "shuffled", "strict", rng.sample(value, len(value))
        yield "one element", "strict", value[:1]
        yield "all the same", "strict", [value[0]] * len(value)
        yield "large", "strict", value * (LARGE // len(value) + 1)
        yield from _singles(value[0], rng)
        if type(value[0]) is float:
            yield "cancelling", "far", [1e16, *value, -1e16]
        if type(value[0]) is int:
            yield HUGE, "far", [1 << 60, *value, -(1 << 60)]
        if any(type(each) is list for each in value):
            yield DEEP, "strict", DeepArgument(value)
    yield "a tuple", "foreign", tuple(value)
    yield STREAM, "foreign", StreamArgument(list(value))
    if value and _is_hashable(value[0]):
        yield "unhashable elements", "opaque", [[each] for each in value]
        yield "with None", "opaque", [*value, None]


def _singles(value: Any, rng: random.Random) -> Iterator[Change]:
    """Lists of one element, and of two: where a special one is alone, or comes first."""
    if type(value) not in (int, float, str):
        return
    for label, level, new in _MAKERS[type(value)](value, rng):
        if level == "strict" and label != "large":
            yield f"one element, {label}", "strict", [new]
            yield f"two elements, {label}", "strict", [new, value]
    for label, one, other in spellings(value) if type(value) is str else ():
        yield label, "strict", [one, other]
        yield f"{label}, reversed", "strict", [other, one]


def spellings(text: str) -> Iterator[tuple[str, str, str]]:
    """Two texts that one program takes for the same, and another does not."""
    yield f"{SPELLED} with ß", f"{text}ß", f"{text}ß".upper()
    yield f"{SPELLED} with an accent", f"{text}\u00e9", f"{text}e\u0301"
    numbered = text if re.search("[0-9]", text) else f"{text}1"
    yield f"{SPELLED}, equal, with signs", f"{text}[a]+(b", f"{text}[a]+(b"
    yield f"{SPELLED} with zeros", numbered, re.sub("([0-9]+)", r"0\1", numbered)


def relatives(value: Any) -> Iterator[tuple[str, Any]]:
    """What could stand beside a text or a list: one that is almost the same."""
    if type(value) in (str, bytes, list) and value:
        yield "an equal one", value[:]
        yield "with its last twice", value + value[-1:]
        yield "without its last", value[:-1]
        yield "without its first", value[1:]
        yield "with its first at the end", value[1:] + value[:1]


def _of_tuple(value: tuple[Any, ...], rng: random.Random) -> Iterator[Change]:
    if value:
        yield "reversed", "strict", value[::-1]
        yield "all the same", "strict", (value[0],) * len(value)
    yield "empty", "foreign", ()
    yield "longer", "foreign", value * 2
    yield "a list", "foreign", list(value)


def _of_dict(value: dict[Any, Any], rng: random.Random) -> Iterator[Change]:
    yield "empty", "strict", {}
    items = list(value.items())
    yield "in reverse order", "strict", dict(items[::-1])
    yield "without its first", "strict", dict(items[1:])
    yield "without its last", "strict", dict(items[:-1])
    if items:
        values = [each for _, each in items]
        rng.shuffle(values)
        level = "strict" if len({type(each) for each in values}) == 1 else "foreign"
        yield "values shuffled", level, dict(zip(value, values, strict=True))
        yield "all values the same", level, dict.fromkeys(value, values[0])
    yield "one that makes up keys", "foreign", MissingDict(value)


def _of_set(value: set[Any], rng: random.Random) -> Iterator[Change]:
    yield "empty", "strict", set()
    yield "without one", "strict", set(list(value)[1:])
    yield "a list", "foreign", list(value)
    yield "a frozenset", "foreign", frozenset(value)


def _of_str(value: str, rng: random.Random) -> Iterator[Change]:
    yield "empty", "strict", ""
    yield "twice", "strict", value * 2
    yield "with spaces", "strict", f" {value}\t\n"
    yield "with a line end", "strict", f"{value}\n"
    yield "with a line end inside", "strict", f"{value[:1]}\n{value[1:]}"
    if " " in value or "\n" in value:
        yield "with other blanks", "strict", value.replace(" ", "\t\u00a0").replace("\n", "\r\n")
        yield "with tabs", "strict", value.replace(" ", "\t")
    yield "upper case", "strict", value.upper()
    yield "lower case", "strict", value.lower()
    yield "reversed", "strict", value[::-1]
    yield "not ASCII", "strict", f"ß{value}İé\U0001d4b3\u0301"
    yield "digits", "strict", "0123"
    yield "other digits", "strict", f"{value}\u00b2\u0663"
    yield "large", "strict", (value or "x") * (LARGE // (len(value) or 1) + 1)
    yield "bytes", "foreign", value.encode("utf-8", "surrogatepass")


def _of_bytes(value: bytes, rng: random.Random) -> Iterator[Change]:
    yield "empty", "strict", b""
    yield "twice", "strict", value * 2
    yield "not ASCII", "strict", b"\xff\x00" + value
    yield "large", "strict", (value or b"x") * (LARGE // (len(value) or 1) + 1)
    yield "large, of large ones", "strict", b"\xff" * LARGE
    yield "text", "foreign", value.decode("latin-1")
    yield "a bytearray", "foreign", bytearray(value)


def _of_int(value: int, rng: random.Random) -> Iterator[Change]:
    for label, new in (("zero", 0), ("one", 1), ("minus one", -1), ("negative", -value),
                       ("one more", value + 1), ("one less", value - 1),
                       ("twice", 2 * value), ("negative odd", -2 * abs(value) - 1)):  # fmt: skip
        yield label, "strict", new
    yield "True", "strict", True
    yield "large", "strict", LARGE + value % 7
    yield "big", "strict", (1 << 62) - 1
    yield HUGE, "far", (1 << 63) + 1
    yield "a float", "far", float(value) if abs(value) < 1 << 1000 else 1e300
    yield "a broken float", "far", value % 1000 + 0.5


def _of_bool(value: bool, rng: random.Random) -> Iterator[Change]:
    yield "the other", "strict", not value
    yield "an int", "foreign", int(value)
    yield "None", "foreign", None


def _of_float(value: float, rng: random.Random) -> Iterator[Change]:
    for label, new in (("zero", 0.0), ("minus zero", -0.0), ("negative", -value),
                       ("NaN", float("nan")), ("infinity", float("inf")),
                       ("minus infinity", float("-inf")), ("large", value * 1e12 + 1.0),
                       ("tiny", value * 1e-12), ("a bit more", value + 0.1)):  # fmt: skip
        yield label, "strict", new
    yield "an int", "foreign", int(value) if value == value and abs(value) < 1e15 else 7


def _of_decimal(value: Decimal, rng: random.Random) -> Iterator[Change]:
    for label, new in (("zero", Decimal(0)), ("negative", -value), ("minus zero", Decimal("-0.0")),
                       ("with half a cent", value + Decimal("0.005")),
                       ("large", value + Decimal(10) ** 20)):  # fmt: skip
        yield label, "strict", new


def _of_date(value: date, rng: random.Random) -> Iterator[Change]:
    yield "a leap day", "strict", value.replace(year=2024, month=2, day=29)
    yield "the end of a year", "strict", value.replace(month=12, day=31)
    yield "the first of March", "strict", value.replace(year=2023, month=3, day=1)


def _of_datetime(value: datetime, rng: random.Random) -> Iterator[Change]:
    yield from _of_date(value, rng)
    yield "midnight", "strict", value.replace(hour=0, minute=0, second=0, microsecond=0)
    yield "a moment later", "strict", value.replace(second=59, microsecond=999_999)
    if value.tzinfo is None:
        zone = timezone(timedelta(hours=5, minutes=30))
        yield "in a zone", "foreign", value.replace(tzinfo=zone)
    else:
        yield "in no zone", "foreign", value.replace(tzinfo=None)


def _of_timedelta(value: timedelta, rng: random.Random) -> Iterator[Change]:
    yield "zero", "strict", timedelta()
    yield "negative", "strict", -value
    yield "a moment more", "strict", value + timedelta(microseconds=1)
    yield "days more", "strict", value + timedelta(days=400)


def _of_none(value: None, rng: random.Random) -> Iterator[Change]:
    yield "zero", "foreign", 0
    yield "empty", "foreign", []


_MAKERS: dict[type, Callable[[Any, random.Random], Iterator[Change]]] = {
    list: _of_list,
    tuple: _of_tuple,
    dict: _of_dict,
    set: _of_set,
    str: _of_str,
    bytes: _of_bytes,
    int: _of_int,
    bool: _of_bool,
    float: _of_float,
    Decimal: _of_decimal,
    date: _of_date,
    datetime: _of_datetime,
    timedelta: _of_timedelta,
    type(None): _of_none,
    StreamArgument: lambda value, rng: _of_stream(value, rng),
}


def _of_stream(value: StreamArgument, rng: random.Random) -> Iterator[Change]:
    for label, level, new in _of_list(value.items, rng):
        if type(new) is list and level == "strict":
            yield label, level, StreamArgument(new)
    yield "a list", "foreign", list(value.items)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
