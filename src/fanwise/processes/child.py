"""One child process from its start to its last trace.

All waiting happens in the task that called, through one future: there is no helper task that a
closing loop could cancel first, and no lock. While the child is being ended, a cancellation does
not interrupt; it only cuts the grace short, and is raised when nothing is left to be killed.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path

from fanwise.processes.collect import Collector
from fanwise.processes.command import Command
from fanwise.processes.exit_watch import ExitWatch
from fanwise.processes.family import Family
from fanwise.processes.guard import guard
from fanwise.processes.pipes import InputPipe, OutputPipe
from fanwise.processes.result import CommandResult
from fanwise.processes.spawn import spawn

_STUBBORN_S = 5.0  # SIGKILL does not reach a process before the device that it waits for answers


class Child:
    """A running command. Whoever makes one calls `close`, whatever happens."""

    def __init__(self, command: Command, spill: Path | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._cancelled: asyncio.CancelledError | None = None
        self._ending = False
        self._reaped = False
        self._exit_code: int | None = None
        self._guard = guard()
        self._number = self._guard.announce()
        mark = self._guard.mark(self._number)
        try:
            spawned = spawn(command, mark)
        except BaseException:
            self._guard.over(self._number)
            raise
        self._process = spawned.process
        self._guard.started(self._number, self._process.pid)
        self._family = Family(self._process.pid, mark)
        self._collectors = [Collector(name, command.keep, spill) for name in ("stdout", "stderr")]
        ends = zip((spawned.stdout, spawned.stderr), self._collectors, strict=True)
        self._outputs = [OutputPipe(fd, self._loop, each.add, self._wake) for fd, each in ends]
        self._input: InputPipe | None = None
        if spawned.stdin is not None:
            self._input = InputPipe(spawned.stdin, self._loop, command.stdin or b"")
        self._exit = ExitWatch(self._process.pid, self._loop, self._wake)

    async def exited(self, timeout: float | None) -> bool:
        """Wait for the program's own end; False if it did not come in time."""
        return await self._until(lambda: self._exit.exited or self.broken, timeout)

    @property
    def broken(self) -> bool:
        """Whether its output could not be taken."""
        return any(output.error is not None for output in self._outputs)

    async def quiet(self, grace: float) -> bool:
        """After the program's end, wait for what it has started; False if that goes on.

        Processes that have left the group and closed the pipes are not looked for: they are
        daemons, started to stay.
        """
        self._drain()
        if not await self._until(lambda: all(output.ended for output in self._outputs), grace):
            return False
        self._reap()
        return await self._until(self._family.group_is_empty, grace, poll=True)

    async def end(self, grace: float) -> None:
        """Ask everything to end, wait for `grace` seconds, kill what is left, await its death."""
        self._ending = True
        deadline = self._loop.time() + grace
        self._family.send(signal.SIGTERM)
        await self._until(lambda: self._exit.exited, grace)
        left = deadline - self._loop.time()
        await self._until(lambda: not self._family.living(), left, poll=True)
        await self._kill()
        await self._until(lambda: self._exit.exited, None)
        self._drain()

    def result(self, *, timed_out: bool, left_behind: bool) -> CommandResult:
        """Say what became of it; to be called when nothing of it runs."""
        self._raise_what_happened()
        self._reap()
        for collector in self._collectors:
            collector.close()
        code = self._exit_code
        return CommandResult(
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            timed_out=timed_out,
            left_behind=left_behind,
            stdout=self._collectors[0].capture(),
            stderr=self._collectors[1].capture(),
        )

    def close(self, *, keep_output: bool) -> None:
        """Give back what it holds. A child that still runs is killed on the spot."""
        if not self._reaped:  # the coroutine was dropped, with no loop left to wait in
            self._family.send(signal.SIGKILL)
            self._reap()
        for pipe in (*self._outputs, self._input):
            if pipe is not None:
                pipe.close()
        for collector in self._collectors:
            collector.close() if keep_output else collector.discard()
        self._guard.over(self._number)

    async def _kill(self) -> None:
        # Even if nobody seems to be left, and until nobody is: one that forked just now, or forks
        # as it is killed, has a child that was not seen yet. How long a death takes is a matter
        # of real time, whatever the clock of the loop says.
        until = time.monotonic() + _STUBBORN_S
        await self._until(lambda: self._killed() or time.monotonic() > until, None, poll=True)

    def _killed(self) -> bool:
        self._family.send(signal.SIGKILL)
        return not self._family.living()

    def _drain(self) -> None:
        for output in self._outputs:
            output.drain()

    def _reap(self) -> None:
        if not self._reaped:
            self._exit_code = self._exit.reap()
            self._family.leader_is_reaped()
            self._process.returncode = self._exit_code or 0  # Popen shall not wait for it too
            self._reaped = True

    def _raise_what_happened(self) -> None:
        if self._cancelled is not None:
            raise self._cancelled
        for output in self._outputs:
            if output.error is not None:
                raise output.error

    async def _until(
        self,
        done: Callable[[], bool],
        seconds: float | None,
        *,
        poll: bool = False,
    ) -> bool:
        """Wait for something that a callback brings about, or that has to be looked at.

        A cancellation that came while ending cuts a bounded wait short.
        """
        deadline = None if seconds is None else self._loop.time() + seconds
        pause = 0.002
        while not done():
            left = None if deadline is None else deadline - self._loop.time()
            if left is not None and (left <= 0 or self._cancelled is not None):
                return False
            if poll:
                left, pause = min(pause, left or pause), min(pause * 2, 0.1)
            await self._nap(left)
        return True

    async def _nap(self, seconds: float | None) -> None:
        waiter = self._waiter = self._loop.create_future()
        timer = None if seconds is None else self._loop.call_later(seconds, self._wake)
        try:
            await waiter
        except asyncio.CancelledError as error:
            if not self._ending:
                raise
            self._cancelled = self._cancelled or error
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
