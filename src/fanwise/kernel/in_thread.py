"""Calling a sync function from async code, in one of the kernel's threads.

There is no permit, record or retry: use `call` for work that is bounded or costs something. This is
for git, files and other short work that would block the event loop.
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
    """Call the function in a thread. A cancellation waits until it returns."""
    async with threads_here() as threads:
        return await threads.run(functools.partial(function, *args, **options))


@asynccontextmanager
async def thread_context(manager: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and leave a context manager in a thread, such as a folder that takes long to remove.

    It is always left, even if this is cancelled while it is being entered.
    """
    stack = ExitStack()
    try:
        yield await in_thread(stack.enter_context, manager)
    finally:
        await in_thread(stack.close)


@asynccontextmanager
async def threads_here() -> AsyncIterator[Threads]:
    """The threads of the fan-out around, or new ones that end with the block."""
    scope = current.get()
    if scope is not None:
        yield scope.fan_out.threads
        return
    own = Threads("fanwise-thread")
    try:
        yield own
    finally:
        own.close()
