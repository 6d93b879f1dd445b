"""Files split into a tree of sub-plans: which belong together, and which come after which. Pure.

What reads files, commits and history is in `files` and `history`; the rest has no I/O, and gives
the same for any order of its input.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fanwise.errors import UsageError
from fanwise.plan.node import Said, Split
from fanwise.plan.split.directory import by_directory
from fanwise.plan.split.files import File, Listing, files_at, files_in, files_of
from fanwise.plan.split.part import explained
from fanwise.plan.split.rules import Rules
from fanwise.plan.split.scorecard import scorecard
from fanwise.plan.split.tree import Grower

__all__ = ["File", "Listing", "Rules", "files_at", "files_in", "files_of", "split"]


def split(
    files: Iterable[File],
    rules: Rules,
    *,
    goal: str = "",
    max_parallel: int = 10,
    commits: Iterable[Sequence[str]] = (),
    left_out: Iterable[Said] = (),
) -> Split:
    """Split files into sub-plans. `commits`: paths that changed together in the past."""
    rules.check()
    known = _known(files)
    tokens = {path: known[path].tokens for path in sorted(known)}
    digests = {path: file.digest for path, file in known.items()}
    part = explained(by_directory(tokens, rules), tokens, rules)
    tree = Grower(goal, tokens, digests, rules).tree(part)
    return Split(
        mode=rules.mode,
        tree=tree,
        imports={},
        left_out=tuple(sorted(left_out)),
        scorecard=scorecard(tree, {}, (), max_parallel=max_parallel, commits=commits),
    )


def _known(files: Iterable[File]) -> dict[str, File]:
    known: dict[str, File] = {}
    for file in files:
        if file.path.startswith("/") or ".." in file.path.split("/"):
            raise UsageError(
                f"{file.path} is not a path from the top of the code base on",
                "Read files by files_of(paths, root), which takes absolute paths too",
            )
        if known.setdefault(file.path, file) != file:
            raise UsageError(f"{file.path} is there twice", "Give each file once")
    if not known:
        raise UsageError("there are no files to split", "See which files match the patterns")
    return known
