"""Copy runs from one journal to another, whatever databases they are, and verify the copy.

Everything goes through the port, so the target numbers runs and fan-outs itself. A run is copied
whole or refused: one that is being executed would be different at its end.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from msgspec.structs import replace

from fanwise.errors import JournalDamaged, RunExists, RunIsLive
from fanwise.journal.owner import describe, liveness
from fanwise.journal.port import (
    AttemptWrite,
    FanOutEndWrite,
    FanOutRecord,
    ItemEndWrite,
    ItemRecord,
    ItemStartWrite,
    Journal,
    RunEndWrite,
    RunRecord,
    Write,
    fan_out_id,
)

MOST_WAITING = 5_000
"""Writes submitted before waiting for the answer to one."""


def refuse_taken(target: Journal, runs: Iterable[RunRecord]) -> None:
    """Raise `RunExists` or `RunIsLive` if one of the runs cannot be copied."""
    taken = {run.id for run in target.runs()}
    for run in runs:
        if run.id in taken:
            raise RunExists(run.id)
        if run.owner is not None and liveness(run.owner) != "dead":
            raise RunIsLive(run.id, describe(run.owner))


def copy_run(source: Journal, target: Journal, run: RunRecord) -> None:
    """Copy one run. Raises `JournalDamaged` if the copy differs."""
    created = target.create_run(replace(run, owner=None))
    _submit_all(target, _writes(source, run, created.number))
    problem = difference(source, target, run.id)
    if problem:
        raise JournalDamaged(target.location, run.id, problem, "the copy differs from the original")


def difference(one: Journal, other: Journal, run_id: str) -> str | None:
    """The first thing in which a run differs between two journals; None: there is none."""
    for name, first, second in _pairs(one, other, run_id):
        for left, right in zip_longest(first, second):
            if left != right:
                return name
    return None


def _pairs(
    one: Journal, other: Journal, run_id: str
) -> Iterator[tuple[str, Iterable[Any], Iterable[Any]]]:
    """What a run consists of, from both journals."""
    yield "the run", [_plain_run(one.run(run_id))], [_plain_run(other.run(run_id))]
    left, right = one.fan_outs(run_id), other.fan_outs(run_id)
    yield "a fan-out", [replace(f, id=0) for f in left], [replace(f, id=0) for f in right]
    for a, b in zip(left, right, strict=True):
        where = f"of fan-out {a.path!r}"
        yield f"an item {where}", _moved(one.items(a.id)), _moved(other.items(b.id))
        yield f"an attempt {where}", _moved(one.attempts(a.id)), _moved(other.attempts(b.id))
    yield "an event", one.events(run_id), other.events(run_id)
    yield "an input", one.inputs(run_id), other.inputs(run_id)


def _plain_run(run: RunRecord) -> RunRecord:
    return replace(run, number=0, owner=None)


def _moved(records: Iterable[Any]) -> Iterator[Any]:
    """The records without the number of their fan-out, which a copy gives anew."""
    return (replace(record, fan_out=0) for record in records)


def _writes(source: Journal, run: RunRecord, number: int) -> Iterator[Write]:
    yield from source.inputs(run.id)
    yield from source.events(run.id)
    for place, fan_out in enumerate(source.fan_outs(run.id), 1):
        new = fan_out_id(number, place)
        yield from _fan_out_writes(source, fan_out, new)
    if run.status != "running":
        yield RunEndWrite(run.id, run.status, run.ended_at or run.created_at, run.error)


def _fan_out_writes(source: Journal, fan_out: FanOutRecord, new: int) -> Iterator[Write]:
    yield replace(fan_out, id=new, status="running", ended_at=None, stats=None)
    for item in source.items(fan_out.id):
        yield from _item_writes(item, new)
    for attempt in source.attempts(fan_out.id):
        fields = {name: getattr(attempt, name) for name in AttemptWrite.__struct_fields__}
        yield AttemptWrite(**fields | {"fan_out": new})
    if fan_out.ended_at is not None:
        yield FanOutEndWrite(new, fan_out.status, fan_out.ended_at, fan_out.stats or "null")


def _item_writes(item: ItemRecord, new: int) -> Iterator[Write]:
    for _ in range(item.starts):
        yield ItemStartWrite(new, item.key, item.index, item.started_at or 0.0)
    if item.status != "started":
        yield ItemEndWrite(
            new, item.key, item.index, item.status, item.ended_at or 0.0, item.queued_s,
            item.ran_s, item.backoff_s, item.value, item.error,
        )  # fmt: skip


def _submit_all(target: Journal, writes: Iterable[Write]) -> None:
    """Submit the writes, never many more than the journal has taken. Raises the first error."""
    failed: list[BaseException] = []
    room = threading.Semaphore(MOST_WAITING)

    def answered(error: BaseException | None) -> None:
        if error is not None:
            failed.append(error)
        room.release()

    for write in writes:
        room.acquire()
        if failed:
            break
        target.submit(write, answered)
    else:
        for _ in range(MOST_WAITING):
            room.acquire()
    if failed:
        raise failed[0]
