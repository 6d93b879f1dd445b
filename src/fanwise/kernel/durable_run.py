"""An open run's side of the journal: its record, its fan-outs, its halts, and what it spent.

A run in memory has none of this.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any

import msgspec

from fanwise.core.outcome import Usage
from fanwise.crashpoint import crash_point
from fanwise.errors import RunExists, SpecChanged
from fanwise.journal import port
from fanwise.journal.codec import Codec
from fanwise.kernel.outbox import Outbox
from fanwise.kernel.recorded_halts import recorded_halts
from fanwise.kernel.recorded_outcomes import usage_of
from fanwise.kernel.recorder import Recorder, unsettled

JournalLike = str | os.PathLike[str] | port.Journal


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which run to open, and how; the fields are those of `open_run`."""

    id: str
    kind: str = ""
    name: str = ""
    spec: str = "null"
    """As JSON."""
    resume: bool | None = None
    take_over: bool = False
    may_change: bool = False


def open_durable_run(request: RunRequest, given: JournalLike | None, epoch: float) -> DurableRun:
    """Open the journal, and create the run in it or claim it."""
    from fanwise.journal.open import open_journal

    if given is not None and not isinstance(given, str | os.PathLike):
        return _open_in(given, request, epoch, owns_journal=False)
    journal = open_journal(given)
    try:
        return _open_in(journal, request, epoch, owns_journal=True)
    except BaseException:
        journal.close()
        raise


def _open_in(
    journal: port.Journal, request: RunRequest, epoch: float, *, owns_journal: bool
) -> DurableRun:
    record, resumed = _create_or_claim(journal, request, epoch + time.monotonic())
    return DurableRun(journal, record, epoch, owns_journal=owns_journal, resumed=resumed)


def _create_or_claim(
    journal: port.Journal, request: RunRequest, now: float
) -> tuple[port.RunRecord, bool]:
    """The run's record, and whether an earlier process had created it."""
    from fanwise.journal.owner import current_owner

    owner = current_owner()
    digest = hashlib.sha256(request.spec.encode()).hexdigest()
    if request.resume is not True:
        new = port.RunRecord(
            request.id, 0, request.kind, request.name, request.spec, digest, "running", now,
            owner=owner,
        )  # fmt: skip
        # Create it without looking first: another process may be doing the same.
        try:
            return journal.create_run(new), False
        except RunExists:
            if request.resume is False:
                raise
    existing = journal.run(request.id)
    changed = None
    if request.spec != "null" and existing.digest != digest:
        if not request.may_change or existing.kind != request.kind:
            raise SpecChanged(request.id)
        changed = port.RunSpec(request.spec, digest)
    claimed = journal.claim_run(request.id, owner, force=request.take_over, spec=changed)
    return claimed, True


class DurableRun:
    """Made by `open_durable_run`; `close` ends it."""

    def __init__(
        self,
        journal: port.Journal,
        record: port.RunRecord,
        epoch: float,
        *,
        owns_journal: bool,
        resumed: bool,
    ) -> None:
        self.journal = journal
        self.record = record
        self.resumed = resumed
        self._id = record.id
        self._epoch = epoch
        self._owns_journal = owns_journal
        self._fan_outs = {each.path: each.id for each in journal.fan_outs(record.id)}
        self._outbox: Outbox | None = None

    def recorder(self, path: str, cap: int, halt: str, codec: Codec, *, again: bool) -> Recorder:
        """Records one fan-out. `again`: items that had failed run again."""
        known = path in self._fan_outs
        if not known:
            self._fan_outs[path] = port.fan_out_id(self.record.number, len(self._fan_outs) + 1)
            opened = port.FanOutRecord(self._fan_outs[path], self._id, path, cap, halt, self._now())
            self.journal.submit(opened)
        return Recorder(
            self._outbox_here(), self.journal, self._id, self._fan_outs[path], codec, self._epoch,
            known=known, again=again,
            halts=self._halts.setdefault(path, set()) if known and halt == "when" else set(),
        )  # fmt: skip

    def remember_halt(self, path: str, key: str) -> None:
        """A predicate halted this fan-out at this item; another attempt at it halts there too."""
        self._halts.setdefault(path, set()).add(key)

    @functools.cached_property
    def _halts(self) -> dict[str, set[str]]:
        return recorded_halts(self.journal.events(self._id))

    def note(self, kind: str, data: Any) -> None:
        """Record an event."""
        text = msgspec.json.encode(data).decode()
        self.journal.submit(port.EventRecord(self._id, self._now(), kind, text))

    async def all_on_disk(self) -> None:
        """Wait until everything that was recorded so far is on disk."""
        await self._outbox_here().on_disk()

    def spent(self) -> Iterable[Usage]:
        """What the run spent in earlier executions."""
        return self._spent(self._fan_outs.values())

    def spent_in(self, path: str) -> Iterable[Usage]:
        """What one fan-out, and everything inside it, spent so far.

        Ask before the fan-out has its recorder: a path that is not known then has spent nothing.
        """
        inside = {n for at, n in self._fan_outs.items() if f"{at}/".startswith(f"{path}/")}
        return self._spent(inside) if inside else ()

    def _spent(self, fan_outs: Collection[int]) -> Iterable[Usage]:
        for fan_out in fan_outs:
            for row in self.journal.attempts(fan_out):
                if (usage := usage_of(row)) is not None:
                    yield usage
        yield from unsettled(self.journal.events(self._id), fan_outs)

    def watch(
        self, on_cancel: Callable[[], None], on_caps: Callable[[dict[str, int]], None]
    ) -> Callable[[], None]:
        """Call these on the running loop when somebody asks for it. Returns how to stop that."""
        loop = asyncio.get_running_loop()

        def on_loop(callback: Callable[..., None], *args: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so everything has ended
                loop.call_soon_threadsafe(callback, *args)

        ends = [
            self.journal.watch_cancel(self._id, functools.partial(on_loop, on_cancel)),
            self.journal.watch_caps(self._id, functools.partial(on_loop, on_caps)),
        ]

        def stop() -> None:
            for end in ends:
                end()

        return stop

    def close(self, status: port.RunStatus, reason: str | None) -> BaseException | None:
        """Record on disk how the run ended, and let go of the journal.

        Returns what went wrong with a journal that stays open; one that is closed raises it.
        """
        crash_point("run.before_end")
        end = port.RunEndWrite(self._id, status, self._now(), reason)
        if self._owns_journal:
            self.journal.submit(end)
            self.journal.close()
            return None
        written: concurrent.futures.Future[BaseException | None] = concurrent.futures.Future()
        self.journal.submit(end, written.set_result)
        return written.result()

    def _outbox_here(self) -> Outbox:
        """One for all fan-outs of the run on this event loop."""
        loop = asyncio.get_running_loop()
        if self._outbox is None or self._outbox.loop is not loop:
            self._outbox = Outbox(self.journal, loop)
        return self._outbox

    def _now(self) -> float:
        return self._epoch + time.monotonic()
