"""One merge of a plan: a commit for each leaf, and the names that the merge would break."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fanwise.plan.merge.leaf_merge import LeafMerge
from fanwise.plan.merge.merge import merge_leaves, merge_result
from fanwise.plan.merge.removed_names import broken_names
from fanwise.plan.merge.trees import NOBODY, ChainCommit, Files, chain, tree_of
from fanwise.plan.model.leaf_result import Change
from fanwise.plan.model.merge_result import MergeStep
from fanwise.workspaces.git import Git

MOST_FILES = 50
"""The most files that a commit message names."""
SUBJECT = 72
"""The longest first line of a message."""


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """Who made the commits of a plan, when, and what for."""

    goal: str
    author: str = NOBODY
    when: int | None = None
    """In seconds. None: that of the base commit, so that the same merge makes the same commits."""


def merge_step(
    git: Git,
    base: str,
    changes: Sequence[Change],
    signed: Signature,
    *,
    on_top: Sequence[Change] = (),
) -> MergeStep:
    """Merge the changes, in order, and make one commit of each leaf.

    `on_top` are changes of leaves that were run again on the merge of the others: they are put on
    it as they are, and the first changes of these leaves do not count.
    """
    again = {change.leaf for change in on_top}
    merges = merge_leaves(git, base, [each for each in changes if each.leaf not in again])
    merges += [LeafMerge(each.leaf, each.files) for each in on_top]
    by_leaf = {each.leaf: each for each in (*changes, *on_top)}
    steps = [
        ChainCommit(each.files, message_of(by_leaf[each.leaf], each.files, signed.goal))
        for each in merges
        if not each.conflicts
    ]
    commits = chain(git, base, steps, author=signed.author, when=signed.when)
    commit = commits[-1] if commits else base
    merged = merge_result(merges, tree_of(git, commit))
    broken = broken_names(git, base, merged.tree, [by_leaf[leaf] for leaf in merged.leaves])
    return MergeStep(merged=merged, commit=commit, broken=broken)


def rests_on(change: Change, changes: Sequence[Change]) -> tuple[str, ...]:
    """The leaves whose changes are part of the change of one that was run again on their merge.

    Without any of them it cannot be put on the rest: it contains their version of a file.
    """
    return tuple(
        other.leaf
        for other in changes
        if other.leaf != change.leaf and not change.files.keys().isdisjoint(other.files)
    )


def message_of(change: Change, files: Files, goal: str) -> str:
    """The message of a leaf's commit: what was done, then where.

    Goals, titles and file names come from elsewhere, so each is kept on one line.
    """
    what = _line(change.goal or goal)
    where = _place(change, len(files))
    room = SUBJECT - len(where) - 2
    short = what if len(what) <= room else f"{what[: max(room, 20) - 1].rstrip()}…"
    names = [f"  {_line(path)}" for path in sorted(files)]
    if len(names) > MOST_FILES:
        names[MOST_FILES:] = [f"  and {len(names) - MOST_FILES} more"]
    body = [] if short == what else [what, ""]
    told = [f"{short}: {where}", "", *body, f"Sub-plan: {change.leaf}", "Files:", *names, ""]
    return "\n".join(told)


def _place(change: Change, files: int) -> str:
    """A leaf's title; if it lists several names, the folder that they are in."""
    title = _line(change.title) or change.leaf
    folder, lists, _ = title.partition("{")
    if not lists and len(title) <= SUBJECT // 2:
        return title
    count = f"{files} file{'' if files == 1 else 's'}"
    folder = folder.rstrip("/") if lists else folder.rpartition("/")[0]
    return f"{folder} ({count})" if 0 < len(folder) <= SUBJECT // 2 else count


def author_of(git: Git) -> str:
    """The author that git has configured here, or `NOBODY`."""
    code, out, _ = git.run("var", "GIT_AUTHOR_IDENT")
    known = out.decode("utf-8", "surrogateescape").rpartition(">")[0]
    return f"{known}>" if code == 0 and known else NOBODY


def _line(text: str) -> str:
    return " ".join(text.split())
