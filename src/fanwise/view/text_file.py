"""Text files and streams that raise fanwise's own errors.

A full disk, a closed stdout or a lost terminal should be an error with a next step, not a
traceback. Errors are converted at the lowest level, the system call, so that no caller has to.
"""

from __future__ import annotations

import errno
import io
from pathlib import Path
from typing import IO

from fanwise.errors import OutputNotWritable
from fanwise.view.terminal_text import terminal_safe

NEXT = "The journal was not changed; check free space and permissions, or write elsewhere"


def cannot_write(what: str, error: OSError) -> OutputNotWritable:
    """The operating system's error as an `OutputNotWritable`."""
    closed = error.errno == errno.EBADF
    problem = "it is closed" if closed else error.strerror or str(error)
    return OutputNotWritable(what, problem, NEXT)


class _Raw(io.FileIO):
    """A descriptor or a file. A closed pipe is still a `BrokenPipeError`."""

    def __init__(self, file: int | Path, what: str, *, append: bool = False) -> None:
        super().__init__(file, "a" if append else "w", closefd=not isinstance(file, int))
        self._what = what

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise cannot_write(self._what, error) from error


class _TerminalText(io.TextIOWrapper):
    """Text to a terminal, made safe: see `terminal_safe`."""

    def write(self, text: str) -> int:
        super().write(terminal_safe(text))
        return len(text)


def text_file(
    file: int | Path, what: str, *, newline: str | None = None, append: bool = False
) -> IO[str]:
    """A UTF-8 text file or stream. Write errors are `OutputNotWritable`."""
    raw = _Raw(file, what, append=append)
    kind = _TerminalText if raw.isatty() else io.TextIOWrapper
    return kind(
        io.BufferedWriter(raw),
        encoding="utf-8",
        errors="backslashreplace",
        newline=newline,
        line_buffering=raw.isatty(),
    )
