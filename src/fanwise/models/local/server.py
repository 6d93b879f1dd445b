"""llama.cpp's server as a child process: started on first use, one for a process, dead with it.

A child, and not a thread in here: when llama.cpp aborts, it ends its whole process. It can be
reached on the loopback interface only, with a key that is made anew for each server, since
that interface is open to every user of the machine and to every page in their browsers.

Between the two is a socket pair. Nothing is ever read from our end, only peeked at: so that
any number of waiters, in any event loop of any thread, see when the server is ready, without
a task, a thread or a lock to share the news. When the child ends, however it does, its end closes
before its connections do: who lost a connection can tell at once whether the server is gone.

It dies when we do in three ways: `atexit` kills it, `processes/guard.py` kills it when we are
killed, and it ends by itself when our end of the socket closes.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import re
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from fanwise.errors import ModelNotStarted
from fanwise.models.local.settings import LocalFile
from fanwise.models.wires.wire import Endpoint
from fanwise.processes.guard import guard
from fanwise.processes.guard_program import VARIABLE

START_S = 600.0
"""Weights of many gigabytes on a slow disk take their time."""
LOG_TAIL = 2000
_STAMP = re.compile(r"^[\d.]+ [A-Z] ")
"""What llama.cpp puts before each line: the time, and how bad it is."""
_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Server:
    def __init__(self, name: str, place: LocalFile) -> None:
        self.name = name
        self.takes_tools: bool | None = None
        """Whether the model's chat template has a place for tools; None: not asked yet."""
        self._place = place
        try:
            self._start()
        except OSError as error:
            raise ModelNotStarted(name, f"cannot be run: {error}", str(place.file), "") from error

    def _start(self) -> None:
        self._key = secrets.token_hex(16)
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        self._guard = guard()
        self._number = self._guard.announce()
        try:
            with theirs:
                self._process = self._spawn(theirs)
        except BaseException:
            self._guard.over(self._number)
            self._ours.close()
            self._log.close()
            raise
        self._guard.started(self._number, self._process.pid)
        with contextlib.suppress(OSError):  # it has ended already: `ready` will say so
            self._ours.sendall(self._how())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def address(self) -> str | None:
        """`http://127.0.0.1:PORT`; None while it is starting and after its end."""
        said = b"" if self.is_gone() else self._peek()
        return said.decode().strip() if said.endswith(b"\n") else None

    def is_gone(self, wait_ms: int = 0) -> bool:
        """Whether the child has ended, or is just ending. Waits for that at most `wait_ms`."""
        if self._ours.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self._ours, 0)  # its end alone: what it said stays there to be read
        return any(event & _GONE for _, event in poll.poll(wait_ms))

    async def ready(self) -> Endpoint:
        """Where it answers. Waits for the start; `ModelNotStarted` if there is none."""
        try:
            async with asyncio.timeout(START_S):
                while (address := self.address) is None:
                    if self.is_gone():
                        raise self._not_started(self.how_it_ended())
                    await _readable(self._ours)
        except TimeoutError:
            error = self._not_started(f"was not up within {START_S:g} s")
            self.stop()
            raise error from None
        return Endpoint("local", self._place.alias, f"{address}/v1", self._key)

    def how_it_ended(self) -> str:
        code = self._process.wait()
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    def log_tail(self) -> str:
        if self._log.closed:
            return ""
        log = self._log.fileno()
        begin = max(0, os.fstat(log).st_size - LOG_TAIL)
        text = os.pread(log, LOG_TAIL, begin).decode(errors="replace")
        return "\n".join(_STAMP.sub("", line) for line in text.splitlines() if line.strip())

    def stop(self) -> None:
        """Kill it, and wait until it is dead. It keeps nothing that could be lost."""
        if self._ours.fileno() < 0:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._guard.over(self._number)
        self._ours.close()
        self._log.close()

    def forget(self) -> None:
        """Leave it to the process that this one was forked from."""
        self._ours.close()
        self._log.close()
        self._process.returncode = 0  # it is not our child: Popen shall not wait for it

    def _spawn(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        program = Path(__file__).with_name("serve.py")
        outer = os.environ.get(VARIABLE, "")
        return subprocess.Popen(
            [sys.executable, "-P", str(program), str(self._place.file)],
            stdin=theirs.fileno(),
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, VARIABLE: outer + self._guard.mark(self._number)},
            start_new_session=True,  # a Ctrl-C in the terminal is for us: requests end in order
        )

    def _how(self) -> bytes:
        settings = self._place.settings
        how = {
            "file": str(self._place.file),
            "alias": self._place.alias,
            "key": self._key,
            "slots": settings.slots,
            "ctx": settings.ctx,
            "threads": settings.cores,
        }
        return json.dumps(how).encode() + b"\n"

    def _peek(self) -> bytes:
        try:
            return self._ours.recv(256, socket.MSG_PEEK)
        except OSError:  # nothing yet, or the child has just ended
            return b""

    def _not_started(self, problem: str) -> ModelNotStarted:
        return ModelNotStarted(self.name, problem, str(self._place.file), self.log_tail())


async def _readable(side: socket.socket) -> None:
    """Wait until the child says something or ends.

    On a copy of the descriptor: an event loop has one reader for each, and here may be many.
    """
    loop, copy = asyncio.get_running_loop(), os.dup(side.fileno())
    news = asyncio.Event()
    loop.add_reader(copy, news.set)
    try:
        await news.wait()
    finally:
        loop.remove_reader(copy)
        os.close(copy)


_servers: dict[LocalFile, Server] = {}
"""The servers of this process: one for each file and settings, shared by all that ask."""
_lock = threading.Lock()  # event loops of several threads may come at once
_owner = os.getpid()


def server_for(name: str, place: LocalFile) -> Server:
    """The running server, or a new one if there is none or it has died."""
    with _lock:
        _after_a_fork()
        server = _servers.get(place)
        if server is None or server.is_gone():
            if server is not None:
                server.stop()
            server = _servers[place] = Server(name, place)
            atexit.unregister(stop_all)
            atexit.register(stop_all)  # after the guard has, so that it runs before it
        return server


def running(place: LocalFile) -> Server | None:
    with _lock:
        _after_a_fork()
        server = _servers.get(place)
        return None if server is None or server.is_gone() else server


def stop(place: LocalFile) -> None:
    with _lock:
        _after_a_fork()
        server = _servers.pop(place, None)
        if server is not None:
            server.stop()


def stop_all() -> None:
    for place in list(_servers):
        stop(place)


def _after_a_fork() -> None:
    """A forked process starts its own servers; those of its parent end with the parent."""
    global _owner
    if _owner != os.getpid():
        _owner = os.getpid()
        while _servers:
            _servers.popitem()[1].forget()
