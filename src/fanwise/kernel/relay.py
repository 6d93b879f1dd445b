"""What a piece of work says while it runs, for a reader beside it.

A generator would do if the work were one; but a call runs inside `call`, which waits for permits,
retries and records, and returns only its end.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

from fanwise.kernel.tasks import new_task

T = TypeVar("T")


async def relay(
    work: Callable[[Callable[[T], None]], Awaitable[object]],
) -> AsyncGenerator[T, None]:
    """What `work` hands to its argument, as it comes. Its error is raised at the end.

    Whoever closes the generator earlier cancels the work, and waits for its end.
    """
    queue: asyncio.Queue[tuple[T] | None] = asyncio.Queue()

    async def run() -> None:
        try:
            await work(lambda piece: queue.put_nowait((piece,)))
        finally:
            queue.put_nowait(None)

    task = new_task(run(), asyncio.get_running_loop(), contextvars.copy_context())
    try:
        while (piece := await queue.get()) is not None:
            yield piece[0]
        await task
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # it was raised above, or nobody reads any more
