"""Applies edits to the files of a workspace: all contents are computed first, then written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from fanwise.errors import UsageError, WorkFailed
from fanwise.plan.work.edits import BadAnswer, Edit
from fanwise.plan.work.names import Names, NotInside
from fanwise.plan.work.near_match import replace_near
from fanwise.workspaces import Workspace
from fanwise.workspaces.slot import inside

Contents = Mapping[str, str | None]
"""By path; None: nothing is there any more."""


def edited(
    edits: Collection[Edit],
    *,
    names: Names,
    read: Callable[[str], str | None],
    allowed: Callable[[str], str],
    note: Callable[[str], None] = lambda text: None,
) -> Contents:
    """Compute the contents that the edits lead to. Pure apart from `read`. `BadAnswer`.

    `allowed` returns why a path may not be changed; empty: it may. `note` is called with edits that
    were understood although they do not match exactly.
    """
    found: dict[str, str | None] = {}
    replaced: set[str] = set()
    for edit in edits:
        path = path_of(edit.name, names)
        if why := allowed(path):
            raise BadAnswer(f"`{edit.name}` {why}")
        if path in found and not (edit.kind == "EDIT" and path in replaced):
            raise BadAnswer(f"`{edit.name}` is there twice")
        now = found[path] if path in replaced else read(path)
        if edit.kind == "EDIT":
            replaced.add(path)
        found[path] = _encodable(edit.name, _one(edit, now, note))
    _check_folders(found)
    return found


def path_of(name: str, names: Names) -> str:
    try:
        return names.top(name)
    except NotInside as error:
        raise BadAnswer(str(error)) from None


def _encodable(name: str, text: str | None) -> str | None:
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        raise BadAnswer(f"the text of `{name}` has invalid characters") from None
    return text


def _one(edit: Edit, now: str | None, note: Callable[[str], None]) -> str | None:
    if edit.kind == "DELETE":
        if now is None:
            raise BadAnswer(f"`{edit.name}` is to be deleted, but does not exist")
        return None
    if edit.kind == "FILE":
        return _ended_as(now, edit.text)
    if now is None:
        raise BadAnswer(f"`{edit.name}` does not exist: write a new file with `FILE:`")
    for search, replace in edit.pairs:
        now = _replaced(edit.name, now, _ended_as(now, search), _ended_as(now, replace), note)
    return now


def _ended_as(now: str | None, text: str) -> str:
    """The text with Windows line ends, if the file has only these."""
    windows = now is not None and "\r\n" in now and now.count("\n") == now.count("\r\n")
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if windows else text


def _replaced(name: str, text: str, search: str, replace: str, note: Callable[[str], None]) -> str:
    if not search.strip():
        raise BadAnswer(f"a search in `{name}` is empty")
    times = text.count(search)
    if times == 0 and text.endswith(search.rstrip("\r\n")) and not text.endswith("\n"):
        search, replace, times = search.rstrip("\r\n"), replace.rstrip("\r\n"), 1
    shown = search.strip().partition("\n")[0][:80]
    if times == 0 and (near := replace_near(text, search, replace)) is not None:
        note(f"a search in `{name}` was matched although its whitespace differs: {shown!r}")
        return near
    if times != 1:
        where = "it matches nowhere" if times == 0 else f"it matches {times} times"
        raise BadAnswer(f"a search in `{name}` must match exactly once, but {where}: {shown!r}")
    return text.replace(search, replace)


def _check_folders(found: Contents) -> None:
    """Refuse a new file inside a folder that has the name of another new file."""
    for path, text in found.items():
        folder = path.rpartition("/")[0]
        while text is not None and folder:
            if found.get(folder) is not None:
                raise BadAnswer(f"`{folder}` cannot be a file and a folder")
            folder = folder.rpartition("/")[0]


def read_text(workspace: Workspace, path: str) -> str | None:
    """A file as it is now; None: it does not exist. `BadAnswer` if it is a link or not text."""
    try:
        target = inside(workspace.root, path)
        if target.is_symlink() or (target.exists() and not target.is_file()):
            raise BadAnswer(f"`{path}` is not a regular file")
        return target.read_bytes().decode() if target.exists() else None
    except UnicodeDecodeError:
        raise BadAnswer(f"`{path}` is not UTF-8 text") from None
    except UsageError:
        raise BadAnswer(f"`{path}` leads out of the repository") from None
    except (OSError, RuntimeError) as error:  # the latter: links in a circle
        raise BadAnswer(f"`{path}` cannot be read: {error}") from None


def write_all(workspace: Workspace, contents: Contents) -> None:
    """Write them, deletions first. `WorkFailed`."""
    try:
        for path, text in sorted(contents.items(), key=lambda each: each[1] is not None):
            if text is None:
                inside(workspace.root, path).unlink()
                _forget_empty(workspace.root, path)
            else:
                workspace.write(path, text)
    except (OSError, RuntimeError, UsageError) as error:
        raise WorkFailed(f"its edits could not be written: {error}") from error


def _forget_empty(root: Path, path: str) -> None:
    """Remove folders that are empty now, as git does."""
    for folder in Path(path).parents:
        if folder == Path() or any((root / folder).iterdir()):
            return
        (root / folder).rmdir()
