"""Writing to stdout without blocking everything else when its reader is slow.

A plain write to a full pipe would block the event loop: time-outs, Ctrl-C, all of it. Setting the
descriptor to non-blocking would also do so for whoever shares it (the shell). A pipe that polls
as writable takes PIPE_BUF bytes at once, and whole: so pieces of that size neither block nor are
written by halves, which is what lets `position` be exact.

`os.write` would let other threads have the interpreter before it returns, so that milliseconds
might pass, and a kill come, between a piece and the note that it was written. Here both are made
in one go, without letting go of the interpreter and without a line of Python in between.
"""

from __future__ import annotations

import asyncio
import ctypes
import operator
import os
import select
from functools import partial
from typing import Any

from fanwise.lines.output.position import Position, libc
from fanwise.view.text_file import cannot_write

PIECE = 4096
"""PIPE_BUF on Linux."""
FILE_PIECE = 1 << 16


class FdWriter:
    """Writes to a descriptor as fast as its reader reads; `what`: its name, for errors."""

    def __init__(self, fd: int, what: str) -> None:
        self.fd = fd
        self._what = what
        self._loop = asyncio.get_running_loop()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self._piece = PIECE

    async def write(self, data: bytes, position: Position | None = None) -> None:
        """Write all of it; `position` is moved on with each piece.

        `OutputNotWritable`; a reader that has gone away is a `BrokenPipeError`.
        """
        rest = memoryview(data)
        while rest:
            if not self._poll.poll(0):
                await self._writable()
            try:
                size = _write_at_once(self.fd, bytes(rest[: self._piece]), position)
            except (BlockingIOError, InterruptedError):
                await self._writable()
                continue
            except BrokenPipeError:
                raise
            except OSError as error:
                raise cannot_write(self._what, error) from error
            rest = rest[size:]

    async def _writable(self) -> None:
        ready = self._loop.create_future()
        try:
            self._loop.add_writer(self.fd, _set, ready)
        except PermissionError:  # a regular file: always writable
            self._piece = FILE_PIECE
            return
        try:
            await ready
        finally:
            self._loop.remove_writer(self.fd)


def _write_at_once(fd: int, piece: bytes, position: Position | None) -> int:
    """Write and note it: two system calls with nothing of the interpreter's between them."""
    before = position.offset if position is not None else 0
    note = position.noting(before + len(piece)) if position is not None else bool
    calls: tuple[Any, Any] = (partial(libc.write, fd, piece, len(piece)), note)
    size, _ = map(operator.call, calls)
    problem = ctypes.get_errno()
    if position is not None:
        position.noted(before + max(size, 0), correct=size != len(piece))
    if size < 0:
        raise OSError(problem, os.strerror(problem))
    return int(size)


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
