"""stdin, stdout and stderr as they should be, and files that say what is wrong with them.

A full disk, a closed stdout or a terminal that is gone are ordinary ends of a program: an error of
ours with a next step, not a traceback. The conversion is at the lowest layer, the system call, so
that no command has to think of it.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from fanwise.errors import OutputNotWritable
from fanwise.view.terminal_text import terminal_safe

STDOUT = "stdout"
NEXT = "The journal was not changed; free space or permissions, or write elsewhere"


def cannot_write(what: str, error: OSError) -> OutputNotWritable:
    """The system's error as ours."""
    closed = error.errno == errno.EBADF
    problem = "it is closed" if closed else error.strerror or str(error)
    return OutputNotWritable(what, problem, NEXT)


class _Raw(io.FileIO):
    """A descriptor or a file. A reader that has gone away stays a `BrokenPipeError`."""

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
    """Text to a terminal, which obeys nothing of it: see `terminal_safe`."""

    def write(self, text: str) -> int:
        super().write(terminal_safe(text))
        return len(text)


def text_file(
    file: int | Path, what: str, *, newline: str | None = None, append: bool = False
) -> IO[str]:
    """UTF-8 to a descriptor or a file; what cannot be written is an `OutputNotWritable`."""
    raw = _Raw(file, what, append=append)
    kind = _TerminalText if raw.isatty() else io.TextIOWrapper
    return kind(
        io.BufferedWriter(raw),
        encoding="utf-8",
        errors="backslashreplace",
        newline=newline,
        line_buffering=raw.isatty(),
    )


def prepare_streams() -> None:
    """To be called first.

    Whoever closed stdin, stdout or stderr gets something there that cannot be read or written.
    Else the next file that is opened (a journal, a pipe) would take the place of stdout.
    """
    for fd, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, mode)
    sys.stdout = text_file(1, STDOUT)
    if os.isatty(2):  # logs, warnings and tracebacks go there by themselves
        sys.stderr = text_file(2, "stderr")


def give_up_stdout() -> None:
    """What is still in its buffer would complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def write_json(data: bytes) -> None:
    """A piece of a JSON document to stdout, whose control characters stay JSON on a terminal."""
    if sys.stdout.isatty():
        sys.stdout.write(data.decode())
    else:
        sys.stdout.buffer.write(data)


def write_stderr(text: str) -> None:
    """Words for the person, if there is one: a stderr that takes nothing ends nothing."""
    with suppress(OutputNotWritable, BrokenPipeError, ValueError):  # told when the command ends
        sys.stdout.flush()  # what was printed before comes first: on a terminal they are one text
    draw_stderr(terminal_safe(text))


def draw_stderr(text: str) -> None:
    """Text with escape sequences of our own. Whatever others wrote in it must be safe already."""
    rest = memoryview(text.encode("utf-8", "backslashreplace"))
    try:
        while rest:
            rest = rest[os.write(2, rest) :]
    except OSError:
        pass
