"""What callers do with what a call returns: read it, leave it early, enter it, call it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, MethodWrapperType
from typing import Any

FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, MethodWrapperType, partial)
"""What is called and is nothing else: which of them it is does not matter."""
Chain = list[tuple[list[Any], dict[str, Any]]]
"""Calls of what a call returned: the first of that, the next of what the one before returned."""
Use = tuple[list[Any], Callable[[], Any]]
"""Further arguments that are given, and what is done."""


def sends(value: Any) -> Iterator[Use]:
    """What a generator makes of values that it is sent; other iterators do not get them."""
    if isinstance(value, Iterator):
        yield [], lambda: next(value)
        for each in (0, 2, None):
            send = getattr(value, "send", lambda _: next(value))
            yield [], partial(send, each)


def uses(value: Any, follow: list[Chain], *, trouble: bool) -> Iterator[Use]:
    """What can be done with it, in order; with `trouble` only what goes wrong halfway."""
    kind = type(value)
    if hasattr(kind, "__enter__") and hasattr(kind, "__exit__"):
        yield [], lambda: kind.__enter__(value)
        error = ValueError("trouble") if trouble else None
        yield [], lambda: kind.__exit__(value, type(error) if error else None, error, None)
    elif hasattr(kind, "__aenter__") and hasattr(kind, "__aexit__"):
        yield [], lambda: _run(_entered(value, ValueError("trouble") if trouble else None))
    elif trouble:
        return
    elif inspect.isasyncgen(value):
        yield [], lambda: _run(_left_early(value))
    elif isinstance(value, Iterator):
        yield [], lambda: next(value, "the end")
        yield [], getattr(value, "close", lambda: None)
    elif callable(value):
        for chain in follow:
            given = [each for args, kwargs in chain for each in (*args, kwargs)]
            yield given, partial(_called, value, chain)
        for first in follow[:1]:  # whether two results are one
            yield [], partial(lambda chain: [_called(value, chain), _called(value, chain)], first)


def _called(function: Callable[..., Any], chain: Chain) -> Any:
    found: Any = function
    for args, kwargs in chain:
        found = found(*args, **kwargs)
    return _run(found) if inspect.iscoroutine(found) else found


async def _entered(value: Any, error: Exception | None) -> Any:
    first = await type(value).__aenter__(value)
    return first, await type(value).__aexit__(value, type(error) if error else None, error, None)


async def _left_early(value: Any) -> Any:
    first = await anext(value, "the end")
    await value.aclose()
    return first


async def cancelled(work: Any) -> bool:
    """Cancel it at its first wait; whether it goes on all the same."""
    import asyncio

    task = asyncio.ensure_future(work)
    await asyncio.sleep(0)
    begun = task.cancel()
    await asyncio.wait([task])
    return not task.cancelled() and task.exception() is None and begun


def _run(work: Any) -> Any:
    import asyncio  # most have no use for it, and it takes as long as all the rest

    return asyncio.run(work)
