"""Changes of two sides to the same files, brought together by `git merge-tree`.

It has no option for the base, and looks for it in the history of the two commits. So each side is
a commit of ours on one that has the files as they were in the commit that all started from. These
commits have only the files in question: that is what makes a merge of a few of thousands cheap.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fanwise.errors import GitFailed
from fanwise.plan.merge.trees import ChainCommit, PlannedCommit, blobs_at, write
from fanwise.plan.model.change import Blob
from fanwise.workspaces.git import Git

BASE, MERGED, LEAF = "base", "merged", "leaf"
"""The refs of the three, and the words in the marks of a conflict."""

_RENAMES = ("merge.renames=true", "merge.directoryRenames=false", "merge.conflictStyle=merge")
_MOST_MARKS = 2_000
SUBMODULE = "160000"


class GitMessage(NamedTuple):
    """One thing that git has to say about some files."""

    paths: tuple[str, ...]
    kind: str
    """As git writes it: `contents`, `modify/delete`, `rename/rename` …"""


class ThreeWayResult(NamedTuple):
    """What came of it. With conflicts, `files` has both versions of what is in question."""

    files: Mapping[str, Blob]
    conflicts: tuple[GitMessage, ...]
    marks: str = ""
    """The lines in conflict, with git's marks around them."""


def together(
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


def renames(git: Git, side: str) -> dict[str, str]:
    """Return the files that a side of the last merge renamed, with their new names."""
    command = ("diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status")
    words = git.names(*command, BASE, side)
    return dict(zip(words[1::3], words[2::3], strict=True))


def lay_attributes(git: Git, base: Mapping[str, Blob]) -> None:
    """Let git see the `.gitattributes` of the commit that all started from, in its folder.

    A file may be merged by `union`, or as `binary`: these are git's own. A driver that is a program
    has no meaning here, for no configuration says which.
    """
    for path, blob in base.items():
        if path.rpartition("/")[2] == ".gitattributes" and blob.mode != "120000":
            target = git.cwd / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(git.raw("cat-file", "blob", blob.name))


def write_sides(
    git: Git, base: Mapping[str, Blob], ours: Mapping[str, Blob], theirs: Mapping[str, Blob]
) -> None:
    """Write the commits of the two sides and of what they have in common."""
    sides = [(BASE, None, base), (MERGED, ":1", ours), (LEAF, ":1", theirs)]
    write(git, [PlannedCommit(f"refs/heads/{ref}", on, _step(files, base if on else {}))
                for ref, on, files in sides])  # fmt: skip


def _step(files: Mapping[str, Blob], base: Mapping[str, Blob]) -> ChainCommit:
    changed: dict[str, Blob | None] = dict.fromkeys(base.keys() - files.keys())
    changed |= {path: blob for path, blob in files.items() if base.get(path) != blob}
    return ChainCommit(changed, "")


def _conflicts(words: list[str]) -> Iterable[GitMessage]:
    """Read what follows the tree: names, an empty word, then messages.

    A message is a count, so many paths, a type, and a text. What comes after them is advice.
    """
    at = words.index("") + 1
    while at < len(words) and words[at].isdigit():
        count = int(words[at])
        paths, kind = words[at + 1 : at + 1 + count], words[at + 1 + count]
        if kind.startswith("CONFLICT (") and kind != "CONFLICT (binary)":
            yield GitMessage(tuple(paths), kind.removeprefix("CONFLICT (").removesuffix(")"))
        at += count + 3


def _marks(git: Git, files: Mapping[str, Blob]) -> str:
    """The parts of files between marks of a conflict, so many as people read."""
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
