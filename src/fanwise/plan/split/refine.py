"""Files moved to the group that they have most to do with, as long as that helps. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fanwise.plan.split.part import Sizes
from fanwise.plan.split.rules import Rules

PASSES = 8


def refine(
    groups: Sequence[Sequence[str]],
    paths: Sequence[str],
    near: Sequence[Mapping[int, float]],
    tokens: Sizes,
    rules: Rules,
) -> list[list[str]]:
    """Groups of the same files with less between them; each move keeps to the limits."""
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
    """One look at every file; whether any was moved."""
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
