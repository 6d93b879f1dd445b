"""The runs whose cancel requests, written by other processes, somebody waits for.

The writer's thread polls while any run is watched.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable

log = logging.getLogger("fanwise.journal")


class Watches:
    """The watched runs, and the callback of each."""

    def __init__(self, poll_s: float = 0.3) -> None:
        self._poll_s = poll_s
        self._lock = threading.Lock()
        self._watches: dict[int, tuple[str, Callable[[], None]]] = {}
        self._ids = itertools.count()
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
        self._due_at = now + self._poll_s
        return True

    def make_due(self) -> None:
        """Poll soon."""
        self._due_at = 0.0

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
