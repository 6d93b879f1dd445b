"""The runs of which other processes may ask something, and who waits for that.

The writer's thread polls while any run is watched.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from fanwise.journal.runs import RunRequests

C = TypeVar("C")

log = logging.getLogger("fanwise.journal")


class Watches:
    """The watched runs, and the callbacks of each."""

    def __init__(self, poll_s: float = 0.3) -> None:
        self._poll_s = poll_s
        self._lock = threading.Lock()
        self._cancels: dict[int, tuple[str, Callable[[], None]]] = {}
        self._caps: dict[int, tuple[str, Callable[[dict[str, int]], None]]] = {}
        self._told: dict[int, dict[str, int]] = {}
        """By watch: the caps that it was told last."""
        self._ids = itertools.count()
        self._due_at = 0.0

    def __bool__(self) -> bool:
        return bool(self._cancels or self._caps)

    def add(self, run_id: str, on_cancel: Callable[[], None]) -> Callable[[], None]:
        """Call this once when a cancel is requested. Returns a function that ends the watch."""
        return self._add(self._cancels, run_id, on_cancel)

    def add_caps(
        self, run_id: str, on_caps: Callable[[dict[str, int]], None]
    ) -> Callable[[], None]:
        """Call this when other limits are asked for. Returns a function that ends the watch."""
        return self._add(self._caps, run_id, on_caps)

    def _add(
        self, watches: dict[int, tuple[str, C]], run_id: str, callback: C
    ) -> Callable[[], None]:
        watch = next(self._ids)
        with self._lock:
            watches[watch] = (run_id, callback)

        def end() -> None:
            with self._lock:
                watches.pop(watch, None)
                self._told.pop(watch, None)

        return end

    def is_due(self, now: float) -> bool:
        """Whether it is time to poll."""
        if not self or now < self._due_at:
            return False
        self._due_at = now + self._poll_s
        return True

    def make_due(self) -> None:
        """Poll soon."""
        self._due_at = 0.0

    def fire(self, requests: Iterable[RunRequests]) -> None:
        """Call the callbacks: of a cancel once, of caps if they are others than before."""
        calls: list[Callable[[], None]] = []
        with self._lock:
            for asked in requests:
                if asked.cancel:
                    hit = [w for w, (run_id, _) in self._cancels.items() if run_id == asked.run_id]
                    calls += [self._cancels.pop(watch)[1] for watch in hit]
                for watch, (run_id, on_caps) in self._caps.items():
                    if run_id == asked.run_id and self._told.get(watch, {}) != asked.caps:
                        self._told[watch] = asked.caps
                        calls.append(partial(on_caps, dict(asked.caps)))
        for call in calls:
            try:
                call()
            except BaseException:
                log.exception("the callback of a request raised: %r", call)
