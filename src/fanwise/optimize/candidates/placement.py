"""To put a candidate into a workspace, as what it is: a patch, a file, a function, a branch.

What comes out is what is judged, and what the winner's patch will be; so all that the candidate
did must be in it. A change to a file that git ignores would work here and be lost there: that is
refused, as are links that lead out. What it did to its judges is undone (see `judges.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

import msgspec

from fanwise.errors import BadTarget, CandidateUnfit, GitFailed, PatchFailed, UsageError
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.candidates.judges import is_judge, stands_in_for
from fanwise.optimize.candidates.normal_form import FileVersion, identity
from fanwise.optimize.candidates.replace_function import replace
from fanwise.optimize.candidates.target import Target
from fanwise.workspaces import Workspace

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate as it was placed in a workspace. JSON-able."""

    patch: str
    """All of it, against the commit that all started from."""
    files: tuple[str, ...]
    """The files that it changes."""
    diff_lines: int
    """Lines added and removed."""
    identity: str
    """Equal for candidates that do the same; empty: it does what the original does."""
    left_out: tuple[str, ...] = ()
    """Files that judge it, which it would have changed too."""


def place(
    workspace: Workspace,
    candidate: Candidate,
    target: Target | None,
    *,
    judges: Collection[str] = (),
) -> Placement:
    """Put it there as `put` does, and say what it comes to."""
    return _placed(workspace, *put(workspace, candidate, target, judges=judges))


def put(
    workspace: Workspace,
    candidate: Candidate,
    target: Target | None,
    *,
    judges: Collection[str] = (),
) -> tuple[list[str], list[str]]:
    """Put it there; `CandidateUnfit` says why it cannot be. The workspace is as new before.

    Returns the files that it changes, and those that are left out: `judges`, which it may not
    change, and others that are known by their names.
    """
    meant = _PUT[candidate.kind](workspace, candidate, target)
    changed = workspace.changed_files()
    _refuse_lost(workspace, meant, changed)
    own = target.file if target is not None else None
    left_out = [path for path in changed if is_judge(path, more=judges, own=own)]
    workspace.restore(left_out)
    files = workspace.changed_files() if left_out else changed
    _refuse_links(workspace, files)
    _refuse_stand_ins(workspace, files)
    return files, left_out


def count_lines(patch: str) -> int:
    """How many lines a patch adds and removes."""
    count = old = new = 0
    for line in patch.split("\n"):
        if old > 0 or new > 0:
            old -= line[:1] in ("-", " ", "")
            new -= line[:1] in ("+", " ", "")
            count += line[:1] in ("+", "-")
        elif found := _HUNK.match(line):
            old, new = (1 if each is None else int(each) for each in found.groups())
    return count


def _put_patch(workspace: Workspace, candidate: Candidate, _: Target | None) -> list[str]:
    return _apply(workspace, candidate.content.encode())


def _put_branch(workspace: Workspace, candidate: Candidate, _: Target | None) -> list[str]:
    try:
        patch = workspace.changes_of(candidate.content)
    except GitFailed as error:
        raise CandidateUnfit(
            f"it has no commit in common with the original: {error.said}"
        ) from error
    return _apply(workspace, patch) if patch else []


def _apply(workspace: Workspace, patch: bytes) -> list[str]:
    try:
        workspace.apply(patch)
        return workspace.names_in(patch)
    except PatchFailed as error:
        raise CandidateUnfit(f"the patch does not apply: {error.said}") from error


def _put_file(workspace: Workspace, candidate: Candidate, _: Target | None) -> list[str]:
    if candidate.path is None:
        raise CandidateUnfit("it is a whole file, and nobody said which one")
    try:
        workspace.write(candidate.path, candidate.content)
    except (UsageError, OSError) as error:
        raise CandidateUnfit(f"{candidate.path} cannot be written: {error}") from error
    return [candidate.path]


def _put_function(workspace: Workspace, candidate: Candidate, target: Target | None) -> list[str]:
    if target is None:
        raise CandidateUnfit("it is the source of a function, and there is no target")
    try:
        source = replace(target.read(workspace.root), target, candidate.content)
        workspace.write(target.file, source.content())
    except (BadTarget, UnicodeEncodeError) as error:
        raise CandidateUnfit(str(error)) from error
    return [target.file]


def _put_nothing(_: Workspace, candidate: Candidate, __: Target | None) -> list[str]:
    raise CandidateUnfit(candidate.content)


_PUT: dict[str, Callable[[Workspace, Candidate, Target | None], list[str]]] = {
    "patch": _put_patch,
    "file": _put_file,
    "function": _put_function,
    "branch": _put_branch,
    "unreadable": _put_nothing,
}


def _refuse_lost(workspace: Workspace, meant: list[str], changed: list[str]) -> None:
    for path in sorted(set(meant).difference(changed)):
        if _file_now(workspace, path) != _file_at_base(workspace, path):
            raise CandidateUnfit(f"git ignores {path}, or does not know it: that would be lost")


def _refuse_links(workspace: Workspace, files: list[str]) -> None:
    root = workspace.root.resolve()
    for path in files:
        here = workspace.root / path
        if here.is_symlink() and not here.resolve().is_relative_to(root):
            raise CandidateUnfit(f"{path} is a link that leads out of the repository")


def _refuse_stand_ins(workspace: Workspace, files: list[str]) -> None:
    new = [path for path in files if workspace.at_base(path) is None]
    inside = workspace.path.relative_to(workspace.root).as_posix()
    name = stands_in_for(new, inside=inside, top=workspace.users)
    if name is not None:
        raise CandidateUnfit(f"its new module {name} would be imported in place of another {name}")


def _placed(workspace: Workspace, files: list[str], left_out: list[str]) -> Placement:
    try:
        patch = workspace.diff().decode()
    except UnicodeDecodeError as error:
        raise CandidateUnfit("its changes are not UTF-8 text") from error
    return Placement(
        patch=patch,
        files=tuple(files),
        diff_lines=count_lines(patch),
        identity=identity(
            {path: (_file_at_base(workspace, path), _file_now(workspace, path)) for path in files}
        ),
        left_out=tuple(left_out),
    )


def _file_at_base(workspace: Workspace, path: str) -> FileVersion | None:
    found = workspace.at_base(path)
    return None if found is None else FileVersion(*found)


def _file_now(workspace: Workspace, path: str) -> FileVersion | None:
    here = workspace.root / path
    if here.is_symlink():
        return FileVersion("120000", str(here.readlink()).encode())
    if not here.is_file():
        return None
    mode = "100755" if here.stat().st_mode & 0o100 else "100644"
    return FileVersion(mode, here.read_bytes())
