"""What paths have in common. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def shared(one: str, other: str) -> int:
    """How many folders two paths have in common."""
    count = 0
    for a, b in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if a != b:
            break
        count += 1
    return count


def first_below(paths: Iterable[str]) -> dict[str, str]:
    """Of each folder with some of the paths below it, the first of them."""
    first: dict[str, str] = {}
    for path in sorted(paths):
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in first:
                break  # so have those above
            first[folder] = path
    return first


def nearest(path: str, first: Mapping[str, str]) -> str:
    """That which shares most folders with a path; of several the first."""
    folder = path.rpartition("/")[0]
    while folder not in first:
        folder = folder.rpartition("/")[0]
    return first[folder]
