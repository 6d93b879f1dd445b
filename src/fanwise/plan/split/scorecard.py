"""How good a split is. Pure."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from fanwise.plan.model.node import Hub, Node, Scorecard, Tree
from fanwise.plan.split.graphs import components

Imports = Mapping[str, Sequence[str]]
LEAST_IMPORTERS = 10
SHARE = 100
"""Of a hub: at least one of so many files imports it."""
MOST_HUBS = 30


def hubs_of(imports: Imports, files: int) -> tuple[Hub, ...]:
    """Files that so many others import that every split cuts them off from most, largest first."""
    importers = Counter(other for others in imports.values() for other in others)
    least = max(LEAST_IMPORTERS, -(-files // SHARE))
    found = [Hub(path, count) for path, count in importers.items() if count >= least]
    return tuple(sorted(found, key=lambda hub: (-hub.importers, hub.path))[:MOST_HUBS])


def scorecard(
    tree: Tree,
    imports: Imports,
    hubs: Sequence[Hub],
    *,
    max_parallel: int,
    ordered: bool = False,
    commits: Iterable[Sequence[str]] = (),
) -> Scorecard:
    """The figures of a split. `ordered`: the leaves follow their imports."""
    leaves, owners = tree.leaves, tree.owners
    edges = [(path, other) for path, others in imports.items() for other in others]
    spokes = {hub.path for hub in hubs}
    plain = [edge for edge in edges if spokes.isdisjoint(edge)]
    against = _against(tree, edges) if ordered else []
    tokens = sum(leaf.tokens for leaf in leaves)
    inside = [_inside(commit, owners) for commit in _within(commits, owners)]
    return Scorecard(
        files=len(owners),
        tokens=tokens,
        leaves=len(leaves),
        depth=max(leaf.depth for leaf in leaves),
        balance=max(leaf.tokens for leaf in leaves) * len(leaves) / tokens if tokens else 1.0,
        edges=len(edges),
        cut=cut(edges, owners),
        cut_without_hubs=cut(plain, owners),
        cyclic=_cyclic(leaves, set(edges) - set(against), owners),
        speedup=speedup(leaves, max_parallel),
        max_parallel=max_parallel,
        against=len(against),
        commits=len(inside),
        commits_inside=sum(inside) / len(inside) if inside else None,
    )


def _against(tree: Tree, edges: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Imports between leaves that are not in `after`."""
    owners, by_id = tree.owners, tree.by_id
    return [
        (path, other)
        for path, other in edges
        if owners[path] != owners[other] and owners[other] not in by_id[owners[path]].after
    ]


def cut(edges: Collection[tuple[str, str]], owners: Mapping[str, str]) -> float | None:
    if not edges:
        return None
    return sum(owners[one] != owners[other] for one, other in edges) / len(edges)


def speedup(leaves: Sequence[Node], max_parallel: int) -> float:
    """How many times as fast as one after another, work being tokens.

    By list scheduling: whenever there is room, the most urgent of those that may start does.
    """
    total = sum(map(_work, leaves))
    return total / makespan(leaves, max_parallel) if leaves else 1.0


def makespan(leaves: Sequence[Node], max_parallel: int) -> float:
    """The duration of everything, in tokens."""
    urgent = urgency(leaves)
    place = {leaf.id: n for n, leaf in enumerate(leaves)}
    missing = {leaf.id: sum(each in place for each in leaf.after) for leaf in leaves}
    followers = _followers(leaves)
    ready = [(-urgent[name], place[name]) for name, left in missing.items() if not left]
    heapq.heapify(ready)
    running: list[tuple[int, int]] = []
    now = 0
    while ready or running:
        while ready and len(running) < max_parallel:
            _, at = heapq.heappop(ready)
            heapq.heappush(running, (now + _work(leaves[at]), at))
        now, at = heapq.heappop(running)
        for name in followers[leaves[at].id]:
            missing[name] -= 1
            if not missing[name]:
                heapq.heappush(ready, (-urgent[name], place[name]))
    return now


def urgency(leaves: Sequence[Node]) -> dict[str, int]:
    """For each leaf, the tokens of the longest chain that begins with it."""
    followers = _followers(leaves)
    work = {leaf.id: _work(leaf) for leaf in leaves}
    found: dict[str, int] = {}
    for group in components(followers):  # what follows comes first
        for name in group:
            found[name] = work[name] + max((found.get(n, 0) for n in followers[name]), default=0)
    return found


def _followers(leaves: Sequence[Node]) -> dict[str, list[str]]:
    followers: dict[str, list[str]] = {leaf.id: [] for leaf in leaves}
    for leaf in leaves:
        for each in leaf.after:
            if each in followers:
                followers[each].append(leaf.id)
    return followers


def _work(leaf: Node) -> int:
    return max(leaf.tokens, 1)


def _cyclic(
    leaves: Sequence[Node], edges: Iterable[tuple[str, str]], owners: Mapping[str, str]
) -> float:
    between: dict[str, set[str]] = {leaf.id: set() for leaf in leaves}
    for one, other in edges:
        if owners[one] != owners[other]:
            between[owners[one]].add(owners[other])
    circles = {name for group in components(between) if len(group) > 1 for name in group}
    return sum(len(leaf.files) for leaf in leaves if leaf.id in circles) / max(1, len(owners))


def _within(commits: Iterable[Sequence[str]], owners: Mapping[str, str]) -> Iterable[list[str]]:
    """The files of each commit that are in the plan; commits with one such file are left out."""
    for commit in commits:
        known = [path for path in commit if path in owners]
        if len(known) > 1:
            yield known


def _inside(commit: Sequence[str], owners: Mapping[str, str]) -> bool:
    return len({owners[path] for path in commit}) == 1
