"""Workspaces in async code: git runs in the kernel's threads, and items wait through caps.

A pool has no queue of its own. Items that use one need a cap of its size, by any name:
`caps=Caps(workspaces=len(pool))` and `needs=lambda item: "workspaces"`, or the same `needs` of a
`call`. So a permit means that a workspace is free.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, overload

from fanwise.kernel.in_thread import threads_here
from fanwise.kernel.threads import EndedAnyway
from fanwise.workspaces import Workspace, WorkspacePool
from fanwise.workspaces.port import Pool, W


@asynccontextmanager
async def open_workspaces(
    repo: str | os.PathLike[str] = ".",
    *,
    slots: int = 4,
    dirty: bool = False,
    copy: Sequence[str] = (),
    sparse: Sequence[str] = (),
    base: str | None = None,
    whole: bool = False,
) -> AsyncIterator[WorkspacePool]:
    """Open a `WorkspacePool` for a block, and remove every trace of it afterwards."""
    pool = WorkspacePool(
        repo, slots=slots, dirty=dirty, copy=copy, sparse=sparse, base=base, whole=whole
    )
    async with threads_here() as threads:
        try:
            await threads.run(pool.open)
            yield pool
        finally:
            await threads.run(pool.close)  # a cancellation waits for this too


@overload
def workspace(pool: Pool[W]) -> AbstractAsyncContextManager[W]: ...


@overload
def workspace(
    pool: WorkspacePool, *, at: str | None = None, sparse: Sequence[str] | None = None
) -> AbstractAsyncContextManager[Workspace]: ...


def workspace(
    pool: Any, *, at: str | None = None, sparse: Sequence[str] | None = None
) -> AbstractAsyncContextManager[Any]:
    """Take a workspace for a block. It is reset in a thread, so it is as good as new.

    `at` and `sparse`: as for `WorkspacePool.take`.
    """
    given = {"at": at, "sparse": sparse}
    return _taken(pool, {name: value for name, value in given.items() if value is not None})


@asynccontextmanager
async def _taken(pool: Any, options: dict[str, Any]) -> AsyncIterator[Any]:
    async with threads_here() as threads:
        try:
            taken = await threads.call(functools.partial(pool.take, **options))
        except EndedAnyway as late:
            pool.give_back(late.value)
            raise asyncio.CancelledError from None
        try:
            yield taken
        finally:
            pool.give_back(taken)
