"""Async tests in virtual time: an hour of sleeping takes a millisecond, and never varies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from fanwise.kernel.virtual_time import run_virtual

P = ParamSpec("P")
T = TypeVar("T")


def virtual_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Decorate an async function: calling it runs it to its end in virtual time."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_virtual(test(*args, **kwargs))

    return run
