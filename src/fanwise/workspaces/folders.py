"""Folders of pools on disk, who lives in them, and what is left of those who died.

A pool holds a lock on a file in its folder. The system releases it with the process, so a folder
whose lock is free belonged to a pool that is dead. That is simpler than noting a pid and its start
time, and it also holds after a reboot.
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
def alone(folder: Path) -> Iterator[None]:
    """Be the only process that starts or removes a pool of this repository, for a block.

    The lock is on the folder itself, so it leaves no file behind. On a file system without locks
    there is none.
    """
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def prune(home: Path) -> None:
    """Remove what dead pools have left in `home`. Call it while `alone`."""
    for pool in sorted(home.glob(f"{PREFIX}*")):
        if _is_dead(pool):
            remove_tree(pool)
    with suppress(OSError):
        home.rmdir()  # if no living pool is in it


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
