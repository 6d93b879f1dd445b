"""The position of each value in a file, kept apart from the values.

Values stay plain dicts, lists and scalars, which any library accepts. Positions are a second tree
of the same shape, with offsets into the text; line and column are computed when an error needs
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

FieldPath = tuple[str | int, ...]
"""From the top of a file to a value in it: `("sample", "requirements", 2)`."""


class Branch:
    """The position of a mapping or list, and of everything in it."""

    __slots__ = ("at", "inside", "keys")

    def __init__(self, at: int, inside: dict[str, Place] | list[Place]) -> None:
        self.at = at
        self.inside: Any = inside
        self.keys: dict[str, int] = {}
        """The positions of the keys, if it is a mapping."""


Place = int | Branch


def offset(place: Place) -> int:
    """The offset at which it begins."""
    return place if isinstance(place, int) else place.at


def find(place: Place, path: Sequence[str | int], *, key: bool = False) -> int:
    """The offset of the value at `path`, or of its nearest parent that exists.

    `key`: the offset of its key instead.
    """
    for number, part in enumerate(path):
        if not isinstance(place, Branch) or not _has(place.inside, part):
            break
        if key and number == len(path) - 1 and isinstance(part, str):
            return place.keys[part]
        place = place.inside[part]
    return offset(place)


def _has(inside: dict[str, Place] | list[Place], part: str | int) -> bool:
    if isinstance(inside, dict):
        return part in inside
    return isinstance(part, int) and 0 <= part < len(inside)


def field(path: Sequence[str | int]) -> str:
    """A path as people write it: `sample.requirements[2].check`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text
