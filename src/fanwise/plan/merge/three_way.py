"""Merges the changes of two sides to the same files with `git merge-tree`.

`merge-tree` has no option for the base: it looks for it in the history of the two commits. So each
side becomes a commit on top of one that has the files as they were when all leaves started. These
commits contain only the files that both sides changed, which makes it cheap to merge a few files of
thousands.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fanwise.errors import GitFailed
from fanwise.plan.merge.trees import ChainCommit, PlannedCommit, blobs_at, write
from fanwise.plan.model.leaf_result import Blob
from fanwise.workspaces.git import Git

BASE, MERGED, LEAF = "base", "merged", "leaf"
"""The refs of the base and both sides, and their labels in conflict marks."""

_RENAMES = ("merge.renames=true", "merge.directoryRenames=false", "merge.conflictStyle=merge")
_MOST_MARKS = 2_000
SUBMODULE = "160000"


class GitMessage(NamedTuple):
    """What git says about some files."""

    paths: tuple[str, ...]
    kind: str
    """As git writes it: `contents`, `modify/delete`, `rename/rename` …"""


class ThreeWayResult(NamedTuple):
    """The merged files. With conflicts, `files` contains both versions, with marks."""

    files: Mapping[str, Blob]
    conflicts: tuple[GitMessage, ...]
    marks: str = ""
    """The lines in conflict, with git's marks around them."""


def merge_sides(
    git: Git, base: Mapping[str, Blob], ours: Mapping[str, Blob], theirs: Mapping[str, Blob]
) -> ThreeWayResult:
    """Merge the files of two sides; `git` is a throw-away repository."""
    write_sides(git, base, ours, theirs)
    options = [word for each in _RENAMES for word in ("-c", each)]
    command = ("merge-tree", "--write-tree", "-z", "--name-only", "--messages", MERGED, LEAF)
    code, out, said = git.run(*options, *command)
    if code not in (0, 1):
        raise GitFailed("git merge-tree", said)
    tree, _, rest = out.partition(b"\0")
    files = blobs_at(git, tree.decode())
    if code == 0:
        return ThreeWayResult(files, ())
    found = tuple(_conflicts([os.fsdecode(word) for word in rest.split(b"\0")]))
    contents = {path for each in found if each.kind == "contents" for path in each.paths}
    return ThreeWayResult(files, found, _marks(git, {path: files[path] for path in sorted(contents)
                                               if path in files}))  # fmt: skip


def lay_attributes(git: Git, base: Mapping[str, Blob]) -> None:
    """Put the `.gitattributes` of the base where git looks for them.

    A file may be merged by `union`, or as `binary`: these are built into git. A driver that is a
    program does not run, because no configuration names it here.
    """
    for path, blob in base.items():
        if path.rpartition("/")[2] == ".gitattributes" and blob.mode != "120000":
            target = git.cwd / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(git.raw("cat-file", "blob", blob.name))


def write_sides(
    git: Git, base: Mapping[str, Blob], ours: Mapping[str, Blob], theirs: Mapping[str, Blob]
) -> None:
    """Write the commits of the two sides and of their base."""
    sides = [(BASE, None, base), (MERGED, ":1", ours), (LEAF, ":1", theirs)]
    write(git, [PlannedCommit(f"refs/heads/{ref}", on, _step(files, base if on else {}))
                for ref, on, files in sides])  # fmt: skip


def _step(files: Mapping[str, Blob], base: Mapping[str, Blob]) -> ChainCommit:
    changed: dict[str, Blob | None] = dict.fromkeys(base.keys() - files.keys())
    changed |= {path: blob for path, blob in files.items() if base.get(path) != blob}
    return ChainCommit(changed, "")


def _conflicts(words: list[str]) -> Iterable[GitMessage]:
    """Parse what follows the tree: names, an empty word, then messages, then advice.

    A message is a count, so many paths, a type, and a text.
    """
    at = words.index("") + 1
    while at < len(words) and words[at].isdigit():
        count = int(words[at])
        paths, kind = words[at + 1 : at + 1 + count], words[at + 1 + count]
        if kind.startswith("CONFLICT (") and kind != "CONFLICT (binary)":
            yield GitMessage(tuple(paths), kind.removeprefix("CONFLICT (").removesuffix(")"))
        at += count + 3


def _marks(git: Git, files: Mapping[str, Blob]) -> str:
    """The parts of files between conflict marks, cut to what people read."""
    found: list[str] = []
    for path, blob in files.items():
        if blob.mode == SUBMODULE:
            continue
        content = git.raw("cat-file", "blob", blob.name)
        inside = False
        for line in content.decode("utf-8", "replace").splitlines():
            if line.startswith(f"<<<<<<< {MERGED}"):
                inside = True
                found.append(f"{path}:")
            if inside:
                found.append(line)
            if line.startswith(f">>>>>>> {LEAF}"):
                inside = False
        if sum(map(len, found)) > _MOST_MARKS:
            break
    text = "\n".join(found)
    return text if len(text) <= _MOST_MARKS else f"{text[:_MOST_MARKS]}\n…"
