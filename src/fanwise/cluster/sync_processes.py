"""Sync functions on a worker: each call in a process that can be killed, with all it started.

Processes are kept for the next call. A call that is cancelled is asked to end (`cancelled()`) and
has `GRACE_S` for it. Then its process is killed, its process group, and what left that group; the
guard of `processes/` does the same when the worker itself is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from fanwise.cluster.shipping import pack, pack_work, unpack, unpack_error
from fanwise.cluster.sync_child import CANCEL, SIZE
from fanwise.errors import ProcessDied
from fanwise.processes.family import ProcessFamily
from fanwise.processes.guard import guard
from fanwise.processes.guard_program import VARIABLE

GRACE_S = 2.0
STUBBORN_S = 5.0


class SyncProcesses:
    """The processes of one worker: as many as there are calls at once."""

    def __init__(self) -> None:
        self._idle: list[SyncProcess] = []
        self._count = 0

    def performer(self, function: Callable[[Any], Any]) -> Callable[[Any], Awaitable[Any]]:
        """An async function that calls this one in a process."""
        self._count += 1
        number, packed = self._count, pack_work(function)

        async def perform(item: Any) -> Any:
            message = pack(item, "the item")
            process = self._idle.pop() if self._idle else SyncProcess()
            try:
                value = await process.call(number, packed, message)
            finally:
                if process.usable:
                    self._idle.append(process)
                else:
                    process.end()
            return value

        return perform

    def close(self) -> None:
        while self._idle:
            self._idle.pop().end()


class SyncProcess:
    """One process, and the socket to it."""

    def __init__(self) -> None:
        self._guard = guard()
        self._number = self._guard.announce()
        mark = self._guard.mark(self._number)
        self._socket, theirs = socket.socketpair()
        with theirs:
            path = os.pathsep.join(each or os.getcwd() for each in sys.path)  # noqa: PTH109
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fanwise.cluster.sync_child", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, VARIABLE: mark, "PYTHONPATH": path},
                start_new_session=True,
            )
        self._guard.started(self._number, self._process.pid)
        self._family = ProcessFamily(self._process.pid, mark)
        self._socket.setblocking(False)
        self._works: set[int] = set()
        self._read = bytearray()
        self._calling = False

    @property
    def usable(self) -> bool:
        return not self._calling

    async def call(self, work: int, packed: bytes, item: bytes) -> Any:
        """The function's value or error. When this raises, the call has ended."""
        loop = asyncio.get_running_loop()
        self._calling = True
        message = pickle.dumps((work, None if work in self._works else packed, item), protocol=5)
        self._works.add(work)
        try:
            await loop.sock_sendall(self._socket, SIZE.pack(len(message)) + message)
            value, error, _ = await self._reply(loop)
        except asyncio.CancelledError as interruption:
            value, error = await self._interrupt(loop, interruption)
        except OSError:
            raise ProcessDied(self.end()) from None
        self._calling = False
        if value is None:
            assert error is not None
            raise unpack_error(error)
        return unpack(value, "the value")

    async def _interrupt(
        self, loop: asyncio.AbstractEventLoop, interruption: asyncio.CancelledError
    ) -> tuple[bytes, None]:
        """Ask the function to end. What it returned without having been told is kept.

        The process of one that does not end is not `usable`.
        """
        value, error, told = None, None, True
        with contextlib.suppress(OSError, TimeoutError, asyncio.CancelledError):
            self._socket.send(SIZE.pack(len(CANCEL)) + CANCEL)
            async with asyncio.timeout(GRACE_S):
                value, error, told = await self._reply(loop)
            self._calling = False
        if value is None or told:
            raise interruption from None if error is None else unpack_error(error)
        return value, None

    async def _reply(
        self, loop: asyncio.AbstractEventLoop
    ) -> tuple[bytes | None, bytes | None, bool]:
        await self._fill(loop, SIZE.size)
        (size,) = SIZE.unpack_from(self._read)
        await self._fill(loop, SIZE.size + size)
        reply = pickle.loads(self._read[SIZE.size :])
        self._read.clear()
        found: tuple[bytes | None, bytes | None, bool] = reply
        return found

    async def _fill(self, loop: asyncio.AbstractEventLoop, size: int) -> None:
        """Read until there are so many bytes; a cancellation in between loses none."""
        while len(self._read) < size:
            piece = await loop.sock_recv(self._socket, min(size - len(self._read), 1 << 20))
            if not piece:
                raise ConnectionError("the process is gone")
            self._read += piece

    def end(self) -> int | None:
        """Kill it with all that it started, and return its exit code."""
        if self._process.returncode is not None:
            return self._process.returncode
        self._socket.close()
        code = _wait_a_moment(self._process)
        if code is not None:
            self._family.leader_is_reaped()
        until = time.monotonic() + STUBBORN_S
        while self._family.living() and time.monotonic() < until:
            self._family.send(signal.SIGKILL)
        if code is None:
            code = self._process.wait()
        self._guard.over(self._number)
        return code


def _wait_a_moment(process: subprocess.Popen[bytes]) -> int | None:
    """Its own exit code, if it is ending by itself."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(0.05)
    return None
