"""How closely two files belong together: by imports and folders. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

DAMPING = 0.1
BESIDE = 0.05
"""Weight of neighbours in a folder: it counts only for files that import nothing."""

Edges = dict[tuple[str, str], float]


def edges_of(imports: Mapping[str, Sequence[str]]) -> Edges:
    """Each pair of files with an import between them; both ways count twice.

    To import what everybody imports says a little less than to import what few do.
    """
    importers = Counter(other for others in imports.values() for other in others)
    found: Edges = {}
    for path, others in imports.items():
        for other in others:
            pair = (path, other) if path < other else (other, path)
            found[pair] = found.get(pair, 0.0) + importers[other] ** -DAMPING
    return found


def beside(paths: Iterable[str]) -> Edges:
    """Each pair of neighbours in a folder."""
    found: Edges = {}
    folders: dict[str, list[str]] = {}
    for path in sorted(paths):
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    for files in folders.values():
        for pair in pairwise(files):
            found[pair] = BESIDE
    return found


def weights_of(paths: Sequence[str], *edges: Edges) -> list[dict[int, float]]:
    number = {path: place for place, path in enumerate(paths)}
    near: list[dict[int, float]] = [{} for _ in paths]
    for each in edges:
        for (one, other), weight in each.items():
            a, b = number[one], number[other]
            near[a][b] = near[b][a] = near[a].get(b, 0.0) + weight
    return near
