"""Cancelling items in flight: once, and again if they swallow the cancellation and go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fanwise.kernel.open_item import OpenItem
from fanwise.kernel.work import INSIST_AFTER_S

Items = Mapping[int, OpenItem[Any, Any]]


class Cancellation:
    """Cancels items of one fan-out. `never_ran` is called for items that had not begun."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        open_items: Items,
        never_ran: Callable[[OpenItem[Any, Any]], None],
    ) -> None:
        self._loop = loop
        self._open = open_items
        self._never_ran = never_ran
        self._insisting: asyncio.TimerHandle | None = None

    def end(self, entries: Iterable[OpenItem[Any, Any]]) -> tuple[int, ...]:
        """Cancel items that are not being cancelled yet, and return their indices."""
        asked = [entry for entry in entries if not entry.cancel_asked]
        for entry in asked:
            entry.cancel_asked = True
            self._cancel_task(entry)
        if asked and self._insisting is None:
            self._insist_later(INSIST_AFTER_S)
        return tuple(entry.index for entry in asked)

    def over(self) -> None:
        if self._insisting is not None:
            self._insisting.cancel()

    def _cancel_task(self, entry: OpenItem[Any, Any]) -> None:
        if entry.task is None:
            return  # its start or its end is on the way to disk
        if not entry.begun:
            # A task that is cancelled before its first step never runs any of its code.
            entry.task.add_done_callback(lambda _: self._never_ran(entry))
        entry.task.cancel()
        for guest in entry.guests:
            guest.cancel()

    def _insist_later(self, seconds: float) -> None:
        self._insisting = self._loop.call_later(seconds, self._insist, seconds)

    def _insist(self, seconds: float) -> None:
        """Cancel items again that swallowed the last cancellation."""
        for entry in self._open.values():
            if entry.cancel_asked and entry.task is not None:
                entry.task.cancel()
        self._insist_later(2 * seconds)
