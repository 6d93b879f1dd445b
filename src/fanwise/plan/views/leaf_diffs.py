"""What each sub-plan changed, line by line, from the objects in the user's repository.

The journal has only the names of contents. Where the repository is not at hand, or git has removed
an object that nothing names, the difference is not known, and the page says so.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from fanwise.errors import FanwiseError
from fanwise.journal.codec import JSON
from fanwise.plan.model.leaf_result import Change
from fanwise.plan.state.read_run import RecordedPlan
from fanwise.workspaces.blobs import BlobReader
from fanwise.workspaces.git import Git
from fanwise.workspaces.source import files_of_commit

MOST_BYTES = 200_000
"""Of a file: larger ones are only named. Of a leaf's difference: the rest is left out."""
MOST_ALL = 2_000_000
"""Of all that is shown of a plan."""
UNKNOWN = "The difference is not known here: the repository, or an object in it, is not there."
TOO_MUCH = "Left out, because the page would be too large."


class LeafDiffs:
    """The differences of a plan's leaves, made when they are asked for."""

    def __init__(self, found: RecordedPlan) -> None:
        self._git = Git(Path(JSON.decode(found.run.spec)["folder"]))
        self._commit = found.base.commit
        self._left = MOST_ALL
        self._base: dict[str, tuple[str, str]] | None = None

    def of(self, change: Change, paths: Sequence[str] = ()) -> str:
        """As a patch, of these files or of all that it changed."""
        if self._left <= 0:
            return TOO_MUCH
        try:
            if self._base is None:
                self._base = files_of_commit(self._git, self._commit)
            with closing(BlobReader(self._git)) as reader:
                lines = self._lines(reader, change, paths)
                patch = "\n".join(_until(lines, MOST_BYTES))
        except (FanwiseError, OSError):
            return UNKNOWN
        self._left -= len(patch)
        return patch

    def _lines(self, reader: BlobReader, change: Change, paths: Sequence[str]) -> Iterator[str]:
        assert self._base is not None
        for path in sorted(paths or change.files):
            if path not in change.files:
                continue
            start: Any = change.start.get(path)
            before = start.name if start is not None else self._base.get(path, (None, None))[1]
            if path in change.start and start is None:
                before = None
            blob = change.files[path]
            names = [before, None if blob is None else blob.name]
            sides = [None if name is None else reader.read([name])[0] for name in names]
            yield from _file_lines(path, *sides)


def _file_lines(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    old, new = before or b"", after or b""
    if any(b"\0" in side or len(side) > MOST_BYTES for side in (old, new)):
        yield f"+++ {path} (binary or large)"
        return
    was, now = (side.decode("utf-8", "backslashreplace").splitlines() for side in (old, new))
    names = ["/dev/null" if side is None else path for side in (before, after)]
    yield from difflib.unified_diff(was, now, names[0], names[1], lineterm="")


def _until(lines: Iterator[str], most: int) -> Iterator[str]:
    for line in lines:
        most -= len(line) + 1
        if most < 0:
            yield "… and more"
            return
        yield line
