"""Calling users' functions inside an item: checks, scorers, steps.

They cost nothing themselves. If they call a model, that call counts against the budget.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from fanwise.core.outcome import Usage
from fanwise.errors import NotShippable
from fanwise.kernel.call import call
from fanwise.kernel.sent_calls import sent_to_workers
from fanwise.kernel.work import is_async

NOTHING = Usage(0, 0, 0.0, input_tokens=0, output_tokens=0, cached_tokens=0)


class _Free(TypedDict):
    estimate: Usage
    usage: Callable[[Any], Usage]


FREE: _Free = {"estimate": NOTHING, "usage": lambda _: NOTHING}
"""Options of a `call` that costs nothing: a command, a function."""


async def perform(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function: on the loop if it is async, otherwise in a thread."""
    if is_async(function):
        return await function(*args)
    return await call(function, *args, name=name_of(function), **FREE)


async def perform_anywhere(function: Callable[..., Any], *args: Any) -> Any:
    """Let a worker of the run call it, if there are workers and the function can be sent."""
    sync = not is_async(function)
    try:
        sent = await sent_to_workers(function, args, None, sync=sync)
    except NotShippable:
        sent = None
    if sent is None:
        return await perform(function, *args)
    if not sync:
        return await sent(None)
    return await call(sent, None, name=name_of(function), **FREE)


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, for reports."""
    return str(getattr(function, "__name__", None) or type(function).__name__)
