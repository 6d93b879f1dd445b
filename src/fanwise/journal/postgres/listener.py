"""A thread that waits for notifications on a connection of its own.

The writer's thread cannot: it waits for its queue. When the connection breaks, a new one is made,
and the callback is called once, because a notification may have been missed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing

from fanwise.journal.postgres.connect import connect, driver

CHECK_S = 0.5
"""How often to look whether it should end."""


class PostgresListener:
    """Calls `on_notify`, from its thread, after each notification on a channel."""

    def __init__(self, address: str, channel: str, on_notify: Callable[[], None]) -> None:
        self._address = address
        self._channel = channel
        self._on_notify = on_notify
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to listen, unless it does."""
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="fanwise-notifications", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """End soon."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._listen()
            except driver().Error:  # the server went away; the writer says so if it stays away
                self._stop.wait(CHECK_S)

    def _listen(self) -> None:
        with closing(connect(self._address)) as connection:
            connection.execute(f"LISTEN {self._channel}")
            self._on_notify()
            while not self._stop.is_set():
                for _ in connection.raw.notifies(timeout=CHECK_S, stop_after=1):
                    self._on_notify()
