"""Sees calls that block an event loop: processes, sleeps, connections, folders, databases.

By what is called and not by how long it takes, so that a fast disk hides nothing and a busy
machine invents nothing. Python tells an audit hook of each such call, in the thread that makes it.
A hook cannot be removed, so there is one, which looks only while somebody watches.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Blocking = tuple[str, str, str]
"""The event, what it was about, and the places in fanwise that led to it."""
EVENTS = {
    "import", "open", "socket.connect", "socket.getaddrinfo", "sqlite3.connect",
    "subprocess.Popen", "time.sleep",  # the latter from 3.13 on
}  # fmt: skip
GROUPS = ("os.", "shutil.", "tempfile.", "glob.")
HARMLESS = {"os.putenv", "os.unsetenv", "os.kill", "os.killpg"}
COMMANDS = "processes/"
"""A user's command is started and ended on the loop: it takes a millisecond, and no cancellation
can come between its start and what knows how to end it."""

_watching: list[Blocking] | None = None


@contextmanager
def watching_the_loop() -> Iterator[list[Blocking]]:
    """The calls that blocked an event loop, in whatever thread that runs."""
    global _watching
    found: list[Blocking] = []
    _watching = found
    try:
        yield found
    finally:
        _watching = None


def _hook(event: str, args: tuple[Any, ...]) -> None:
    global _watching
    if _watching is None or not (event in EVENTS or event.startswith(GROUPS)):
        return
    if event in HARMLESS or asyncio._get_running_loop() is None:
        return
    found, _watching = _watching, None  # looking at source code opens files
    try:
        frames = [
            (f.f_code.co_filename, line) for f, line in traceback.walk_stack(sys._getframe(1))
        ]
        inside = [(file.partition("/src/fanwise/")[2], line) for file, line in frames]
        places = [(file, line) for file, line in inside if file]
        if not any(file.startswith(COMMANDS) for file, _ in places):
            found.append((event, str(args[:1]), " < ".join(f"{f}:{n}" for f, n in places[:4])))
    finally:
        _watching = found


sys.addaudithook(_hook)
