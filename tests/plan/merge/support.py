"""Changes of leaves, made of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fanwise.plan.merge.merge import merge_leaves, merge_result
from fanwise.plan.merge.trees import ChainCommit, chain, tree_of
from fanwise.plan.model.leaf_result import Blob, Change
from fanwise.plan.model.merge_result import MergeResult
from fanwise.workspaces.git import Git
from tests.workspaces.support import make_repo

Content = str | bytes | Blob | None
"""A text, its bytes, a blob that is there; None: no file."""


def repository(folder: Path, files: Mapping[str, str]) -> Git:
    """A user's repository, and git there."""
    return Git(make_repo(folder, dict(files)))


def change(git: Git, leaf: str, files: Mapping[str, Content]) -> Change:
    """What a leaf did."""
    found = {path: blob(git, content) for path, content in files.items()}
    return Change(leaf=leaf, title=f"Title of {leaf}", files=found)


def merge(git: Git, base: str, changes: Sequence[Change]) -> MergeResult:
    """Merge the changes, in order, and write the tree."""
    found = merge_leaves(git, base, changes)
    laid = [each.files for each in found if not each.conflicts]
    files = {path: blob for each in laid for path, blob in each.items()}
    commit = chain(git, base, [ChainCommit(files, "merged")])[-1] if files else base
    return merge_result(found, tree_of(git, commit))


def blob(git: Git, content: Content, mode: str = "100644") -> Blob | None:
    """Put a text into the repository."""
    if content is None or isinstance(content, Blob):
        return content
    data = content.encode() if isinstance(content, str) else content
    return Blob(mode, git("hash-object", "-w", "--stdin", stdin=data))


def read(git: Git, tree: str, path: str) -> str:
    """A file of a tree or commit."""
    return git.raw("cat-file", "blob", f"{tree}:{path}").decode()


def names(git: Git, tree: str) -> set[str]:
    """All files of a tree or commit."""
    return set(git.names("ls-tree", "-r", "-z", "--name-only", tree))


def lines(count: int = 30, **changed: str) -> str:
    """A file of numbered lines; `l7="x"` is what stands in line 7."""
    return "".join(f"{changed.get(f'l{n}', f'line {n}')}\n" for n in range(1, count + 1))
