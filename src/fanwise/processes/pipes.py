"""The parent's ends of a child's pipes.

Plain descriptors with `add_reader` and `add_writer`: asyncio's pipe transports buffer without
bound or need flow control, and close themselves later, in a callback; here a closed pipe is
closed when the call returns.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

_CHUNK = 1 << 18
_MOST_AT_ONCE = 1 << 20  # what a pipe can hold at most, unless root has raised it


class OutputPipe:
    """Reads until the end of the file; `on_end` is called at it, or at an error."""

    def __init__(
        self,
        fd: int,
        loop: asyncio.AbstractEventLoop,
        take: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        self._fd = fd
        self._loop = loop
        self._take = take
        self._on_end = on_end
        self.ended = False
        self.error: Exception | None = None
        os.set_blocking(fd, False)
        loop.add_reader(fd, self._read)

    def drain(self) -> None:
        """Read what is there now: what a dead process wrote, and no more of a live one's."""
        size = 0
        while not self.ended and size < _MOST_AT_ONCE:
            got = self._read()
            if not got:
                return
            size += got

    def close(self) -> None:
        if not self.ended:
            self.ended = True
            _close(self._loop.remove_reader, self._loop, self._fd)

    def _read(self) -> int:
        try:
            chunk = os.read(self._fd, _CHUNK)
            if chunk:
                self._take(chunk)
                return len(chunk)
        except BlockingIOError:
            return 0
        except Exception as error:  # in a callback of the loop it would only be logged
            self.error = error
        self.close()
        self._on_end()
        return 0


class InputPipe:
    """Writes all of `data`, then closes. A child that does not read it is no error."""

    def __init__(self, fd: int, loop: asyncio.AbstractEventLoop, data: bytes) -> None:
        self._fd = fd
        self._loop = loop
        self._rest = memoryview(data)
        self._closed = False
        os.set_blocking(fd, False)
        loop.add_writer(fd, self._write)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._rest = memoryview(b"")
            _close(self._loop.remove_writer, self._loop, self._fd)

    def _write(self) -> None:
        try:
            if self._rest:
                self._rest = self._rest[os.write(self._fd, self._rest[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:
            self._rest = memoryview(b"")  # nobody reads it any more
        if not self._rest:
            self.close()


def _close(forget: Callable[[int], bool], loop: asyncio.AbstractEventLoop, fd: int) -> None:
    if not loop.is_closed():
        forget(fd)
    os.close(fd)
