"""The cells of a matrix: which there are, what each one's key is, and in which order they go.

Pure: a spec and its inputs in, cells out.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

NO_MODEL = "-"
"""The model of a cell that needs none."""


class Cell(msgspec.Struct, frozen=True, gc=False):
    """One combination of the axes' values, before it is run."""

    key: str
    """A digest of all that can change its answer."""
    model: str
    strategy: str
    input: str
    repeat: int
    provider: str
    seed: int

    @property
    def axes(self) -> dict[str, str]:
        """Its values by axis, as text."""
        return {
            "model": self.model,
            "strategy": self.strategy,
            "input": self.input,
            "repeat": str(self.repeat),
        }


def key_of(parts: Any) -> str:
    """Equal for equal parts, whatever the order of their keys."""
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:24]


KeyBegin = Any  # a hash of hashlib, whose type has no public name


def key_begin(*parts: Any) -> KeyBegin:
    """The beginning that many keys share, hashed once; mappings whatever their order."""
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")[:-1])


def key_end(*parts: Any) -> bytes:
    """The rest, which other keys share."""
    return b"," + msgspec.json.encode(parts, order="sorted")[1:]


def whole_key(begin: KeyBegin, end: bytes) -> str:
    """What `key_of` gives for the list of all parts."""
    whole = begin.copy()
    whole.update(end)
    digest: str = whole.hexdigest()
    return digest[:24]


def seed_of(seed: int, input_digest: str, repeat: int) -> int:
    """The same for all models and strategies, so that they are compared on equal terms."""
    digest = hashlib.sha256(f"{seed} {input_digest} {repeat}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def in_dispatch_order(cells: Sequence[Cell], shuffle: int = 0) -> list[Cell]:
    """Providers side by side, and the repeats of a cell far apart.

    Each provider's cells are spread evenly over the whole run, all first repeats before all
    second ones. What happens at one time (a slow hour, a flaky network) then hits all providers
    and not all repeats of a cell. Within that the order is shuffled, the same for a seed.
    """
    totals = Counter(cell.provider for cell in cells)
    ordered = sorted(cells, key=lambda cell: (cell.repeat, _chance(cell.key, shuffle)))
    seen: Counter[str] = Counter()
    placed: list[tuple[float, str, int, Cell]] = []
    for number, cell in enumerate(ordered):
        place = (seen[cell.provider] + 0.5) / totals[cell.provider]
        seen[cell.provider] += 1
        placed.append((place, cell.provider, number, cell))
    return [cell for _, _, _, cell in sorted(placed)]


def _chance(key: str, shuffle: int) -> str:
    """A key is a digest, and as good as any other chance."""
    return hashlib.sha256(f"{shuffle} {key}".encode()).hexdigest() if shuffle else key


def values_by_axis(cells: Iterable[Cell]) -> Mapping[str, list[str]]:
    """What each axis has, in the order of the cells."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        for axis, value in cell.axes.items():
            found.setdefault(axis, {})[value] = None
    return {axis: list(values) for axis, values in found.items()}
