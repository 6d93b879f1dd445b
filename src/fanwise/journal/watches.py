"""Wait for cancel requests, which other processes write to the journal file.

SQLite sends no notifications, so the writer's thread polls while any run is watched. `PRAGMA
data_version` tells it within microseconds whether another connection has written.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable

log = logging.getLogger("fanwise.journal")

POLL_S = 0.3


class Watches:
    """The watched runs, and the callback of each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: dict[int, tuple[str, Callable[[], None]]] = {}
        self._ids = itertools.count()
        self._seen_version: int | None = None
        self._due_at = 0.0

    def __bool__(self) -> bool:
        return bool(self._watches)

    def add(self, run_id: str, on_cancel: Callable[[], None]) -> Callable[[], None]:
        """Watch a run. Returns a function that ends the watch."""
        watch = next(self._ids)
        with self._lock:
            self._watches[watch] = (run_id, on_cancel)

        def end() -> None:
            with self._lock:
                self._watches.pop(watch, None)

        return end

    def is_due(self, now: float) -> bool:
        """Whether it is time to poll."""
        if not self._watches or now < self._due_at:
            return False
        self._due_at = now + POLL_S
        return True

    def make_due(self) -> None:
        """Poll soon, whatever the version: our own writes do not change it."""
        self._seen_version = None
        self._due_at = 0.0

    def is_news(self, version: int) -> bool:
        """Whether another connection has written since the last call."""
        known, self._seen_version = self._seen_version, version
        return known != version

    def fire(self, run_ids: list[str]) -> None:
        """Call the callbacks of these runs, each once."""
        with self._lock:
            hit = [w for w, (run_id, _) in self._watches.items() if run_id in run_ids]
            calls = [self._watches.pop(watch)[1] for watch in hit]
        for on_cancel in calls:
            try:
                on_cancel()
            except BaseException:
                log.exception("the callback of a cancel request raised: %r", on_cancel)
