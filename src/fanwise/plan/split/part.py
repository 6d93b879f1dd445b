"""What the modes make: parts in parts, without ids yet. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

Sizes = Mapping[str, int]
"""The tokens of each file."""


@dataclass(frozen=True)
class SplitPart:
    """Files that stay together, or parts that they were split into."""

    files: tuple[str, ...] = ()
    parts: tuple[SplitPart, ...] = ()
    spine: bool = False
    why: str = ""
    """Of files: why they cannot be fewer."""

    def leaves(self) -> Iterator[SplitPart]:
        """Those that were not split, in order."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


def leaf(files: Iterable[str], *, why: str = "") -> SplitPart:
    """Files that stay together."""
    return SplitPart(files=tuple(sorted(files)), why=why)


def whole(parts: Iterable[SplitPart]) -> SplitPart:
    """Parts as one; a single one is that one: nothing was split."""
    several = tuple(parts)
    return several[0] if len(several) == 1 else SplitPart(parts=several)
