"""Groups of files that grow: joined by closeness, improved file by file, packed by folder. Pure.

Two files are close if one imports the other. The closeness of two groups is the weight between them
divided by both sizes. Without the division the first group that grows would take everything.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from fanwise.plan.split.rules import Rules, Sizes

Weights = Sequence[dict[int, float]]
"""The neighbours of each node, with the weight of the edge; in both directions."""
PASSES = 8
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


def agglomerate(
    weights: Weights,
    sizes: Sequence[float],
    may: Callable[[int, int], bool],
    join: Callable[[int, int], None],
) -> None:
    """Join the closest groups for as long as `may` allows it; `join` is called for each pair.

    A pair that was refused is tried again when one of the two has grown.
    """
    near = [dict(each) for each in weights]
    size = list(sizes)
    version = [0] * len(near)
    gone = [False] * len(near)
    heap: list[tuple[float, int, int, int]] = []

    def offer(one: int, other: int) -> None:
        if one > other:
            one, other = other, one
        closeness = near[one][other] / (size[one] * size[other])
        heapq.heappush(heap, (-closeness, one, other, version[one] + version[other]))

    for one, others in enumerate(near):
        for other in others:
            if one < other:
                offer(one, other)
    while heap:
        _, one, other, at = heapq.heappop(heap)
        if gone[one] or gone[other] or at != version[one] + version[other]:
            continue
        if not may(one, other):
            continue
        join(one, other)
        gone[other] = True
        size[one] += size[other]
        version[one] += 1
        _inherit(near, one, other)
        for each in near[one]:
            offer(one, each)


def _inherit(near: list[dict[int, float]], one: int, other: int) -> None:
    """Give the neighbours of `other` to `one`."""
    for each, weight in near[other].items():
        if each == one:
            continue
        near[one][each] = near[one].get(each, 0.0) + weight
        near[each][one] = near[one][each]
        del near[each][other]
    near[one].pop(other, None)
    near[other] = {}


class Groups:
    """Groups of files, each numbered by its first member, with their sizes."""

    def __init__(self, members: Iterable[Sequence[str]], tokens: Sizes, rules: Rules) -> None:
        self.members = [list(each) for each in members]
        self.tokens = [sum(tokens[path] for path in each) for each in self.members]
        self._rules = rules

    def may(self, one: int, other: int) -> bool:
        return self._rules.fits(
            len(self.members[one]) + len(self.members[other]),
            self.tokens[one] + self.tokens[other],
        )

    def least(self, places: Iterable[int]) -> tuple[int, int]:
        """The smallest number of files, and of tokens, of these groups."""
        some = [(len(self.members[place]), self.tokens[place]) for place in places]
        return min((n for n, _ in some), default=0), min((n for _, n in some), default=0)

    def has_room(self, place: int, least: tuple[int, int]) -> bool:
        """Whether a group of at least this size still fits in."""
        files, tokens = least
        return self._rules.fits(len(self.members[place]) + files, self.tokens[place] + tokens)

    def join(self, one: int, other: int) -> None:
        self.members[one] += self.members[other]
        self.tokens[one] += self.tokens[other]
        self.members[other] = []
        self.tokens[other] = 0

    def alive(self) -> list[int]:
        return [place for place, members in enumerate(self.members) if members]


def pack(groups: Groups) -> None:
    """Join groups that fit together: first in the same folder, then in the folder above.

    Groups close to one another share a leaf, and few leaves are nearly empty.
    """
    open_: dict[int, dict[str, list[int]]] = {}
    for place in groups.alive():
        home = _home(groups.members[place])
        open_.setdefault(_depth(home), {}).setdefault(home, []).append(place)
    first = {place: min(groups.members[place]) for place in groups.alive()}  # stays the first
    for depth in range(max(open_, default=0), -1, -1):
        left = [place for folders in open_.values() for each in folders.values() for place in each]
        least = groups.least(left)
        folders = open_.pop(depth, {})
        for folder in sorted(folders, reverse=True):
            some = [place for place in folders[folder] if groups.has_room(place, least)]
            kept = _first_fit(groups, sorted(some, key=first.__getitem__))
            above = folder.rpartition("/")[0]
            if folder and kept:
                open_.setdefault(_depth(above), {}).setdefault(above, []).extend(kept)


def _depth(folder: str) -> int:
    return folder.count("/") + 1 if folder else 0


def _first_fit(groups: Groups, places: list[int]) -> list[int]:
    kept: list[int] = []
    for place in places:
        for one in kept:
            if groups.may(one, place):
                groups.join(one, place)
                break
        else:
            kept.append(place)
    return kept


def _home(files: list[str]) -> str:
    """The deepest folder that contains all files."""
    first, last = min(files).split("/")[:-1], max(files).split("/")[:-1]
    count = 0
    for one, other in zip(first, last, strict=False):
        if one != other:
            break
        count += 1
    return "/".join(first[:count])


def refine(
    groups: Sequence[Sequence[str]],
    paths: Sequence[str],
    near: Sequence[Mapping[int, float]],
    tokens: Sizes,
    rules: Rules,
) -> list[list[str]]:
    """Move files to the group that they have the heaviest edges to, within the limits."""
    number = {path: place for place, path in enumerate(paths)}
    owner = [0] * len(paths)
    for place, files in enumerate(groups):
        for path in files:
            owner[number[path]] = place
    count = [len(files) for files in groups]
    total = [sum(tokens[path] for path in files) for files in groups]
    for _ in range(PASSES):
        if not _pass(paths, near, tokens, rules, owner, count, total):
            break
    found: list[list[str]] = [[] for _ in groups]
    for path, place in zip(paths, owner, strict=True):
        found[place].append(path)
    return [files for files in found if files]


def _pass(
    paths: Sequence[str],
    near: Sequence[Mapping[int, float]],
    tokens: Sizes,
    rules: Rules,
    owner: list[int],
    count: list[int],
    total: list[int],
) -> bool:
    """Look at every file once; return whether any was moved."""
    moved = False
    for file, others in enumerate(near):
        here, size = owner[file], tokens[paths[file]]
        pull: dict[int, float] = {}
        for other, weight in others.items():
            pull[owner[other]] = pull.get(owner[other], 0.0) + weight
        best, most = here, pull.pop(here, 0.0)
        for group in sorted(pull):
            if pull[group] > most + 1e-9 and rules.fits(count[group] + 1, total[group] + size):
                best, most = group, pull[group]
        if best != here:
            owner[file] = best
            count[here] -= 1
            count[best] += 1
            total[here] -= size
            total[best] += size
            moved = True
    return moved
