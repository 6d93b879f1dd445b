"""How the kernel makes tasks."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from typing import Any


def new_task(
    work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop, context: contextvars.Context
) -> asyncio.Task[None]:
    """A task that begins in the loop's next turn.

    It is made directly, not with the loop's task factory: an eager factory would run the work
    before its bookkeeping is done, and items that end at once would recurse. It has a fixed name,
    because making one up ("Task-17") is a tenth of the cost of a task.
    """
    return asyncio.Task(work, loop=loop, name="fanwise", context=context)
