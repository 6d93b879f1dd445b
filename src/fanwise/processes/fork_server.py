"""A Python that is started once and forked for each use: our end of `fork_server_program.py`.

A run of a few small tests is mostly the start of Python and the import of pytest. A fork of a
process that has both behind it takes milliseconds. The price is that uses share a process that
they were forked from, and in a sandbox its walls; so a server is for one slot, is left as soon as
anything is not as it should be (`fit`), and is an option.

Time-out, limits and cancellation are those of `child.py`, whose child the server is: they end the
server with all that it forked. It is asked over a socket pair that nothing which it forks has, in
datagrams: the request is a file in memory, so that none is ever too long to be sent at once.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from fanwise.processes.child import Child, ended_with
from fanwise.processes.collect import Collector
from fanwise.processes.command import Command
from fanwise.processes.limits import exceeded_limit, oom_kills
from fanwise.processes.pipes import OutputPipe
from fanwise.processes.result import Capture, CommandResult

PROGRAM = Path(__file__).with_name("fork_server_program.py")
POSSIBLE = sys.platform == "linux"
"""Elsewhere a server could not keep what it forks from looking into it, nor find what that left."""
_GRACE_S = 2.0
_LAST_WORDS = 4096
_LONGEST = 1 << 16


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """What a fork shall become. `script`: the program's file; None: `python -m pytest`."""

    argv: Sequence[str]
    """The interpreter, and what comes after the script or after `-m pytest`."""
    script: str | None
    cwd: str
    env: Mapping[str, str]


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: int
    left: bool
    restored: bool


class ForkServer:
    """One server, for uses one after another. Whoever starts one calls `stop`."""

    def __init__(self, command: Callable[[int], Command]) -> None:
        """`command` is given the number of the descriptor that the program is to be told."""
        self._loop = asyncio.get_running_loop()
        self._said: list[bytes] = []
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.setblocking(False)
        self.fit = True
        """Whether it can be used once more."""
        self.modules: frozenset[str] = frozenset()
        """What it has imported, by its first name; a file of that name would not be found."""
        try:
            with theirs:
                made = command(theirs.fileno())
                self._limits = made.limits
                self._child = Child(made, None, channel=theirs.fileno(), helpers=1)
        except BaseException:
            self._ours.close()
            raise
        self._loop.add_reader(self._ours.fileno(), self._hear)

    @property
    def mark(self) -> str:
        """What its processes carry in their environment."""
        return self._child.mark

    @property
    def sandboxed(self) -> bool:
        """Whether there is a sandbox around it."""
        return self._child.sandboxed

    def idle(self) -> bool:
        """Whether it is `fit`, lives, and has said nothing that it was not asked."""
        return self.fit and not self._said and not self._child.gone

    async def ready(self, timeout: float) -> bool:
        """Wait until it can be used; False, and it is no more, if it cannot."""
        self.fit = False
        await self._heard(timeout)
        try:
            self.modules = frozenset(msgspec.json.decode(self._said.pop(), type=list[str]))
        except (IndexError, msgspec.MsgspecError):
            self.stop()
            return False
        self.fit = True
        return True

    async def run(self, use: Use, *, keep: int, timeout: float) -> CommandResult:
        """Fork, and wait for the end of that. Afterwards see whether the server is still `fit`."""
        assert self.idle()
        self.fit = False
        killed = oom_kills()
        collectors = [Collector(name, keep, None) for name in ("stdout", "stderr")]
        outputs = self._ask(use, collectors)
        try:
            in_time = await self._heard(timeout)
            answer = self._answer() if in_time else None
            if answer is None:
                return await self._over(outputs, collectors, timed_out=not in_time)
            for output in outputs:
                output.drain()
            return self._result(answer, collectors, oom_killed=oom_kills() > killed)
        finally:
            for output in outputs:
                output.close()

    def stop(self) -> None:
        """Kill it, with all that it forked."""
        self.fit = False
        if self._ours.fileno() >= 0:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._ours.fileno())
            self._ours.close()
            self._child.close(keep_output=False)

    def _ask(self, use: Use, collectors: list[Collector]) -> list[OutputPipe]:
        request = os.memfd_create("request", os.MFD_CLOEXEC)
        theirs, outputs = [request], []
        try:
            os.write(request, msgspec.json.encode(use))
            os.lseek(request, 0, os.SEEK_SET)
            for collector in collectors:
                read, write = os.pipe()
                theirs.append(write)
                outputs.append(OutputPipe(read, self._loop, collector.add, self._child.wake))
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", theirs))
            with contextlib.suppress(OSError):  # it has ended just now: nobody will answer
                self._ours.sendmsg([b"run"], [rights])
        finally:
            for fd in theirs:
                os.close(fd)
        return outputs

    def _hear(self) -> None:
        try:
            said = self._ours.recv(_LONGEST)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if said:
            self._said.append(said)
        else:
            self._loop.remove_reader(self._ours.fileno())
        self._child.wake()

    def _answer(self) -> _Answer | None:
        """What it said, if that is one answer and nothing else is amiss."""
        said, self._said = self._said, []
        if len(said) != 1 or self._child.gone or self._child.exceeds or self._child.broken:
            return None
        try:
            return msgspec.json.decode(said[0], type=_Answer)
        except msgspec.MsgspecError:
            return None

    def _result(
        self, answer: _Answer, collectors: list[Collector], *, oom_killed: bool
    ) -> CommandResult:
        self.fit = answer.code == 0 and answer.restored and not answer.left
        code, number = ended_with(answer.code, sandboxed=self.sandboxed)
        stdout, stderr = (each.capture() for each in collectors)
        said = stderr.data[-_LAST_WORDS:]
        return CommandResult(
            exit_code=code,
            signal=number,
            left_behind=answer.left,
            stdout=stdout,
            stderr=stderr,
            exceeded=None
            if self._limits is None
            else exceeded_limit(self._limits, code, number, said, oom_killed=oom_killed),
            sandboxed=self.sandboxed,
        )

    async def _over(
        self, outputs: list[OutputPipe], collectors: list[Collector], *, timed_out: bool
    ) -> CommandResult:
        """End the server, and tell of the use what became of it."""
        try:
            await self._child.end(0.0 if self._child.exceeds else _GRACE_S)
            for output in outputs:
                output.drain()
            ended = self._child.result(timed_out=timed_out, left_behind=False)
        finally:
            self.stop()
        captures: list[Capture] = [each.capture() for each in collectors]
        return msgspec.structs.replace(
            ended,
            exit_code=None,
            signal=ended.signal or signal.SIGKILL,
            stdout=captures[0],
            stderr=captures[1],
        )

    async def _heard(self, timeout: float) -> bool:
        """Wait until it says something, or is no more; False if neither came in time."""
        try:
            return await self._child.until(lambda: bool(self._said), timeout)
        except asyncio.CancelledError:
            await self._child.end(0.0)
            self.stop()
            raise
