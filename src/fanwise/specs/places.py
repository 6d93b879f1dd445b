"""Where each value of a file stands, beside the values and not in them.

The values stay plain dicts, lists and words, that any library takes. The places are a second tree
of the same shape, whose leaves are offsets into the text: a line and a column are counted only
when an error needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

FieldPath = tuple[str | int, ...]
"""From the top of a file to a value in it: `("sample", "requirements", 2)`."""


class Branch:
    """The place of a mapping or list, and of all that is in it."""

    __slots__ = ("at", "inside", "keys")

    def __init__(self, at: int, inside: dict[str, Place] | list[Place]) -> None:
        self.at = at
        self.inside: Any = inside
        self.keys: dict[str, int] = {}
        """Of a mapping: where its keys stand."""


Place = int | Branch


def offset(place: Place) -> int:
    """Where it begins."""
    return place if isinstance(place, int) else place.at


def find(place: Place, path: Sequence[str | int], *, key: bool = False) -> int:
    """The offset of the value at `path`, or of the last one on the way to it that exists.

    `key`: of the key that it stands under.
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
