"""Makes commits of changes, without a work tree and without an index.

One `git fast-import` writes any number of commits, and reads only the folders that contain a
change. No ref names the commits afterwards; see `workspaces/apart.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fanwise.plan.model.leaf_result import Blob, Change
from fanwise.workspaces import Workspace
from fanwise.workspaces.apart import apart
from fanwise.workspaces.git import Git
from fanwise.workspaces.source import files_of_commit

Files = Mapping[str, Blob | None]
"""The new content of each path; None: it is deleted."""

NOBODY = "fanwise <fanwise@localhost>"
_MARKS = "marks"
_QUOTED = {ord('"'): b'\\"', ord("\\"): b"\\\\", ord("\n"): b"\\n"}


class ChainCommit(NamedTuple):
    """One commit of a chain: what it changes, and what it says."""

    files: Files
    message: str


class PlannedCommit(NamedTuple):
    """A commit to be written. Without a parent it follows the one before it in its ref, if any."""

    ref: str
    parent: str | None
    step: ChainCommit


def commit_with(git: Git, base: str, changes: Sequence[Change], message: str) -> str:
    """Return a commit on `base` with these changes; of two changes to a path, the later one counts.

    The same changes make the same commit. Without changes it is `base` itself.
    """
    files = {path: blob for change in changes for path, blob in change.files.items()}
    return chain(git, base, [ChainCommit(files, message)])[-1] if files else base


def chain(
    git: Git,
    base: str,
    steps: Sequence[ChainCommit],
    *,
    author: str = NOBODY,
    when: int | None = None,
) -> list[str]:
    """Return commits, each on the one before it, the first on `base`.

    `author` is a name with an address in `<>`. The commits are dated `when`, in seconds; None: like
    `base`, so that a second call makes the same commits.
    """
    if not steps:
        return []
    first, made = git("log", "-1", "--format=%H %ct", "--end-of-options", base, "--").split()
    with apart(git) as own:
        ref = "refs/heads/chain"
        planned = [PlannedCommit(ref, None if n else first, step) for n, step in enumerate(steps)]
        return write(own, planned, author=author, when=int(made) if when is None else when)


def write(
    git: Git, planned: Sequence[PlannedCommit], *, author: str = NOBODY, when: int = 0
) -> list[str]:
    """Write commits and their refs; `git` is a throw-away repository."""
    stream = b"".join(_stream(planned, f"{author} {when} +0000"))
    marks = git.cwd.with_name(_MARKS)
    git("fast-import", "--quiet", "--force", f"--export-marks={marks}", stdin=stream)
    rows = (line.split() for line in marks.read_text().splitlines())
    found = {int(mark[1:]): commit for mark, commit in rows}
    return [found[number] for number in range(1, len(planned) + 1)]


def change_of(
    workspace: Workspace, leaf: str, title: str, paths: Sequence[str] | None = None
) -> Change:
    """Return what was changed in a workspace, and write the contents to the repository.

    `paths`: all paths that were changed, where that is known.
    """
    changed = workspace.changed_blobs(paths)
    files = {path: None if blob is None else Blob(*blob) for path, blob in changed.items()}
    return Change(leaf=leaf, title=title, files=files)


def blobs_at(git: Git, commit: str) -> dict[str, Blob]:
    return {path: Blob(*found) for path, found in files_of_commit(git, commit).items()}


def tree_of(git: Git, commit: str) -> str:
    return git("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")


def _stream(planned: Sequence[PlannedCommit], who: str) -> Iterator[bytes]:
    yield b"feature done\n"
    for mark, (ref, parent, step) in enumerate(planned, 1):
        message = step.message.encode("utf-8", "surrogateescape")
        yield f"commit {ref}\nmark :{mark}\ncommitter {who}\n".encode()
        yield b"data %d\n%s\n" % (len(message), message)
        if parent is not None:
            yield f"from {parent}\n".encode()
        # First what goes: a folder may make room for a file, or a file for a folder.
        for path, blob in step.files.items():
            if blob is None:
                yield b"D %s\n" % _quoted(path)
        for path, blob in step.files.items():
            if blob is not None:
                yield b"M %s %s %s\n" % (blob.mode.encode(), blob.name.encode(), _quoted(path))
    yield b"done\n"


def _quoted(path: str) -> bytes:
    inside = b"".join(_QUOTED.get(byte, bytes((byte,))) for byte in os.fsencode(path))
    return b'"%s"' % inside
