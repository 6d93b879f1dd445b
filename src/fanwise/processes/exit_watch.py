"""To be told when a child has exited, on any event loop and in any thread.

asyncio's child watchers are a global that differs between versions (3.11 starts a thread for
each child) and reap the child at once; while it is not reaped, its number, and so its group's,
cannot be given to a stranger, and signals to the group are safe. A pidfd tells of the exit and
leaves the reaping to us. Where there is none, a thread waits for the child.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable


class ExitWatch:
    """Calls `on_exit` in the loop once the child has exited."""

    def __init__(
        self, pid: int, loop: asyncio.AbstractEventLoop, on_exit: Callable[[], None]
    ) -> None:
        self._pid = pid
        self._loop = loop
        self._on_exit = on_exit
        self._status: int | None = None
        self._reaped = False
        self._pidfd: int | None = None
        self._thread: threading.Thread | None = None
        self.exited = False
        self._watch()

    def reap(self) -> int | None:
        """Wait for the child and return its exit code, negative for a signal.

        None: something else in this process has reaped it, and its code is lost.
        """
        if self._thread is not None:
            self._thread.join()
        if not self._reaped:
            self._wait()
        self.exited = True
        self._close()
        return None if self._status is None else os.waitstatus_to_exitcode(self._status)

    def _watch(self) -> None:
        try:
            self._pidfd = os.pidfd_open(self._pid)
            self._loop.add_reader(self._pidfd, self._exited)
        except (AttributeError, OSError):
            self._close()
            self._thread = threading.Thread(target=self._wait_in_thread, daemon=True)
            self._thread.start()

    def _exited(self) -> None:
        self._close()
        self.exited = True
        self._on_exit()

    def _close(self) -> None:
        fd, self._pidfd = self._pidfd, None
        if fd is not None:
            if not self._loop.is_closed():
                self._loop.remove_reader(fd)
            os.close(fd)

    def _wait(self) -> None:
        try:
            self._status = os.waitpid(self._pid, 0)[1]
        except ChildProcessError:
            self._status = None
        self._reaped = True

    def _wait_in_thread(self) -> None:
        self._wait()
        try:
            self._loop.call_soon_threadsafe(self._exited)
        except RuntimeError:
            return  # the loop is closed: nobody is left to be told
