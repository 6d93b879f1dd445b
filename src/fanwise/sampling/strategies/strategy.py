"""A strategy: what a chain asks after a sample that failed, and which sample is chosen.

To write your own, inherit from `Strategy` and override what you need::

    class Shout(Strategy):
        def repair(self, request, history):
            return add_to_prompt(request, "Louder!")
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.models.port import Message, Model, Reply, Request
from fanwise.sampling.checks.requirement import Requirement
from fanwise.sampling.samples import Sample, best


class Turn(msgspec.Struct, frozen=True):
    """The next sample of a chain: what is asked, and of whom."""

    request: Request
    model: Model


Ask = Callable[[Model, Request], Awaitable[Reply]]
"""Asks a model within the caps, the budget, the retries and the time-out of the call."""


class Strategy:
    """Rejection sampling: ask the same again with another seed, until a sample is valid."""

    requirements: Sequence[Requirement | Any] = ()
    """Added to those of the call, or used in place of them."""
    replaces_requirements = False
    """True: the requirements of the call do not count."""
    width = 4
    """How many chains run at once if the call does not say."""
    gathers = False
    """True: every chain goes on until it has a valid sample, and `select` chooses among them.
    False: the first valid sample wins."""

    async def reply(self, turn: Turn, ask: Ask) -> Reply:
        """The reply of one sample; override it to make one of several calls."""
        return await ask(turn.model, turn.request)

    def repair(
        self, turn: Turn, history: Sequence[Sample]
    ) -> Turn | Request | Awaitable[Turn | Request]:
        """What a chain asks next.

        `turn`: what it asked first. `history`: its samples so far, none of them valid.
        """
        return turn

    def rescue(
        self, turn: Turn, error: Exception, history: Sequence[Sample], rescued: Turn | None
    ) -> Turn | None:
        """What a chain asks next after an error or a time-out of its model; None: it ends.

        `turn` and `history`: as for `repair`. `rescued`: what failed, if it came from here.
        """
        return None

    def within(self, loop_budget: int) -> tuple[Strategy, int]:
        """The strategy for this depth, and how deep a chain may go."""
        return self, loop_budget

    def default_width(self, *, required: bool) -> int:
        """How many chains there are if the call does not say. What cannot fail is asked once."""
        return self.width if required or self.gathers else 1

    def prepare(self, requirements: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
        """The requirements as this strategy needs them. `UsageError` if it makes no sense of them.

        Called once, before anything is asked.
        """
        return requirements

    def is_decided(self, valid: Sequence[Sample], left: int) -> bool:
        """Whether `left` more valid samples cannot change what `select` chooses of these."""
        return False

    def select(self, samples: Sequence[Sample]) -> Sample:
        """The one to return: of the valid samples, or of all if none is valid."""
        return best(samples)


class Wrapping(Strategy):
    """A strategy that leaves to another one what a chain asks: `repair`."""

    def __init__(self, repair: Strategy | None = None) -> None:
        self._repair = repair or Strategy()
        self.requirements = self._repair.requirements
        self.replaces_requirements = self._repair.replaces_requirements

    async def reply(self, turn: Turn, ask: Ask) -> Reply:
        return await self._repair.reply(turn, ask)

    def repair(
        self, turn: Turn, history: Sequence[Sample]
    ) -> Turn | Request | Awaitable[Turn | Request]:
        return self._repair.repair(turn, history)


async def next_turn(strategy: Strategy, turn: Turn, history: Sequence[Sample]) -> Turn:
    """What `repair` returns, awaited if need be; a request goes to the same model."""
    found = strategy.repair(turn, history)
    following = await found if inspect.isawaitable(found) else found
    return following if isinstance(following, Turn) else replace(turn, request=following)


def add_to_prompt(request: Request, text: str) -> Request:
    """The request with this text at the end of the last user message."""
    *before, last = request.messages
    if last.role != "user":
        return replace(request, messages=(*request.messages, Message("user", text)))
    joined = Message("user", f"{last.content}\n\n{text}")
    return replace(request, messages=(*before, joined))


def bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
