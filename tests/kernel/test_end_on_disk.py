"""While an item's end is on its way to disk: what starts meanwhile, and what waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from fanwise import Halt, Outcomes, Run, fan_out, open_run
from fanwise.errors import JournalNotWritable
from fanwise.journal.port import Batch, EventRecord, Then, Write
from fanwise.kernel.events import Event
from fanwise.kernel.events import ItemEnded as Told
from fanwise.testing import MemoryJournal


class SlowDisk(MemoryJournal):
    """Says of the first end that it is written only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.submitted: list[tuple[str, str]] = []
        self.held: list[Callable[[], None]] = []
        self.holding = asyncio.Event()

    def submit(self, write: Write, then: Then | None = None) -> None:
        if isinstance(write, Batch):
            self.submitted += [("end", row[1]) for row in write.ended]
            self.submitted += [("start", row[1]) for row in write.started]
        if self.holding.is_set() or not isinstance(write, Batch) or not write.ended:
            super().submit(write, then)
            return
        self.held.append(lambda: MemoryJournal.submit(self, write, then))
        self.holding.set()


async def work(item: str) -> str:
    if item.startswith("bad"):
        raise ValueError(item)
    return item


ENDS_FIRST = [("start", "0"), ("end", "0")]
TOGETHER = [*ENDS_FIRST, ("start", "1")]


@pytest.mark.parametrize(
    ("first", "halt", "meanwhile"),
    [
        ("good", Halt.never(), TOGETHER),
        ("bad", Halt.never(), TOGETHER),
        ("good", Halt.on_failure(), TOGETHER),
        ("bad", Halt.on_failure(), ENDS_FIRST),
        ("good", Halt.on_success(), ENDS_FIRST),
        ("bad", Halt.on_success(), TOGETHER),
        # What the predicate would say is not known: nobody is told what is not on disk.
        ("good", Halt.when(lambda outcome: not outcome.ok), ENDS_FIRST),
    ],
    ids=["never", "never-bad", "failure", "failure-bad", "success", "success-bad", "when"],
)
def test_the_next_one_starts_meanwhile_unless_the_halt_may_forbid_it(
    first: str, halt: Halt, meanwhile: list[tuple[str, str]]
) -> None:
    asyncio.run(_on_a_slow_disk(first, halt, meanwhile))


async def _on_a_slow_disk(first: str, halt: Halt, meanwhile: list[tuple[str, str]]) -> None:
    disk = SlowDisk()
    told: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, Told):
            told.append(event.outcome.key)

    async def execute() -> Outcomes[Any]:
        async with open_run("r", journal=disk, subscribers=[listen]) as run:
            return await fan_out(work, [first, "good"], cap=1, run=run, halt=halt)

    task = asyncio.create_task(execute())
    await disk.holding.wait()
    for _ in range(20):  # turns of the loop: all that can happen without the disk has happened
        await asyncio.sleep(0)
    seen, told_of = disk.submitted[:3], list(told)
    disk.held.pop()()
    assert seen == meanwhile
    assert "0" not in told_of
    outcomes = await task
    halted = halt.judge(outcomes[0])
    assert len(outcomes) == (1 if halted else 2)
    assert (("start", "1") in disk.submitted) is not halted
    assert "0" in told


class StoppedDisk(MemoryJournal):
    """Writes nothing from the first event of a kind on, until it is released."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.stopped = asyncio.Event()
        self._held: list[tuple[Write, Then | None]] = []

    def submit(self, write: Write, then: Then | None = None) -> None:
        if isinstance(write, EventRecord) and write.kind == self.kind:
            self.stopped.set()
        if self.stopped.is_set():
            self._held.append((write, then))
        else:
            super().submit(write, then)

    def release(self) -> None:
        for write, then in self._held:
            super().submit(write, then)
        self._held.clear()
        self.stopped.clear()
        self.kind = ""


async def _waits_for_the_disk(
    kind: str, execute: Callable[[Run], Coroutine[Any, Any, object]]
) -> None:
    disk = StoppedDisk(kind)
    async with open_run("r", journal=disk) as run:
        task = asyncio.create_task(execute(run))
        await disk.stopped.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        ended_before = task.done()
        disk.release()
        await task
    assert not ended_before


def test_a_fan_out_returns_after_the_answer_of_its_predicate_is_on_disk() -> None:
    """On a resume the predicate could answer differently, and what it halted would run."""
    halt = Halt.when(lambda outcome: not outcome.ok)
    asyncio.run(
        _waits_for_the_disk("halt", lambda run: fan_out(work, ["bad", "good"], run=run, halt=halt))
    )


def test_a_note_can_be_awaited() -> None:
    asyncio.run(_waits_for_the_disk("given", lambda run: run.note_on_disk("given", {})))


def test_an_awaited_note_that_cannot_be_written_raises_and_so_does_the_end() -> None:
    async def execute() -> None:
        disk = MemoryJournal(fail_after=0)
        async with open_run("r", journal=disk) as run:
            with pytest.raises(JournalNotWritable):
                await run.note_on_disk("given", {})

    with pytest.raises(JournalNotWritable):  # nobody may think that the end is recorded
        asyncio.run(execute())
