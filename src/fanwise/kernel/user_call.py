"""Functions of the user's inside an item: a check, a scorer, a step.

They cost nothing of the budget by themselves; what they ask of a model counts where it is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from fanwise.core.outcome import Usage
from fanwise.kernel.call import call
from fanwise.kernel.work import is_async

NOTHING = Usage(0, 0, 0.0, input_tokens=0, output_tokens=0, cached_tokens=0)


class _Free(TypedDict):
    estimate: Usage
    usage: Callable[[Any], Usage]


FREE: _Free = {"estimate": NOTHING, "usage": lambda _: NOTHING}
"""Options of a `call` that asks nobody: a command, a function."""


async def perform(function: Callable[..., Any], *args: Any) -> Any:
    """Call it: on the loop if it is async, else in a thread, so that nothing else waits for it."""
    if is_async(function):
        return await function(*args)
    return await call(function, *args, name=name_of(function), **FREE)


def name_of(function: Callable[..., Any]) -> str:
    """How to call a function in a report."""
    return str(getattr(function, "__name__", None) or type(function).__name__)
