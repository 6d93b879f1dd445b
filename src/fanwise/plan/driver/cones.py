"""Which folders a workspace needs: of a big repository not all are checked out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

BIG = 5_000
"""A repository with more files than this is checked out in part, if the file does not say."""
NOTHING = (".fanwise-nothing",)
"""The folder of a slot that nobody has taken yet: only the files at the top are there."""


def is_sparse(asked: bool | Sequence[str] | None, files: int) -> bool:
    """Whether workspaces have only what they need."""
    if asked is None:
        return files > BIG
    return asked is not False


def cone_of(
    files: Iterable[str],
    imports: Mapping[str, Sequence[str]],
    tests: Iterable[str],
    further: Iterable[str],
) -> tuple[str, ...]:
    """The folders of files, of what they import, of tests; and those that the file names."""
    own = list(files)
    used = [path for each in own for path in imports.get(each, ())]
    folders = {str(PurePosixPath(path).parent) for path in (*own, *used, *tests)}
    found = {*folders - {"."}, *(each.strip("/") for each in further)}
    return tuple(sorted(found)) or NOTHING
