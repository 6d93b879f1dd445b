"""A sync function inside async code, in a thread of the kernel's, and nothing more than that.

No permit, no record, no retry: `call` is for what is bounded and paid for. This is for git, files
and other short work that an event loop should not wait for.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from typing import ParamSpec, TypeVar

from fanwise.kernel.scope import current
from fanwise.kernel.threads import Threads

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Call it in a thread; a cancellation waits for its end."""
    async with threads_here() as threads:
        return await threads.run(functools.partial(function, *args, **options))


@asynccontextmanager
async def thread_context(manager: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and leave it in a thread: a folder, which may take long to remove.

    It is left whatever happens, also if this is cancelled while it is entered.
    """
    stack = ExitStack()
    try:
        yield await in_thread(stack.enter_context, manager)
    finally:
        await in_thread(stack.close)


@asynccontextmanager
async def threads_here() -> AsyncIterator[Threads]:
    """Those of the fan-out around, or some of one's own for as long as the block lasts."""
    scope = current.get()
    if scope is not None:
        yield scope.fan_out.threads
        return
    own = Threads("fanwise-thread")
    try:
        yield own
    finally:
        own.close()
