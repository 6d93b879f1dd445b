"""What a map does for each line: its command, filled in and run."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from contextlib import contextmanager

from fanwise.cli.map_spec import Line, MapSpec
from fanwise.kernel.work import CommandCodec, perform_command
from fanwise.processes import CommandResult


class LineWork:
    """An async function from a line to what its command gave."""

    journal_codec = CommandCodec()

    def __init__(self, spec: MapSpec, spill: str) -> None:
        self._command = spec.commands(spill)
        self._timeout = spec.timeout
        self._slots = Slots()

    async def __call__(self, line: Line) -> CommandResult:
        with self._slots.one() as slot:
            return await perform_command(self._command(line, slot), self._timeout)


class Slots:
    """Numbers from 1 that nobody else has at the same time, always the lowest."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._made = 0

    @contextmanager
    def one(self) -> Iterator[int]:
        """One of them, for as long as the block lasts."""
        if not self._free:
            self._made += 1
            heapq.heappush(self._free, self._made)
        slot = heapq.heappop(self._free)
        try:
            yield slot
        finally:
            heapq.heappush(self._free, slot)
