"""One child process from its start to its last trace.

All waiting happens in the task that called, through one future: there is no helper task that a
closing loop could cancel first, and no lock. While the child is being ended, a cancellation does
not interrupt; it only cuts the grace short, and is raised when nothing is left to be killed.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from fanwise.processes.collect import Collector
from fanwise.processes.command import Command
from fanwise.processes.exit_watch import ExitWatch
from fanwise.processes.family import ProcessFamily
from fanwise.processes.guard import guard
from fanwise.processes.limits import Exceeded, exceeded_limit, oom_kills
from fanwise.processes.pids import PidsCgroup, bound
from fanwise.processes.pipes import InputPipe, OutputPipe
from fanwise.processes.result import CommandResult
from fanwise.processes.sandbox import HELPERS
from fanwise.processes.spawn import spawn
from fanwise.processes.watch import Watch

_STUBBORN_S = 5.0  # SIGKILL does not reach a process before the device that it waits for answers
_LAST_WORDS = 4096  # of stderr: a program that lacks memory says so at its end


class Child:
    """A running command. Whoever makes one calls `close`, whatever happens."""

    def __init__(self, command: Command, spill: Path | None, hide: Sequence[bytes] = ()) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._cancelled: asyncio.CancelledError | None = None
        self._ending = False
        self._reaped = False
        self._exit_code: int | None = None
        self._limits = command.limits
        self._oom_kills = 0 if command.limits is None else oom_kills()
        self._cgroup = _cgroup(command)
        self._guard = guard()
        self._number = self._guard.announce()
        self.mark = self._guard.mark(self._number)
        try:
            spawned = spawn(command, self.mark, self._cgroup)
        except BaseException:
            self._guard.over(self._number)
            self._leave_cgroup()
            raise
        self._process = spawned.process
        self._guard.started(self._number, self._process.pid)
        self.sandboxed = spawned.sandboxed
        self._family = ProcessFamily(self._process.pid, self.mark, sandboxed=spawned.sandboxed)
        self._watch: Watch | None = None
        if command.limits is not None and command.limits.watched:
            helpers = HELPERS if self.sandboxed else 0
            self._watch = Watch(command.limits, self._family, helpers, self._cgroup)
        self._collectors = [
            Collector(name, command.keep, spill, hide) for name in ("stdout", "stderr")
        ]
        ends = zip((spawned.stdout, spawned.stderr), self._collectors, strict=True)
        self._outputs = [
            OutputPipe(fd, self._loop, partial(self._take, each), self.wake) for fd, each in ends
        ]
        self._input: InputPipe | None = None
        if spawned.stdin is not None:
            self._input = InputPipe(spawned.stdin, self._loop, command.stdin or b"")
        self._exit = ExitWatch(self._process.pid, self._loop, self.wake)

    async def exited(self, timeout: float | None) -> bool:
        """Wait for the program's own end; False if it did not come in time.

        True as well when there is no more to wait for: it is `broken`, or `exceeds` a limit.
        """
        return await self._until(
            lambda: self._exit.exited or self.broken or self._look(), timeout, watch=True
        )

    @property
    def exceeds(self) -> Exceeded | None:
        """Of what it takes more than it may, so that it has to be ended."""
        most = None if self._limits is None else self._limits.output
        if most is not None and any(each.size > most for each in self._collectors):
            return "output"
        return None if self._watch is None else self._watch.found

    @property
    def broken(self) -> bool:
        """Whether its output could not be stored."""
        return any(output.error is not None for output in self._outputs)

    async def quiet(self, grace: float, *, daemons: bool) -> bool:
        """After the program's end, wait for what it has started; False if that goes on.

        With `daemons`, processes that have left the group and closed the pipes may stay.
        """
        self._drain()
        if not await self._until(self._is_silent, grace, watch=True) or self.exceeds:
            return False
        self._reap()
        if not await self._until(self._family.group_is_empty, grace, poll=True):
            return False
        return daemons or not self._family.living()

    async def end(self, grace: float) -> None:
        """Ask everything to end, wait for `grace` seconds, kill what is left, await its death."""
        self._ending = True
        deadline = self._loop.time() + grace
        if self.exceeds:
            self._family.freeze()
        self._family.send(signal.SIGTERM)
        await self._until(lambda: self._exit.exited, grace)
        left = deadline - self._loop.time()
        await self._until(lambda: not self._family.living(), left, poll=True)
        await self._kill()
        await self._until(lambda: self._exit.exited, None)
        self._drain()

    def result(self, *, timed_out: bool, left_behind: bool) -> CommandResult:
        """The result. Call it when nothing of the command is running."""
        self._raise_what_happened()
        self._reap()
        for collector in self._collectors:
            collector.close()
        exit_code, number = ended_with(self._exit_code, sandboxed=self.sandboxed)
        return CommandResult(
            exit_code=exit_code,
            signal=number,
            timed_out=timed_out,
            left_behind=left_behind,
            stdout=self._collectors[0].capture(),
            stderr=self._collectors[1].capture(),
            exceeded=None if timed_out else self._exceeded(exit_code, number),
            sandboxed=self.sandboxed,
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
            if not keep_output:
                collector.discard()
        self._guard.over(self._number)
        self._leave_cgroup()

    def _leave_cgroup(self) -> None:
        if self._cgroup is not None:
            self._cgroup.close()

    def _exceeded(self, exit_code: int | None, number: int | None) -> Exceeded | None:
        if self.exceeds or self._limits is None:
            return self.exceeds
        oom_killed = oom_kills() > self._oom_kills
        said = self._collectors[1].capture().data[-_LAST_WORDS:]
        return exceeded_limit(self._limits, exit_code, number, said, oom_killed=oom_killed)

    def _take(self, collector: Collector, chunk: bytes) -> None:
        collector.add(chunk)
        if self.exceeds:
            self.wake()

    def _look(self) -> bool:
        return bool(self.exceeds) or (self._watch is not None and self._watch.looked())

    def _is_silent(self) -> bool:
        return all(output.ended for output in self._outputs) or self._look()

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
        watch: bool = False,
    ) -> bool:
        """Wait for something that a callback brings about, or that has to be looked at.

        With `watch`, the watch looks. A cancellation that came while ending cuts a bounded wait
        short.
        """
        deadline = None if seconds is None else self._loop.time() + seconds
        pause = 0.002
        while not done():
            left = None if deadline is None else deadline - self._loop.time()
            if left is not None and (left <= 0 or self._cancelled is not None):
                return False
            if poll:
                left, pause = min(pause, left or pause), min(pause * 2, 0.1)
            elif watch and self._watch is not None:
                left = self._watch.pause if left is None else min(self._watch.pause, left)
            await self._nap(left)
        return True

    async def _nap(self, seconds: float | None) -> None:
        waiter = self._waiter = self._loop.create_future()
        timer = None if seconds is None else self._loop.call_later(seconds, self.wake)
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

    def wake(self) -> None:
        """Let the waiting task look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def ended_with(code: int | None, *, sandboxed: bool) -> tuple[int | None, int | None]:
    """The exit code, or the signal: a sandbox tells it as shells do."""
    if code is not None and sandboxed and 128 < code < 128 + signal.NSIG:
        code = 128 - code
    return (code, None) if code is None or code >= 0 else (None, -code)


def _cgroup(command: Command) -> PidsCgroup | None:
    limits = command.limits
    return None if limits is None or limits.processes is None else bound(limits.processes)
