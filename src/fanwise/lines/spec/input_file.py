"""Opening the input, stdin or a file, before a run is made."""

from __future__ import annotations

import errno
import os
import stat

from fanwise.errors import UsageError

STDIN = "-"


def open_input(path: str = STDIN) -> int:
    """A descriptor to read lines from."""
    try:
        fd = 0 if path == STDIN else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if stat.S_ISDIR(os.fstat(fd).st_mode):  # a directory can be opened, but not read
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        name = "stdin" if path == STDIN else path
        raise UsageError(f"cannot read {name}: {error.strerror}", _next(error)) from error
    return fd


def _next(error: OSError) -> str:
    return (
        "Pass the names of its files as lines, with ls or find"
        if error.errno == errno.EISDIR
        else ""
    )
