"""Reading lines from a file descriptor as they arrive, without a thread.

asyncio's `connect_read_pipe` supports pipes and terminals but no regular files. It also makes the
descriptor non-blocking, which on a terminal affects stdout and the shell's stdin too, because they
share the open file. So this waits until the descriptor is readable, then reads once. A regular file
is always readable, and reading it does not block.

After each chunk the reader pauses until `more` is called, so its user decides how far ahead it
reads.
"""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable

CHUNK = 1 << 18

Take = Callable[[list[bytes], bool], None]
Fail = Callable[[OSError], None]


class LineReader:
    """Calls `take` with the lines of each chunk, and whether they were the last.

    Lines come without their separator but are otherwise unchanged, including a carriage return. The
    last one may lack the separator. An empty line is a line. `fail` is called with the error when
    nothing more can be read.
    """

    def __init__(self, fd: int, take: Take, fail: Fail, *, separator: bytes = b"\n") -> None:
        self.ended = False
        self._fd = fd
        self._take = take
        self._fail = fail
        self._separator = separator
        self._loop = asyncio.get_running_loop()
        self._rest: list[bytes] = []
        self._waiting = False
        self._always_readable = False

    def more(self) -> None:
        """Read one chunk as soon as one is available."""
        if self.ended or self._waiting:
            return
        self._waiting = True
        if not self._always_readable:
            try:
                self._loop.add_reader(self._fd, self._on_readable)
            except PermissionError:  # how epoll refuses a regular file or /dev/null
                self._always_readable = True
        if self._always_readable:
            self._loop.call_soon(self._on_readable)

    def read_what_is_there(self) -> bool:
        """Read one chunk now if one is available; False: there was none."""
        self.pause()
        if self.ended or not self._is_readable():
            return False
        self._read()
        return True

    def pause(self) -> None:
        """Stop reading until `more` is called."""
        if self._waiting and not self._always_readable:
            self._loop.remove_reader(self._fd)
        self._waiting = False

    def _on_readable(self) -> None:
        if self._waiting:
            self.pause()
            self._read()

    def _is_readable(self) -> bool:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(0))

    def _read(self) -> None:
        try:
            chunk = os.read(self._fd, CHUNK)
        except BlockingIOError:
            self.more()
            return
        except OSError as error:
            self.ended = True
            self._fail(error)
            return
        self.ended = not chunk
        self._take(self._split(chunk) if chunk else self._last(), self.ended)

    def _split(self, chunk: bytes) -> list[bytes]:
        head, found, tail = chunk.rpartition(self._separator)
        if not found:
            self._rest.append(chunk)
            return []
        lines = b"".join((*self._rest, head)).split(self._separator)
        self._rest = [tail] if tail else []
        return lines

    def _last(self) -> list[bytes]:
        return [b"".join(self._rest)] if self._rest else []
