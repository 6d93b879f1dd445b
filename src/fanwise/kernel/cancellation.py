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

    def end(self, open_items: Iterable[OpenItem[Any, Any]]) -> tuple[int, ...]:
        """Cancel items that are not being cancelled yet, and return their indices."""
        asked = [open_item for open_item in open_items if not open_item.cancel_asked]
        for open_item in asked:
            open_item.cancel_asked = True
            self._cancel_task(open_item)
        if asked and self._insisting is None:
            self._insist_later(INSIST_AFTER_S)
        return tuple(open_item.index for open_item in asked)

    def over(self) -> None:
        if self._insisting is not None:
            self._insisting.cancel()

    def _cancel_task(self, open_item: OpenItem[Any, Any]) -> None:
        if open_item.task is None:
            return  # its start or its end is on the way to disk
        if not open_item.begun:
            # A task that is cancelled before its first step never runs any of its code.
            open_item.task.add_done_callback(lambda _: self._never_ran(open_item))
        open_item.task.cancel()
        for guest in open_item.guests:
            guest.cancel()

    def _insist_later(self, seconds: float) -> None:
        self._insisting = self._loop.call_later(seconds, self._insist, seconds)

    def _insist(self, seconds: float) -> None:
        """Cancel items again that swallowed the last cancellation."""
        for open_item in self._open.values():
            if open_item.cancel_asked and open_item.task is not None:
                open_item.task.cancel()
        self._insist_later(2 * seconds)
