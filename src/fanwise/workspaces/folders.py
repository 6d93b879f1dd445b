"""Folders of pools on disk, who lives in them, and what is left of those who died.

A pool holds a lock on a file in its folder, which the system takes away with its process, so a
folder whose lock is free is a dead pool's. That is simpler than to note a pid and when it
started, and it is as true after a reboot. git notes each work tree in the user's repository, and
refuses to work with what is "missing but already registered"; `git worktree prune` would also
forget work trees of the user's whose disk is not there today. So we remove our own and no others.

One pool at a time is made or removed in a repository: git is not safe there against itself.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fanwise.cache_folder import VARIABLE, cache_folder
from fanwise.errors import UsageError, WorkspaceError

PREFIX = "fanwise-"
_ALIVE = "alive"


class PoolFolder:
    """The folder of one pool, from its making to its end."""

    def __init__(self, home: Path) -> None:
        self.name = f"{PREFIX}{secrets.token_hex(4)}"
        self.path = home / self.name
        try:
            self.path.mkdir(parents=True, mode=0o700)
            self.lock = os.open(self.path / _ALIVE, os.O_RDWR | os.O_CREAT)
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise WorkspaceError(
                f"workspaces cannot be kept in {home}: {error.strerror}",
                f"Set {VARIABLE} to a folder that can be written",
            ) from error

    def remove(self) -> None:
        """Remove it, with all that is in it."""
        remove_tree(self.path)
        os.close(self.lock)


def home_of(top: Path, key: Path) -> Path:
    """Where the pools of a repository are: in the cache, but never inside the user's tree."""
    name = f"{top.name or 'root'}-{hashlib.sha256(os.fsencode(key)).hexdigest()[:12]}"
    for place in (cache_folder(), Path(tempfile.gettempdir()) / f"fanwise-{os.getuid()}"):
        home = place.resolve() / "workspaces" / name
        if not home.is_relative_to(top.resolve()):
            return home
    raise UsageError(
        f"there is no folder for workspaces outside of {top}", f"Set {VARIABLE} to one"
    )


@contextmanager
def alone(folder: Path) -> Iterator[int]:
    """Be the only one who makes or removes pools there; the descriptor of the lock.

    The lock is on the folder itself, so it leaves no file behind. Where the file system has no
    locks, we go on without.
    """
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def prune(home: Path, common: Path | None) -> None:
    """Remove what dead pools have left, in `home` and in the repository. To be called `alone`."""
    for pool in sorted(home.glob(f"{PREFIX}*")):
        if _is_dead(pool):
            if common is not None:
                forget(common, pool)
            remove_tree(pool)
    if common is not None:
        _forget_missing(common)
    with suppress(OSError):
        home.rmdir()  # if no living pool is in it


def forget(common: Path, pool: Path) -> None:
    """Let the repository forget the work trees in a pool's folder."""
    for admin in _ours(common):
        if _work_tree(admin).is_relative_to(pool):
            remove_tree(admin)
    _tidy(common)


def remove_tree(path: Path) -> None:
    """Remove a folder, also if somebody has taken our rights to folders in it."""
    shutil.rmtree(path, onerror=_insist)


def write_anew(path: Path, text: str) -> None:
    """Let a plain file with this text be there, whatever is there now."""
    with suppress(OSError):
        if not path.is_symlink() and path.read_text() == text:
            return
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    path.unlink(missing_ok=True)
    path.write_text(text)


def make_writable(path: Path) -> None:
    """Give us back the rights to a folder and all folders in it."""
    for folder, _, _ in os.walk(path, onerror=lambda error: None):
        with suppress(OSError):
            os.chmod(folder, stat.S_IRWXU)  # noqa: PTH101
            for entry in os.scandir(folder):
                if entry.is_dir(follow_symlinks=False):
                    os.chmod(entry.path, stat.S_IRWXU)  # noqa: PTH101


def _insist(function: Callable[..., Any], path: str, error: Any) -> None:
    if isinstance(error[1], FileNotFoundError):
        return
    parent = os.path.dirname(path)  # noqa: PTH120
    with suppress(OSError):
        os.chmod(parent, stat.S_IRWXU)  # noqa: PTH101
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
            os.chmod(path, stat.S_IRWXU)  # noqa: PTH101
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)  # noqa: PTH108


def _is_dead(pool: Path) -> bool:
    try:
        lock = os.open(pool / _ALIVE, os.O_RDWR)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _forget_missing(common: Path) -> None:
    for admin in _ours(common):
        if not _work_tree(admin).parent.exists():
            remove_tree(admin)
    _tidy(common)


def _ours(common: Path) -> list[Path]:
    return sorted((common / "worktrees").glob(f"{PREFIX}*"))


def _work_tree(admin: Path) -> Path:
    """Where the work tree is that git keeps notes of in `admin`."""
    try:
        return Path(os.fsdecode((admin / "gitdir").read_bytes()).strip()).parent
    except OSError:
        return admin / "missing" / "missing"  # killed before it was written: as if it were gone


def _tidy(common: Path) -> None:
    with suppress(OSError):
        (common / "worktrees").rmdir()  # as git does, when the last one is gone
