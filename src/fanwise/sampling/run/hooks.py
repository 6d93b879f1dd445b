"""Where your own code may look on: when the loop starts and ends, at each sample and repair.

Each hook is a function, sync or async, of the one thing that is described here. An error in a
hook ends the loop and comes out of `sample`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from fanwise.models.port import Request
from fanwise.sampling.samples import Sample
from fanwise.sampling.state.result import SampleResult
from fanwise.sampling.strategies.strategy import Turn


class LoopStart(msgspec.Struct):
    """The loop is about to start. Both budgets may be changed; each is at least 1."""

    request: Request
    loop_budget: int
    concurrency_budget: int


class Repairing(msgspec.Struct, frozen=True):
    """A chain is about to make another sample."""

    failed: Sample
    turn: Turn


class Hooks(msgspec.Struct, frozen=True):
    """`Hooks(iteration=print)`: those that you give are called."""

    start: Callable[[LoopStart], Awaitable[None] | None] | None = None
    """Before anything is asked."""
    iteration: Callable[[Sample], Awaitable[None] | None] | None = None
    """After each sample that was checked. Chains take turns: sort by id if order matters."""
    repair: Callable[[Repairing], Awaitable[None] | None] | None = None
    """Before each sample of a chain but its first."""
    end: Callable[[SampleResult], Awaitable[None] | None] | None = None
    """With everything: samples, errors, tokens, dollars, time saved."""


async def tell(hook: Callable[[Any], Awaitable[None] | None] | None, news: Any) -> None:
    """Call a hook, if there is one."""
    if hook is None:
        return
    told = hook(news)
    if inspect.isawaitable(told):
        await told
