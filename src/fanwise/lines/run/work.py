"""The work on a line: its command, filled in and run."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from contextlib import contextmanager

from fanwise.kernel.work import CommandCodec, perform_command
from fanwise.lines.spec.map_spec import LineItem, MapSpec
from fanwise.processes import CommandResult


class LineWork:
    """The work on a line, for a fan-out."""

    journal_codec = CommandCodec()

    def __init__(self, spec: MapSpec, spill: str) -> None:
        self._command = spec.commands(spill)
        self._timeout = spec.timeout
        self._slots = Slots()
        self._keeps_slots = spec.joblog is not None
        self.slots: dict[int, int] = {}
        """The slot of each item, for the job log, which removes it."""

    async def __call__(self, line: LineItem) -> CommandResult:
        with self._slots.one() as slot:
            if self._keeps_slots:
                self.slots[line.index] = slot
            return await perform_command(self._command(line, slot), self._timeout)


class Slots:
    """Numbers from 1 that are not in use, the lowest first."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._made = 0

    @contextmanager
    def one(self) -> Iterator[int]:
        """A number for as long as the block lasts."""
        if not self._free:
            self._made += 1
            heapq.heappush(self._free, self._made)
        slot = heapq.heappop(self._free)
        try:
            yield slot
        finally:
            heapq.heappush(self._free, slot)
