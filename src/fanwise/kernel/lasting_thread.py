"""A thread that stays until it is closed, for what dies with the thread that made it.

Linux can kill a child when its parent ends (`PR_SET_PDEATHSIG`), and takes the thread for the
parent. So programs that are to live for a whole run must not be started from a thread of a pool.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class LastingThread:
    """`call` functions in it, from any other thread."""

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None]
        self._calls = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def call(self, function: Callable[[], T]) -> T:
        """Wait for the function's value or error."""
        ended: Future[T] = Future()
        self._calls.put((function, ended))
        return ended.result()

    def close(self) -> None:
        self._calls.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            function, ended = call
            try:
                ended.set_result(function())
            except BaseException as error:
                ended.set_exception(error)
