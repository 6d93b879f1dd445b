"""What a value is put through after a `|`. Each filter returns a value or raises `Impossible`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fanwise.workflow.expressions.values import (
    BOOLEAN,
    LIST,
    MAPPING,
    MOST_NUMBER,
    NOTHING,
    NUMBER,
    TEXT,
    Impossible,
    kind,
    read_json,
    shown,
    within_size,
)


def apply(name: str, value: Any, arguments: list[Any]) -> Any:
    """The value after the filter. `Impossible`."""
    refuse_kinds(name, kind(value), [kind(each) for each in arguments])
    return FILTERS[name].call(value, *arguments)


def refuse_kinds(name: str, value: str | None, arguments: Sequence[str | None]) -> None:
    """`Impossible` if values of these kinds cannot be put through it; None: any kind."""
    found = FILTERS[name]
    texts = [*([value] if found.of_text else []), *(arguments if found.with_text else [])]
    if name == "contains" and value == TEXT:
        texts += arguments
    for each in texts:
        if each not in (None, TEXT):
            raise Impossible(f"`{name}` takes text, not {each}")
    if name == "length" and value not in (None, TEXT, LIST, MAPPING, NOTHING):
        raise Impossible(f"`length` takes text, a list or a mapping, not {value}")
    if name == "trim" and value not in (None, TEXT, NOTHING):
        raise Impossible(f"`trim` takes text, not {value}")


def _default(value: Any, instead: Any = "") -> Any:
    return instead if value is None or value == "" else value


def _join(value: Any, separator: str) -> str:
    if not isinstance(value, list):
        return shown(value)
    entries = [shown(entry) for entry in value]
    within_size(sum(map(len, entries)) + len(separator) * len(entries))
    return separator.join(entries)


def _map(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        return []
    parts = name.split(".")
    return [_field(entry, parts) if isinstance(entry, Mapping) else entry for entry in value]


def _field(entry: Any, parts: list[str]) -> Any:
    for part in parts:
        entry = entry.get(part) if isinstance(entry, Mapping) else None
    return entry


def _contains(value: Any, wanted: Any) -> bool:
    return isinstance(value, str | list) and wanted in value


def _from_json(value: str) -> Any:
    within_size(len(value))
    try:
        return read_json(value, parse_int=_whole, parse_float=_real)
    except RecursionError:
        raise Impossible("`from_json` got too many levels, one inside the other") from None
    except ValueError as error:
        raise Impossible(f"`from_json` got invalid JSON: {error}") from None


def _split(value: str, separator: str) -> list[str]:
    if not separator:
        raise Impossible("`split` needs a separator that is not empty")
    return value.split(separator)


def _to_json(value: Any) -> str:
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Impossible(f"`to_json` cannot write the value: {error}") from None
    within_size(len(text))
    return text


def _whole(written: str) -> int:
    if len(written) > 21 or abs(int(written)) > MOST_NUMBER:
        raise ValueError("a number is too large")
    return int(written)


def _real(written: str) -> float:
    value = float(written)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return value


class FilterKind(NamedTuple):
    """A filter, what it gives (None: that depends), how many arguments it takes, and whether
    these and the value must be text."""

    call: Callable[..., Any]
    gives: str | None = None
    least: int = 0
    most: int = 0
    of_text: bool = False
    with_text: bool = False
    changes: bool = False
    """Whether it gives other text than it got: a secret could not be masked any more."""


FILTERS = {
    "default": FilterKind(_default, None, 0, 1),
    "join": FilterKind(_join, TEXT, 1, 1, with_text=True),
    "map": FilterKind(_map, LIST, 1, 1, with_text=True),
    "contains": FilterKind(_contains, BOOLEAN, 1, 1),
    "from_json": FilterKind(_from_json, of_text=True, changes=True),
    "length": FilterKind(lambda value: len(value or ""), NUMBER),
    "split": FilterKind(_split, LIST, 1, 1, of_text=True, with_text=True, changes=True),
    "upper": FilterKind(str.upper, TEXT, of_text=True, changes=True),
    "lower": FilterKind(str.lower, TEXT, of_text=True, changes=True),
    "to_json": FilterKind(_to_json, TEXT),
    "trim": FilterKind(lambda value: value and value.strip()),
    "raw": FilterKind(lambda value: value),  # it changes how `Text` quotes the value, not the value
}
