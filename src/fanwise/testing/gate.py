"""A gate that a test closes to see what is in flight, and opens when it has seen it."""

from __future__ import annotations

import asyncio


class Gate:
    """Open at first. While it is closed, all who come wait in it; nobody sleeps or polls."""

    def __init__(self) -> None:
        self.waiting = 0
        """How many wait in it now."""
        self._open = True
        self._changed: asyncio.Event | None = None

    def close(self) -> None:
        """Hold those who come from now on."""
        self._open = False

    def open(self) -> None:
        """Let all through."""
        self._open = True
        self._wake()

    async def pass_through(self) -> None:
        """Come to the gate: go on at once, or when it opens."""
        self.waiting += 1
        self._wake()
        try:
            while not self._open:
                await self._change()
        finally:
            self.waiting -= 1
            self._wake()

    async def held(self, count: int) -> None:
        """Return when exactly this many wait in it."""
        while self.waiting != count:
            await self._change()

    async def _change(self) -> None:
        if self._changed is None:
            self._changed = asyncio.Event()
        await self._changed.wait()

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None
