"""The size of a call, by its arguments, and which calls are of about the same."""

from __future__ import annotations

from typing import Any

from .pickling import load_call, load_follow

_CONTAINERS = (list, tuple, set, frozenset)
_MOST_CLASSES = 4
_MOST_COUNTED = 10**6
_LARGEST = 10**18


def classes_of(rows: list[Any]) -> list[dict[str, Any]]:
    """The calls by the size of their arguments, in powers of ten; at most a few classes."""
    sizes = [_size_of_call(row) if row else 0 for row in rows]
    digits = [len(str(min(size, _LARGEST))) for size in sizes]
    least, width = min(digits), max(digits) - min(digits) + 1
    found: dict[int, list[int]] = {}
    for n, each in enumerate(digits):
        place = each - least
        place = place if width <= _MOST_CLASSES else place * _MOST_CLASSES // width
        found.setdefault(place, []).append(n)
    return [
        {
            "calls": calls,
            "least": min(sizes[n] for n in calls),
            "most": max(sizes[n] for n in calls),
        }
        for _, calls in sorted(found.items())
    ]


def _size_of_call(row: dict[str, Any]) -> int:
    """That of its largest argument: elements, characters, or a whole number itself."""
    calls = [load_call(row), *(call for chain in load_follow(row) for call in chain)]
    given = [each for args, kwargs in calls for each in (*args, *kwargs.values())]
    return max((abs(each) if type(each) is int else _size(each) for each in given), default=0)


def _size(value: Any) -> int:
    """How many elements and characters it consists of; each object counts once."""
    left, seen, found = [value], set(), 0
    while left and found < _MOST_COUNTED:
        each = left.pop()
        kind = type(each)
        if kind is str or kind is bytes:
            found += len(each)
        elif id(each) in seen:
            continue
        elif kind in _CONTAINERS or kind is dict:
            left += each.values() if kind is dict else each
            seen.add(id(each))
        elif hasattr(each, "__dict__") and not callable(each):
            left.append(vars(each))
        else:
            found += 1
    return found
