"""Who was made from whom: the candidates as a tree, in the order of a table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fanwise.optimize.candidates.candidate import Candidate


class LineageRow(NamedTuple):
    """A candidate in the tree."""

    candidate: Candidate
    depth: int
    """0: nobody made it from another."""


def lineage(candidates: Sequence[Candidate]) -> list[LineageRow]:
    """Each below the one that it was made from, else in the order given.

    One whose parent is not there, or that would be its own ancestor, is a root: what is in a
    journal may be cut, and nothing shall be missing from a table.
    """
    known = {each.key for each in candidates}
    children: dict[str | None, list[Candidate]] = {}
    for each in candidates:
        parent = each.parent if each.parent in known and each.parent != each.key else None
        children.setdefault(parent, []).append(each)
    placed: list[LineageRow] = []
    seen: set[str] = set()
    for root in [*children.get(None, []), *candidates]:
        _descend(root, children, seen, placed)
    return placed


def _descend(
    root: Candidate,
    children: dict[str | None, list[Candidate]],
    seen: set[str],
    placed: list[LineageRow],
) -> None:
    waiting = [LineageRow(root, 0)]
    while waiting:
        at = waiting.pop()
        if at.candidate.key in seen:
            continue
        seen.add(at.candidate.key)
        placed.append(at)
        below = children.get(at.candidate.key, [])
        waiting += [LineageRow(each, at.depth + 1) for each in reversed(below)]
