"""Which recorded request comes nearest to one that was not recorded, and how they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fanwise.models.port import Request

MOST_SHOWN = 60
_NONE = object()


def difference(asked: Request, recorded: Sequence[Request]) -> str:
    """The first difference from the nearest, in words."""
    times = sum(request == asked for request in recorded)
    if times:
        return f"it was recorded {times} times, and all of them have been played"
    wanted = dict(_flat(asked.to_json()))
    number, differing = min(
        ((n, _differing(wanted, request)) for n, request in enumerate(recorded)),
        key=lambda found: len(found[1]),
    )
    place = differing[0]
    there = dict(_flat(recorded[number].to_json()))
    more = f", and {len(differing) - 1} more differences" if len(differing) > 1 else ""
    return (
        f"the nearest is call {number + 1}, where {place} is {_shown(there.get(place, _NONE))} "
        f"and not {_shown(wanted.get(place, _NONE))}{more}"
    )


def _differing(wanted: dict[str, Any], request: Request) -> list[str]:
    there = dict(_flat(request.to_json()))
    return [
        place
        for place in dict.fromkeys([*wanted, *there])
        if wanted.get(place, _NONE) != there.get(place, _NONE)
    ]


def _flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf with its place: `messages[0].content`."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _flat(member, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _flat(member, f"{place}[{index}]")
    else:
        yield place, value


def _shown(value: Any) -> str:
    if value is _NONE:
        return "missing"
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"
