"""Entry points for code without an event loop: each async one has a `_sync` twin, made here."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from fanwise.errors import UsageError
from fanwise.kernel.open_item import OpenItem
from fanwise.kernel.scope import current
from fanwise.kernel.threads import ThreadCall, current_call

P = ParamSpec("P")
T = TypeVar("T")


def sync_twin(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a sync version of an async function, with the same arguments.

    Inside sync work (a thread of a fan-out) it runs on that fan-out's loop, and shares its caps.
    """

    @functools.wraps(function)
    def twin(*args: P.args, **options: P.kwargs) -> T:
        return run_sync(function(*args, **options))

    twin.__name__ = f"{function.__name__}_sync"
    twin.__qualname__ = f"{function.__qualname__}_sync"
    twin.__doc__ = f"`{function.__name__}` for code without an event loop."
    return twin


def run_sync(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a new loop, or on that of the fan-out around this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        main.close()
        raise UsageError("an event loop is running here", "Await the function without `_sync`")
    around = current.get()
    if around is None or not around.fan_out.loop.is_running():
        return asyncio.run(main)
    inside = _in_scope(main, around, current_call())
    try:
        return asyncio.run_coroutine_threadsafe(inside, around.fan_out.loop).result()
    except concurrent.futures.CancelledError as error:
        # As in asyncio: not an `Exception`, which sync code often swallows.
        raise asyncio.CancelledError from error


async def _in_scope(
    main: Coroutine[Any, Any, T], around: OpenItem[Any, Any], call: ThreadCall | None
) -> T:
    """Run it on the loop of the item around, under its caps; it is cancelled with the item."""
    current.set(around)
    task = asyncio.current_task()
    assert task is not None
    around.guests |= {task}
    if call is not None:
        call.on_interruption(task.cancel)
    try:
        return await main
    finally:
        around.guests -= {task}
