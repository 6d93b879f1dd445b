"""A journal in memory, for tests: yours and ours.

It keeps the port's rules and passes the same contract tests as the one on disk, but a write is
done, and its `then` called, before `submit` returns: nothing waits, so a test in virtual time
is the same on each run. `fail_after=n` makes the disk full after n writes.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import asdict, replace

from fanwise.errors import JournalNotWritable, RunExists, RunNotFound
from fanwise.journal.call_totals import total
from fanwise.journal.callbacks import tell
from fanwise.journal.owner import reclaimed, refuse_if_live
from fanwise.journal.port import (
    AttemptRecord,
    AttemptWrite,
    Batch,
    CallTotals,
    EventRecord,
    FanOutEndWrite,
    FanOutRecord,
    InputRecord,
    InputsCleared,
    ItemEndWrite,
    ItemRecord,
    ItemStartWrite,
    ItemStatus,
    Owner,
    RunEndWrite,
    RunRecord,
    RunSpec,
    Then,
    Write,
)
from fanwise.journal.runs import RunRequests
from fanwise.journal.watches import Watches
from fanwise.testing.memory_leases import MemoryLeaseBook, MemoryLeases


class MemoryJournal:
    """The port, with dicts. What is written lives as long as this object."""

    def __init__(self, *, fail_after: int | None = None) -> None:
        self._writes_left = fail_after
        self._refusal: JournalNotWritable | None = None
        self._lock = threading.RLock()
        self._watches = Watches()
        self._leases = MemoryLeases()
        self._runs: dict[str, RunRecord] = {}
        self._fan_outs: dict[int, FanOutRecord] = {}
        self._items: dict[tuple[int, str], ItemRecord] = {}
        self._attempts: dict[tuple[int, str], list[AttemptRecord]] = {}
        self._events: list[EventRecord] = []
        self._inputs: dict[tuple[str, int], InputRecord] = {}
        self._how: dict[type, Callable[[Any], None]] = {
            ItemStartWrite: self._item_started,
            ItemEndWrite: self._item_ended,
            AttemptWrite: self._attempt_ended,
            FanOutRecord: self._fan_out_opened,
            FanOutEndWrite: self._fan_out_ended,
            EventRecord: self._events.append,
            InputRecord: self._input,
            InputsCleared: self._inputs_cleared,
            RunEndWrite: self._run_ended,
            Batch: self._batch,
        }

    @property
    def location(self) -> str:
        return "memory"

    def create_run(self, run: RunRecord) -> RunRecord:
        with self._lock:
            self._check_open()
            if run.id in self._runs:
                raise RunExists(run.id)
            self._runs[run.id] = replace(run, number=len(self._runs) + 1)
            return self._runs[run.id]

    def claim_run(
        self, run_id: str, owner: Owner, *, force: bool = False, spec: RunSpec | None = None
    ) -> RunRecord:
        """Become the owner of a run."""
        with self._lock:
            self._check_open()
            run = self.run(run_id)
            refuse_if_live(run, force=force)
            claimed = reclaimed(run, owner)
            if spec is not None:
                claimed = replace(claimed, spec=spec.text, digest=spec.digest)
            self._runs[run_id] = claimed
            return claimed

    def run(self, run_id: str) -> RunRecord:
        """`RunNotFound`."""
        with self._lock:
            if run_id not in self._runs:
                raise RunNotFound(run_id, self._runs)
            return self._runs[run_id]

    def runs(self) -> list[RunRecord]:
        """All runs, the newest first."""
        with self._lock:
            return list(self._runs.values())[::-1]

    def fan_outs(self, run_id: str) -> list[FanOutRecord]:
        """In the order in which they were first opened."""
        with self._lock:
            return [record for record in self._fan_outs.values() if record.run_id == run_id]

    def items(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[ItemRecord]:
        """In item order; all, or those with these keys."""
        with self._lock:
            found = [item for item in self._items.values() if item.fan_out == fan_out]
        if keys is not None:
            found = [item for item in found if item.key in keys]
        return iter(sorted(found, key=lambda item: (item.index, item.key)))

    def statuses(self, fan_out: int) -> dict[str, ItemStatus]:
        """Every item's status by its key, in item order."""
        return {item.key: item.status for item in self.items(fan_out)}

    def counts(self, fan_out: int) -> dict[ItemStatus, int]:
        """How many items have which status."""
        return dict(Counter(item.status for item in self.items(fan_out)))

    def attempts(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[AttemptRecord]:
        """By item, then number; of all items, or of those with these keys."""
        with self._lock:
            found = {key: list(a) for (of, key), a in self._attempts.items() if of == fan_out}
            place = {item.key: item.index for item in self.items(fan_out)}
        for key in sorted(found, key=lambda key: (place.get(key, -1), key)):
            if keys is None or key in keys:
                yield from found[key]

    def call_totals(self, run_id: str) -> CallTotals:
        """What the calls of the run came to."""
        return total(
            attempt for fan_out in self.fan_outs(run_id) for attempt in self.attempts(fan_out.id)
        )

    def events(self, run_id: str, kind: str | None = None) -> Iterator[EventRecord]:
        """In the order in which they were submitted; all, or those of one kind."""
        with self._lock:
            found = [event for event in self._events if event.run_id == run_id]
        return (event for event in found if kind is None or event.kind == kind)

    def input_count(self, run_id: str) -> int:
        """How many inputs of a run are recorded."""
        return sum(1 for _ in self.inputs(run_id))

    def inputs(self, run_id: str, start: int = 0) -> Iterator[InputRecord]:
        """In order, from `start` on."""
        with self._lock:
            found = [i for i in self._inputs.values() if i.run_id == run_id and i.index >= start]
        return iter(sorted(found, key=lambda record: record.index))

    def submit(self, write: Write, then: Then | None = None) -> None:
        """Write this now."""
        with self._lock:
            self._spend(write)
            if self._refusal is None:
                self._how[type(write)](write)
            refusal = self._refusal
        tell(then, refusal)

    def request_cancel(self, run_id: str) -> None:
        """Ask whoever executes the run to cancel it."""
        with self._lock:
            self._check_open()
            self._runs[run_id] = replace(self.run(run_id), cancel_requested=True)
        self._watches.fire([RunRequests(run_id, cancel=True, caps={})])

    def watch_cancel(self, run_id: str, on_cancel: Callable[[], None]) -> Callable[[], None]:
        """Call `on_cancel` once, from the thread that requests the cancel."""
        with self._lock:
            end = self._watches.add(run_id, on_cancel)
            requested = run_id in self._runs and self._runs[run_id].cancel_requested
        if requested:
            self._watches.fire([RunRequests(run_id, cancel=True, caps={})])
        return end

    def request_caps(self, run_id: str, caps: Mapping[str, int]) -> None:
        """Ask whoever executes the run for these limits."""
        with self._lock:
            self._check_open()
            run = self.run(run_id)
            asked = {**(run.caps_asked or {}), **caps}
            self._runs[run_id] = replace(run, caps_asked=asked)
        self._watches.fire([RunRequests(run_id, cancel=False, caps=asked)])

    def watch_caps(
        self, run_id: str, on_caps: Callable[[dict[str, int]], None]
    ) -> Callable[[], None]:
        """Call `on_caps` from the thread that asks for other limits."""
        with self._lock:
            end = self._watches.add_caps(run_id, on_caps)
            asked = run_id in self._runs and self._runs[run_id].caps_asked
        if asked:
            self._watches.fire([RunRequests(run_id, cancel=False, caps=asked)])
        return end

    def lease_book(self) -> MemoryLeaseBook:
        return MemoryLeaseBook(self._leases)

    def close(self) -> None:
        """Refuse what follows; what was written can still be read."""
        self._refusal = self._refusal or JournalNotWritable(self.location, "it is closed")

    def _check_open(self) -> None:
        if self._refusal is not None:
            raise self._refusal

    def _spend(self, write: Write) -> None:
        if self._writes_left is None:
            return
        self._writes_left -= len(write) if isinstance(write, Batch) else 1
        if self._writes_left < 0 and self._refusal is None:
            self._refusal = JournalNotWritable(self.location, "database or disk is full")

    def _batch(self, batch: Batch) -> None:
        for write in batch.others:
            self._how[type(write)](write)
        for start in batch.started:
            self._item_started(ItemStartWrite(*start))
        for end in batch.ended:
            self._item_ended(ItemEndWrite(*end))

    def _item_started(self, write: ItemStartWrite) -> None:
        known = self._items.get((write.fan_out, write.key))
        self._items[write.fan_out, write.key] = ItemRecord(
            fan_out=write.fan_out,
            key=write.key,
            index=write.index,
            status="started",
            starts=known.starts + 1 if known and known.status == "started" else 1,
            started_at=write.at,
        )

    def _item_ended(self, write: ItemEndWrite) -> None:
        known = self._items.get((write.fan_out, write.key))
        self._items[write.fan_out, write.key] = ItemRecord(
            fan_out=write.fan_out,
            key=write.key,
            index=write.index,
            status=write.status,
            starts=known.starts if known else 0,
            value=write.value,
            error=write.error,
            started_at=known.started_at if known else None,
            ended_at=write.at,
            queued_s=write.queued_s,
            ran_s=write.ran_s,
            backoff_s=write.backoff_s,
        )

    def _attempt_ended(self, write: AttemptWrite) -> None:
        earlier = self._attempts.setdefault((write.fan_out, write.key), [])
        earlier.append(AttemptRecord(number=len(earlier) + 1, **asdict(write)))

    def _fan_out_opened(self, write: FanOutRecord) -> None:
        known = self._fan_outs.get(write.id, write)
        self._fan_outs[write.id] = replace(write, opened_at=known.opened_at)

    def _fan_out_ended(self, write: FanOutEndWrite) -> None:
        if write.fan_out in self._fan_outs:
            self._fan_outs[write.fan_out] = replace(
                self._fan_outs[write.fan_out],
                status=write.status,
                ended_at=write.at,
                stats=write.stats,
            )

    def _input(self, write: InputRecord) -> None:
        self._inputs[write.run_id, write.index] = write

    def _inputs_cleared(self, write: InputsCleared) -> None:
        for key in [key for key in self._inputs if key[0] == write.run_id]:
            del self._inputs[key]

    def _run_ended(self, write: RunEndWrite) -> None:
        if write.run_id in self._runs:
            self._runs[write.run_id] = replace(
                self._runs[write.run_id],
                status=write.status,
                ended_at=write.at,
                error=write.error,
                owner=None,
            )
