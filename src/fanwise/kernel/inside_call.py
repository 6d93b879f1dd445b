"""The main thread of a process that performs one sync call after another.

A second thread reads the messages. So a call that runs can be told to end, which it asks for with
`fanwise.cancelled()`.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fanwise.kernel.threads import Interruptible, running_call


class InsideCall:
    """Reads messages with `read`, in a thread; `cancel` is the one that ends the running call."""

    def __init__(self, read: Callable[[], bytes | None], cancel: bytes) -> None:
        self._read = read
        self._cancel = cancel
        self._messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._call: Interruptible | None = None
        threading.Thread(target=self._listen, name="fanwise-messages", daemon=True).start()

    def _listen(self) -> None:
        while (message := self._read()) is not None:
            if message != self._cancel:
                self._messages.put(message)
            elif (call := self._call) is not None:
                call.interrupt()
        os._exit(0)  # nobody waits for the call any more

    def next_message(self) -> bytes:
        return self._messages.get()

    @contextmanager
    def call(self) -> Iterator[Interruptible]:
        """While this block runs, a cancel message is for it."""
        call = self._call = Interruptible()
        with running_call(call):
            yield call
        self._call = None
