"""A pool of workspaces: slots made one after another, once, and given out again and again.

It has no queue. Whoever takes a workspace holds a permit of a cap of that size, so one is free
(the kernel knows how to wait, who is next, and what can deadlock; a second queue here would know
none of that). Taking one resets it, which runs git; giving it back only notes that, so nothing
can fail or be cancelled at the end of a use.
"""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from fanwise.errors import (
    BadCap,
    GitFailed,
    NoFreeWorkspace,
    NoWorkspaces,
    UsageError,
    WorkspaceError,
)
from fanwise.workspaces.copies import matching
from fanwise.workspaces.folders import PoolFolder, alone, home_of, prune
from fanwise.workspaces.interpreter import interpreter_of
from fanwise.workspaces.repository import read_origin
from fanwise.workspaces.slot import Slot
from fanwise.workspaces.source import Place, Source, commit_of, find, there, tree_of
from fanwise.workspaces.sparse import cone
from fanwise.workspaces.workspace import Workspace

WHOLE = -1
"""The number of the slot that has all folders, beside those that count."""


class Lost(NamedTuple):
    """A slot that could not be made, and why."""

    number: int
    reason: str


class WorkspacePool:
    """`slots` isolated checkouts of the repository around `repo`: use it in a `with` block.

    They start from HEAD, or with `dirty` from what is in the user's tree now, files that git does
    not track and does not ignore included, or from the commit `base`. `copy` names further files
    to put there, by patterns relative to the top. `sparse` names the folders to check out of a big
    repository; with `whole`, one more slot with all folders is made meanwhile, for whoever takes
    one of these. Of a folder that is no repository, copies are made, and a warning says so.
    `users`: the user's own place, of which `repo` is a copy on another machine.

    The user's tree, index, branches, stash and configuration are not touched.
    """

    def __init__(
        self,
        repo: str | os.PathLike[str] = ".",
        *,
        slots: int = 4,
        dirty: bool = False,
        copy: Sequence[str] = (),
        sparse: Sequence[str] = (),
        base: str | None = None,
        whole: bool = False,
        users: Place | None = None,
    ) -> None:
        if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
            raise BadCap("slots", slots)
        _check_list("copy", copy)
        self._repo = Path(repo)
        self._wanted = slots
        self._dirty = dirty
        self._copy = tuple(copy)
        self._cone = _cone_of(sparse)
        self._base = base
        self._whole = whole
        self._users = users
        self._slots: dict[int, Slot] = {}
        self._free: deque[int] = deque()
        self._spare: deque[int] = deque()
        self._used: set[int] = set()
        self._folder: PoolFolder | None = None
        self._place: Place | None = None
        self._source: Source | None = None
        self._known: dict[str, str] = {}
        self.lost: tuple[Lost, ...] = ()
        """The slots that could not be made."""

    def __enter__(self) -> WorkspacePool:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._slots) - (WHOLE in self._slots)

    @property
    def base(self) -> str:
        """The commit that the workspaces start from."""
        return self._opened.base

    @property
    def tree(self) -> str:
        """The digest of all that is in that commit."""
        return tree_of(self._opened)

    @property
    def plain(self) -> bool:
        """Whether they are copies of a folder that is no git repository."""
        return self._opened.place.git_dir is None

    def open(self) -> None:
        """Make the slots, after removing what dead pools have left."""
        place = self._place = self._find()
        interpreter_of(
            place.users or place.top
        )  # and not later, on an event loop: it looks at files
        home = home_of(place.top, place.common or place.top)
        with alone(place.common or place.top):
            prune(home)
            self._folder = PoolFolder(home)
        try:
            self._make(place, self._folder)
        except BaseException:
            self.close()
            raise
        self._say_what_is_not_as_asked(place)

    def _find(self) -> Place:
        place, users = find(self._repo), self._users
        return place if users is None else replace(place, users=users.top, inside=users.inside)

    def close(self) -> None:
        """Remove the slots."""
        place, folder = self._place, self._folder
        if place is None or folder is None:
            return
        self._folder = None
        if self._source is not None:
            self._source.blobs.close()
        for slot in self._slots.values():
            slot.settle()
        self._slots.clear()
        self._free.clear()
        self._spare.clear()
        self._source = None
        folder.remove()
        with alone(place.common or place.top):
            prune(folder.path.parent)

    @contextmanager
    def workspace(
        self, *, at: str | None = None, sparse: Sequence[str] | None = None
    ) -> Iterator[Workspace]:
        """Take a workspace for a `with` block. On an event loop: `fanwise.kernel.workspaces`."""
        workspace = self.take(at=at, sparse=sparse)
        try:
            yield workspace
        finally:
            self.give_back(workspace)

    def take(self, *, at: str | None = None, sparse: Sequence[str] | None = None) -> Workspace:
        """Return a workspace that is as new. All in use is a `NoFreeWorkspace`.

        It is at the commit `at` of the repository, with the folders `sparse` of it (none named:
        with all of it); where nothing is said, as the pool was made.
        """
        commit = self._opened.base if at is None else self._there(at)
        wanted = self._cone if sparse is None else _cone_of(sparse)
        number = self._next(wanted)
        slot = self._slots[number]
        try:
            if number in self._used or not slot.is_at(commit, wanted):
                slot.reset(commit, wanted)
        except BaseException as error:
            self._put_back(number)
            self._used.add(number)
            if isinstance(error, OSError):
                raise WorkspaceError(f"a workspace cannot be reset: {error}") from error
            raise
        self._used.add(number)
        return Workspace(slot, number)

    def _next(self, cone: str) -> int:
        """A free slot: one that has these folders, else the one that was free the longest.

        Several threads may be here: who takes a number out of a deque has it.
        """
        alike = [number for number in list(self._free) if self._slots[number].has(cone)]
        for free, number in [(self._spare, WHOLE)] * (not cone) + [(self._free, n) for n in alike]:
            with suppress(ValueError):
                free.remove(number)
                return number
        try:
            return self._free.popleft()
        except IndexError:
            raise NoFreeWorkspace(len(self)) from None

    def give_back(self, workspace: Workspace) -> None:
        """Let others have it. What it contains is gone when they do."""
        workspace.end()
        self._put_back(workspace.number)

    def _put_back(self, number: int) -> None:
        (self._spare if number == WHOLE else self._free).append(number)

    @property
    def _opened(self) -> Source:
        if self._source is None:
            raise UsageError("this pool is not open", "Use it inside `with WorkspacePool(…)`")
        return self._source

    def _there(self, commit: str) -> str:
        """The full name of a commit that has to be there; asked of git once."""
        source = self._opened
        if commit not in self._known:
            self._known[commit] = there(source.git, commit)
        return self._known[commit]

    def _make(self, place: Place, folder: PoolFolder) -> None:
        held = (folder.lock,)
        source = commit_of(place, folder.path, dirty=self._dirty, held=held, base=self._base)
        origin = read_origin(source.git, source.common)
        tracked = source.files_at(source.base) if self._copy else ()
        copies = matching(place.top, self._copy, tracked) if self._copy else []
        for number in range(self._wanted):
            path = folder.path / f"{folder.name}-{number}"
            slot = Slot(source, origin, path, copies=copies, cone=self._cone, held=held)
            try:
                slot.make()
            except (GitFailed, OSError) as error:
                slot.remove()
                self.lost += (Lost(number, str(error)),)
            else:
                self._slots[number] = slot
        if not self._slots:
            raise NoWorkspaces(str(place.top), [each.reason for each in self.lost])
        self._free.extend(self._slots)
        if self._whole:
            path = folder.path / f"{folder.name}-whole"
            slot = self._slots[WHOLE] = Slot(
                source, origin, path, copies=copies, cone="", held=held
            )
            slot.begin()
            self._used.add(WHOLE)
            self._spare.append(WHOLE)
        self._source = source

    def _say_what_is_not_as_asked(self, place: Place) -> None:
        if place.git_dir is None:
            _warn(f"{place.top} is not a git repository: the workspaces are copies of the folder")
        if self.lost:
            _warn(
                f"{len(self)} workspaces instead of {self._wanted}: "
                + "; ".join(dict.fromkeys(each.reason for each in self.lost))
            )


def _cone_of(folders: Sequence[str]) -> str:
    _check_list("sparse", folders)
    return cone(folders) if folders else ""


def _check_list(name: str, given: Sequence[str]) -> None:
    if isinstance(given, str):
        raise UsageError(f"{name} is {given!r}", "Give a list")


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)
