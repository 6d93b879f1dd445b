"""The work on a line: its command, filled in and run, or with `--dry-run` only filled in."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from contextlib import contextmanager

from fanwise.errors import UsageError
from fanwise.kernel import events
from fanwise.kernel.run import Run
from fanwise.kernel.work import CommandCodec, perform_command
from fanwise.lines.spec.halt_rule import HaltRule
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


STATUSES = {"fail": ("failed",), "success": ("done",), "done": ("done", "failed")}


class HaltAfter:
    """Halts a map after so many ends of a kind, in the order in which commands end.

    A subscriber, because it hears of an outcome before anything else starts, also of one that an
    earlier execution recorded. `now,fail=1` is not counted here: it is the kernel's own halt, in
    the order of the lines.
    """

    def __init__(self, rule: HaltRule, run: Run) -> None:
        self._rule = rule
        self._run = run
        self._counted = 0
        self.halted = False
        """Whether it has halted the run."""

    def __call__(self, event: events.Event) -> None:
        rule = self._rule
        if not isinstance(event, events.ItemEnded) or rule.when == "never" or rule.in_order:
            return
        self._counted += event.outcome.status in STATUSES[rule.what]
        if self._counted >= rule.number and not self.halted:
            self.halted = True
            (self._run.cancel if rule.when == "now" else self._run.halt)(rule.words)


CHUNK = 1 << 18


def commands(spec: MapSpec, fd: int) -> Iterator[list[str]]:
    """The words of each command. Nothing is started or written."""
    make = spec.commands()
    for index, item in enumerate(_items(spec, fd)):
        argv = make(LineItem(index, item), index % spec.cap + 1).exec_argv()
        yield [_text(os.fsdecode(each)) for each in argv]


def _items(spec: MapSpec, fd: int) -> Iterator[bytes]:
    """The lines, grouped as commands get them."""
    together: list[bytes] = []
    for line in _lines(fd, spec.separator):
        together.append(line)
        if len(together) == spec.lines:
            yield spec.separator.join(together)
            together = []
    if together:
        yield spec.separator.join(together)


def _lines(fd: int, separator: bytes) -> Iterator[bytes]:
    rest = b""
    while chunk := _read(fd):
        *lines, rest = (rest + chunk).split(separator)
        yield from lines
    if rest:
        yield rest


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, CHUNK)
    except OSError as error:
        raise UsageError(f"cannot read the input: {error.strerror}") from error


def _text(word: str) -> str:
    return word.encode("utf-8", "backslashreplace").decode()
