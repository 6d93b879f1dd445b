"""Files and folders for their owner only: a journal holds prompts, inputs and outputs.

What is made here is private from its first moment, whatever the umask.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

FOLDER = 0o700
FILE = 0o600
OTHERS = 0o077


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner only."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with suppress(FileExistsError):  # another process made it meanwhile
        folder.mkdir(FOLDER)
        folder.chmod(FOLDER)  # a umask can take rights from the owner too


def make_file(path: Path) -> None:
    """Make an empty file for its owner only, unless there is one."""
    with suppress(FileExistsError):
        os.close(open_file(path, os.O_EXCL))


def open_file(path: Path, flags: int = 0) -> int:
    """Open a file for reading and writing; one that is not there is made for its owner only."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, FILE)
    with suppress(PermissionError):  # it belongs to somebody else
        os.fchmod(descriptor, FILE)
    return descriptor


def close_to_others(path: Path) -> bool:
    """Take from other users what they may do with a file or folder; whether that was anything.

    What belongs to another user is left alone, and so is what a link points to.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    if stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid():
        return False
    if not found.st_mode & OTHERS:
        return False
    path.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)
    return True
