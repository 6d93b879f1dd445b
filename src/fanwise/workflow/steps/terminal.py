"""Asking somebody at the terminal.

Runs in a thread of the kernel. It looks now and then whether the run was halted or cancelled, for a
thread that waits for a key cannot be stopped from outside.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence
from getpass import getpass

from fanwise.kernel.scope import current_run
from fanwise.kernel.threads import cancelled
from fanwise.view.terminal_text import terminal_safe
from fanwise.workflow.steps.gate import chosen

LOOK_EVERY_S = 0.1


def is_interactive() -> bool:
    """Whether somebody sits there: they see stderr, and type into stdin."""
    return os.isatty(0) and os.isatty(2)


def ask(message: str, shown: str | None, options: Sequence[str]) -> str | None:
    """The option that the person chose; asked again until it is one.

    None: they went away instead (Ctrl-C, Ctrl-D, or the terminal is gone).
    """
    os.write(2, b"\r\x1b[2K")  # a line of progress may stand there
    if shown is not None:
        _write(f"{shown}\n\n")
    _write(f"{message}\n")
    for number, option in enumerate(options, 1):
        _write(f"  [{number}] {option}\n")
    while True:
        _write(f"Your answer (1-{len(options)} or a word): ")
        line = _line()
        if line is None:
            _write("\n")
            return None
        answer = line.strip()
        if answer.isdecimal() and 1 <= int(answer) <= len(options):
            return options[int(answer) - 1]
        if (choice := chosen(answer, list(options))) is not None:
            return choice


def ask_secret(name: str) -> str | None:
    """What the person typed, without showing it; None: they went away."""
    try:
        return getpass(f"{terminal_safe(name)} (not shown): ", stream=sys.stderr)
    except (EOFError, KeyboardInterrupt):
        return None


def _write(text: str) -> None:
    sys.stderr.write(terminal_safe(text))
    sys.stderr.flush()


def _line() -> str | None:
    read = b""
    while not read.endswith(b"\n"):
        if _is_over():
            return None
        ready, _, _ = select.select([0], [], [], LOOK_EVERY_S)
        if not ready:
            continue
        try:
            piece = os.read(0, 4096)
        except OSError:  # the terminal is gone
            return None
        if not piece:
            return None
        read += piece
    return read.decode("utf-8", "replace")


def _is_over() -> bool:
    run = current_run()
    return cancelled() or (run is not None and run.halting is not None)
