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
