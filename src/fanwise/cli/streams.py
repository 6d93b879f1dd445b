"""stdin, stdout and stderr of the command line."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from fanwise.errors import OutputNotWritable
from fanwise.view.terminal_text import terminal_safe
from fanwise.view.text_file import text_file

STDOUT = "stdout"


def prepare_streams() -> None:
    """Set up the standard streams; call this first.

    If stdin, stdout or stderr is closed, something unusable is opened in its place. Otherwise the
    next file that is opened (a journal, a pipe) would become stdout.
    """
    for fd, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, mode)
    sys.stdout = text_file(1, STDOUT)
    if os.isatty(2):  # for logs, warnings and tracebacks
        sys.stderr = text_file(2, "stderr")


def give_up_stdout() -> None:
    """Point stdout at /dev/null, so that its buffer raises no error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def write_json(data: bytes) -> None:
    """Write a piece of JSON to stdout; control characters are escaped by JSON already."""
    if sys.stdout.isatty():
        sys.stdout.write(data.decode())
    else:
        sys.stdout.buffer.write(data)


def write_stderr(text: str) -> None:
    """Write text to stderr, if it can be written; a closed stderr is no error."""
    with suppress(OutputNotWritable, BrokenPipeError, ValueError):  # reported when the command ends
        sys.stdout.flush()  # keep the order where both go to one terminal
    draw_stderr(terminal_safe(text))


def draw_stderr(text: str) -> None:
    """Write text that has escape sequences; everything else in it must be safe already."""
    rest = memoryview(text.encode("utf-8", "backslashreplace"))
    try:
        while rest:
            rest = rest[os.write(2, rest) :]
    except OSError:
        pass
