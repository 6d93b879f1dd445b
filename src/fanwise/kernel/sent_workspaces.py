"""Workspaces on the machines of workers.

A worker gets the repository as a parcel: the commit that a run starts from, without history. Its
workspaces are made of that like those of the driver, and are kept for the next item. What an item
changed goes back as objects or patches; the driver merges.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.parcels import let_go_of_parcels, parcel, unpacked
from fanwise.workspaces import WorkspacePool
from fanwise.workspaces.shipment import write_shipment
from fanwise.workspaces.source import Place, find


class SentRepository(NamedTuple):
    """A repository as an item on a worker gets it."""

    parcel: str
    base: str
    place: Place
    """Where it is on the driver's machine."""
    copy: tuple[str, ...]


_Kind = tuple[SentRepository, int, tuple[str, ...]]
_idle: dict[_Kind, list[WorkspacePool]] = {}
_open: list[WorkspacePool] = []


@asynccontextmanager
async def sent_repository(
    repo: Path, base: str, copy: Sequence[str]
) -> AsyncIterator[SentRepository]:
    """Keep the repository for workers, for a block. `UsageError` if it cannot be sent."""
    place = await in_thread(find, repo)
    async with parcel(partial(write_shipment, repo, base, copy)) as name:
        yield SentRepository(name, base, place, tuple(copy))


@asynccontextmanager
async def workspaces_there(
    sent: SentRepository, *, slots: int = 1, sparse: Sequence[str] = ()
) -> AsyncIterator[WorkspacePool]:
    """A pool on this worker's machine that nobody else uses, for a block."""
    top = await unpacked(sent.parcel)
    idle = _idle.setdefault((sent, slots, tuple(sparse)), [])
    pool = idle.pop() if idle else await in_thread(_opened, top, sent, slots, sparse)
    try:
        yield pool
    finally:
        idle.append(pool)


def _opened(top: Path, sent: SentRepository, slots: int, sparse: Sequence[str]) -> WorkspacePool:
    pool = WorkspacePool(
        top, slots=slots, copy=sent.copy, sparse=sparse, base=sent.base, users=sent.place
    )
    pool.open()
    _open.append(pool)
    return pool


def close_workspaces() -> None:
    """This worker ends."""
    _idle.clear()
    while _open:
        _open.pop().close()
    let_go_of_parcels()
