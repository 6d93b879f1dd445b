"""Your own code at six points: the start and the end, each question, reply, sample and repair.

A hook is a function, sync or async, with one argument. An error in a hook ends the sampling and is
raised by `sample`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from fanwise.models.port import Reply, Request
from fanwise.sampling.samples import Sample
from fanwise.sampling.state.result import SampleResult
from fanwise.sampling.strategies.strategy import Turn


class LoopStart(msgspec.Struct):
    """Sampling is about to start. A hook may change both budgets; each is at least 1."""

    request: Request
    loop_budget: int
    concurrency_budget: int


class Repairing(msgspec.Struct, frozen=True):
    """A chain is about to make another sample."""

    failed: Sample
    turn: Turn


class Hooks(msgspec.Struct, frozen=True):
    """`Hooks(iteration=print)`: the ones that you give are called."""

    start: Callable[[LoopStart], Awaitable[None] | None] | None = None
    """Before anything is asked."""
    iteration: Callable[[Sample], Awaitable[None] | None] | None = None
    """After each sample that was checked, in the order in which they end."""
    repair: Callable[[Repairing], Awaitable[None] | None] | None = None
    """Before every sample of a chain except its first."""
    end: Callable[[SampleResult | BaseException], Awaitable[None] | None] | None = None
    """With the result (samples, errors, tokens, dollars, time saved), or with what `sample` raises
    in place of one."""
    asking: Callable[[Turn], Turn | Awaitable[Turn | None] | None] | None = None
    """Before a model is asked for a sample: return another turn to ask that instead."""
    replied: Callable[[Reply], Awaitable[None] | None] | None = None
    """After each reply, before it is checked."""


async def call_hook(hook: Callable[[Any], Any] | None, argument: Any) -> Any:
    if hook is None:
        return None
    returned = hook(argument)
    return await returned if inspect.isawaitable(returned) else returned
