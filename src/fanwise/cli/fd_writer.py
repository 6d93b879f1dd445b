"""Writing to stdout without stopping everything else when its reader is slow.

A plain write to a full pipe would block the event loop: time-outs, Ctrl-C, all of it. Setting the
descriptor to non-blocking would also do so for whoever shares it (the shell). A pipe that polls
as writable takes PIPE_BUF bytes at once, and whole: so pieces of that size neither block nor are
written by halves, which is what lets `position` be exact.
"""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable

from fanwise.cli.streams import cannot_write

PIECE = 4096
"""PIPE_BUF on Linux."""
FILE_PIECE = 1 << 16


class FdWriter:
    """Writes bytes to a descriptor as its reader takes them; `what` it is, for its errors."""

    def __init__(self, fd: int, what: str) -> None:
        self.fd = fd
        self._what = what
        self._loop = asyncio.get_running_loop()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self._piece = PIECE

    async def write(self, data: bytes, written: Callable[[int], None]) -> None:
        """Write all of it; `written` is told the size of each piece, right after it.

        `OutputNotWritable`; a reader that has gone away is a `BrokenPipeError`.
        """
        rest = memoryview(data)
        while rest:
            if not self._poll.poll(0):
                await self._writable()
            try:
                size = os.write(self.fd, rest[: self._piece])
            except BlockingIOError:
                await self._writable()
                continue
            except BrokenPipeError:
                raise
            except OSError as error:
                raise cannot_write(self._what, error) from error
            written(size)
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


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
