"""Writing to stdout without stopping everything else when its reader is slow.

A plain write to a full pipe would block the event loop: time-outs, Ctrl-C, all of it. Setting the
descriptor to non-blocking would also do so for whoever shares it (the shell). A pipe that polls
as writable takes PIPE_BUF bytes at once, and whole: so pieces of that size neither block nor are
written by halves, which is what lets `position` be exact.

`os.write` would let other threads have the interpreter before it returns, so that milliseconds
might pass, and a kill come, between a piece and the note that it was written. The write here
holds on to the interpreter: it does not block, and the note follows at once.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
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
                size = _write_at_once(self.fd, bytes(rest[: self._piece]))
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


_libc = ctypes.PyDLL(None, use_errno=True)
_libc.write.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
_libc.write.restype = ctypes.c_ssize_t


def _write_at_once(fd: int, piece: bytes) -> int:
    """`os.write` without letting another thread in."""
    while True:
        size: int = _libc.write(fd, piece, len(piece))
        if size >= 0:
            return size
        problem = ctypes.get_errno()
        if problem != errno.EINTR:
            raise OSError(problem, os.strerror(problem))


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
