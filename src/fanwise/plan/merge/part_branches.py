"""One branch for each sub-plan, so that each can be reviewed by itself.

A branch has the commit of its sub-plan on top of those that it builds on: sub-plans that it comes
after, and earlier ones that changed the same files. So most branches have a single commit, and each
can be merged as soon as those below it are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fanwise.plan.merge.trees import ChainCommit, Files, chain
from fanwise.plan.model.leaf_result import Blob
from fanwise.plan.model.node import Tree
from fanwise.workspaces.git import Git

_LONGEST = 40
_NOTHING = "0" * 6


class _Part(NamedTuple):
    leaf: str
    commit: str
    message: str
    author: str
    when: int
    files: Files


def part_branches(
    git: Git, base: str, last: str, leaves: Sequence[str], tree: Tree, prefix: str
) -> dict[str, str]:
    """Write the commits of the branches, but not the refs; return both by name.

    `leaves` are those in the commits from `base` to `last`, in order.
    """
    parts = _parts(git, base, last, leaves)
    below: list[list[int]] = []
    found = {}
    for place, part in enumerate(parts):
        below.append(_below(place, parts, below, tree))
        members = [*below[place], place]
        title = tree.by_id[part.leaf].title if part.leaf in tree.by_id else part.leaf
        name = f"{prefix}-parts/{place + 1:02}-{_slug(title)}"
        if members == list(range(place + 1)):
            found[name] = part.commit
        else:
            steps = [ChainCommit(parts[each].files, parts[each].message) for each in members]
            found[name] = chain(git, base, steps, author=part.author, when=part.when)[-1]
    return found


def _below(place: int, parts: Sequence[_Part], below: Sequence[list[int]], tree: Tree) -> list[int]:
    """The earlier parts that a part builds on, directly or not."""
    node = tree.by_id.get(parts[place].leaf)
    after = set() if node is None else set(node.after)
    wanted: set[int] = set()
    for each in range(place):
        shares = not parts[each].files.keys().isdisjoint(parts[place].files)
        if shares or parts[each].leaf in after:
            wanted |= {each, *below[each]}
    return sorted(wanted)


def _parts(git: Git, base: str, last: str, leaves: Sequence[str]) -> list[_Part]:
    form = "--format=%H%x00%an <%ae>%x00%ct%x00%B"
    out = os.fsdecode(git.raw("log", "--reverse", "-z", form, f"{base}..{last}", "--"))
    words = out.removesuffix("\0").split("\0") if out else []
    told = [words[at : at + 4] for at in range(0, len(words), 4)]
    assert len(told) == len(leaves), "one commit for each sub-plan"
    changed = _changed(git, [row[0] for row in told])
    return [
        _Part(leaf, commit, message, author, int(when), changed.get(commit, {}))
        for leaf, (commit, author, when, message) in zip(leaves, told, strict=True)
    ]


def _changed(git: Git, commits: Sequence[str]) -> Mapping[str, Files]:
    """What each commit did to its parent."""
    asked = "".join(f"{commit}\n" for commit in commits).encode()
    out = git.raw("diff-tree", "--stdin", "-r", "-z", "--no-renames", stdin=asked)
    found: dict[str, dict[str, Blob | None]] = {}
    words = iter(os.fsdecode(word) for word in out.split(b"\0") if word)
    commit = ""
    for word in words:
        if word.startswith(":"):
            _, mode, _, name, _ = word.split()
            found[commit][next(words)] = None if mode == _NOTHING else Blob(mode, name)
        else:
            commit = word.strip()
            found[commit] = {}
    return found


def _slug(title: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", title).strip("-")
    return plain[:_LONGEST].strip("-") or "part"
