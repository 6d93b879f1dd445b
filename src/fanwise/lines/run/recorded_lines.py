"""The lines of stdin as items, on disk before any of them starts.

stdin cannot be read twice, so a run could not be resumed from it. Every line therefore goes to the
journal as soon as it is read. Reading is ahead of the items by up to `AHEAD`, so that a crash loses
nothing that the producer has written. The journal writes in order: an item's start is never on
disk without its line. Only some lines are kept in memory; the others are read back from the
journal when their turn comes.

An event records that the input is complete. Without it, a resume ends after the known lines, and
says so.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from fanwise.core.counts import many
from fanwise.errors import UsageError
from fanwise.journal.port import Batch, InputRecord, InputsCleared, Journal, Write
from fanwise.journal.take_first import take
from fanwise.kernel.inbox import Inbox
from fanwise.kernel.line_reader import LineReader
from fanwise.kernel.run import Run
from fanwise.lines.spec.map_spec import LineItem
from fanwise.lines.state.counts import (
    COMPLETE,
    EDITED,
    KnownLines,
    known_inputs,
    lines_are,
    unit_of,
)

AHEAD = 8 << 20
"""Bytes to read ahead of the items, plus `A_LINE` for each line: 100,000 short lines."""
A_LINE = 60
IN_MEMORY = 10_000
"""How many lines are kept in memory, or read back from the journal at once."""


class RecordedLines:
    """Records the lines of a descriptor, then yields them. Without one: the lines in the journal.

    `together`: how many lines are one item; they are recorded as one, with separators.
    `edited`: the input may have changed, and replaces the lines that are known. Otherwise it must
    begin with them.
    """

    def __init__(
        self,
        run: Run,
        fd: int | None,
        *,
        separator: bytes = b"\n",
        together: int = 1,
        edited: bool = False,
        on_complete: Callable[[int], None] = lambda _: None,
    ) -> None:
        assert run.journal is not None
        self._run = run
        self._journal: Journal = run.journal
        self._answers = Inbox(asyncio.get_running_loop(), self._written)
        self._separator = separator
        self._together = together
        self._rest: list[bytes] = []
        """Lines that do not make a whole item yet."""
        self._on_complete = on_complete
        self._memory: deque[bytes] = deque()
        self._pulled = 0
        self._ahead = 0
        self._writing = False
        self._error: BaseException | None = None
        self.other_input: UsageError | None = None
        """The error if the input is not the one that was recorded."""
        self._news = asyncio.Event()
        if edited:
            run.note(EDITED, {})
            self._journal.submit(InputsCleared(run.id))
        earlier = KnownLines(0, False) if edited else known_inputs(self._journal, run.id)
        self._known = earlier.count
        self._recorded: deque[bytes] = deque()
        """The next known lines, with which new ones are compared."""
        self._all_known = self.complete = earlier.complete
        self.count = 0
        """How many lines are known by now."""
        self._on_disk = 0
        self._reader: LineReader | None = None
        if fd is None:
            self.count = self._on_disk = earlier.count
            on_complete(self.count)
        else:
            self._reader = LineReader(fd, self._take, self._unreadable, separator=separator)
            self._reader.more()

    async def given(self) -> AsyncIterator[LineItem]:
        """The lines in order, until the input ends."""
        while True:
            if not self._memory and self._pulled < self._on_disk:
                self._load()
            if self._memory:
                line = LineItem(self._pulled, self._memory.popleft())
                self._pulled += 1
                self._ahead -= len(line.data) + A_LINE
                self._go_on()
                yield line
            elif self._error is not None:
                raise self._error
            elif self._reader is None or (self._reader.ended and self._pulled == self.count):
                return
            else:
                self._news.clear()
                await self._news.wait()

    async def finish(self) -> None:
        """After a halt: record what can be read without waiting."""
        if self._reader is None:
            return
        while self._error is None and not self._reader.ended and self._ahead < AHEAD:
            if not self._reader.read_what_is_there():
                break
            while self._writing and self._error is None:
                self._news.clear()
                await self._news.wait()
        self._reader.pause()

    def _take(self, lines: list[bytes], ended: bool) -> None:
        try:
            items = lines if self._together == 1 else self._grouped(lines, ended)
            self._submit([record for item in items if (record := self._one(item)) is not None])
            if ended:
                self._complete()
        except UsageError as error:
            self._error = self.other_input = error
        if not self._writing:
            self._on_disk = self.count
        self._news.set()
        self._go_on()

    def _grouped(self, lines: list[bytes], ended: bool) -> list[bytes]:
        every = [*self._rest, *lines]
        whole = len(every) if ended else len(every) // self._together * self._together
        self._rest = every[whole:]
        starts = range(0, whole, self._together)
        return [self._separator.join(every[at : at + self._together]) for at in starts]

    def _unreadable(self, error: OSError) -> None:
        self._error = UsageError(
            f"cannot read the input after line {self.count * self._together}: {error.strerror}",
            f"To continue: fanwise resume {self._run.id} --input FILE",
        )
        self._news.set()

    def _one(self, line: bytes) -> InputRecord | None:
        record = None
        if self.count < self._known:
            self._check_same(line)
        elif self._all_known:
            raise self._differs(f"new; the run had {self._known_in_words()}")
        else:
            record = InputRecord(self._run.id, self.count, line)
        self._ahead += len(line) + A_LINE
        if self._pulled + len(self._memory) == self.count and len(self._memory) < IN_MEMORY:
            self._memory.append(line)
        self.count += 1
        return record

    def _submit(self, records: list[Write]) -> None:
        if records:
            self._writing = True
            self._answers.expect()
            self._journal.submit(Batch(others=records), self._answers.put)

    def _written(self, error: BaseException | None) -> None:
        self._writing = False
        self._error = self._error or error
        self._on_disk = self.count
        self._news.set()
        self._go_on()

    def _go_on(self) -> None:
        """Read more, unless it is far enough ahead or the journal lags behind."""
        if self._reader is None or self._writing or self._error is not None:
            return
        if self._ahead < AHEAD:
            self._reader.more()

    def _complete(self) -> None:
        if self.count < self._known:
            raise self._differs(f"missing; the run had {self._known_in_words()}")
        if not self.complete:
            self.complete = True
            self._run.note(COMPLETE, {"lines": self.count})
        self._on_complete(self.count)

    def _check_same(self, line: bytes) -> None:
        if not self._recorded:
            self._recorded.extend(self._lines(self.count))
        if self._recorded.popleft() != line:
            raise self._differs("not what was recorded")

    def _load(self) -> None:
        self._memory.extend(self._lines(self._pulled))

    def _lines(self, start: int) -> list[bytes]:
        return [
            record.data for record in take(self._journal.inputs(self._run.id, start), IN_MEMORY)
        ]

    def _known_in_words(self) -> str:
        return many(self._known, unit_of(self._together))

    def _differs(self, problem: str) -> UsageError:
        return UsageError(
            f"{lines_are(self.count, self._together, ' of the input')} {problem}",
            "Give the input that the run was started with, or start a new run",
        )
