"""Paths as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator


def above(path: str) -> Iterator[str]:
    """The folders that a path is in, the outermost first."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)


def patch_name(leaf: str) -> str:
    """The file with the change of a leaf that is in no result, in the folder of its run."""
    return f"{leaf[:12]}-change.patch"
