"""A cheap model first, and stronger ones where it fails."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Literal, get_args

from msgspec.structs import replace

from fanwise.core.caps import whole
from fanwise.errors import UsageError
from fanwise.models.connect import ModelLike, connect
from fanwise.sampling.samples import Sample, best
from fanwise.sampling.strategies.repair import Repair
from fanwise.sampling.strategies.strategy import Strategy, Turn, Wrapping, next_turn

HandOver = Literal["last", "best", "nothing"]


class Escalate(Wrapping):
    """Hands a chain to a stronger model after some failures, or when it makes no progress.

    `to`: the stronger model, or several, each stronger than the one before. `after`: how many
    samples of a model may fail. No progress means that a sample meets no more requirements than the
    one before it, and scores no higher. An error or a time-out of a model (it refuses, it is down)
    hands the chain over at once, and is reported. `repair`: the strategy that says what went wrong,
    whichever model is asked next. `hand_over`: what a stronger model is told of first: the "last"
    attempt, the "best" one, or "nothing".

    Each model gets its chance: a chain is at least as deep as there are models, and one deeper if
    its budget has room for all of them, so that the cheap one repairs first. By default there is
    one chain, so that the stronger models are asked only where the cheap one has failed.
    """

    width = 1

    def __init__(
        self,
        to: ModelLike | Sequence[ModelLike],
        *,
        after: int = 2,
        repair: Strategy | None = None,
        hand_over: HandOver = "last",
    ) -> None:
        super().__init__(repair or Repair())
        many = to if isinstance(to, Sequence) and not isinstance(to, str) else [to]
        if not many:
            raise UsageError("there is no model to escalate to", "Give one, or several")
        self.to = tuple(map(connect, many))
        self.after = self.at_first = whole("after", after)
        if hand_over not in get_args(HandOver):
            raise UsageError(f"hand_over is {hand_over!r}", "Give 'last', 'best' or 'nothing'")
        self.hand_over = hand_over

    def within(self, loop_budget: int) -> tuple[Strategy, int]:
        """Make room for each stronger model, and for a repair before the first of them.

        A budget that has no room for all of them leaves the repair out.
        """
        stronger = len(self.to)
        depth = depth_of(loop_budget, stronger, self.after)
        bound = copy(self)
        bound.at_first = min(self.after, depth - stronger)
        bound.after = max(1, min(self.after, (depth - bound.at_first) // stronger))
        return bound, depth

    async def repair(self, turn: Turn, history: Sequence[Sample]) -> Turn:
        """What the inner strategy asks, from the next model if it is time."""
        tier = self._next_tier(history)
        goes_up = tier > self._tier(history[-1].model)
        if goes_up and self.hand_over == "nothing":
            return replace(turn, model=self.to[tier - 1])
        if goes_up and self.hand_over == "best":
            top = best(history)
            history = [*(each for each in history if each is not top), top]
        following = await next_turn(self._repair, turn, history)
        return replace(following, model=self.to[tier - 1]) if tier else following

    def rescue(
        self, turn: Turn, error: Exception, history: Sequence[Sample], rescued: Turn | None
    ) -> Turn | None:
        tier = 0
        if rescued is not None:
            tier = self._tier(rescued.model.name)
        elif history:
            tier = self._next_tier(history)
        return replace(turn, model=self.to[tier]) if tier < len(self.to) else None

    def _next_tier(self, history: Sequence[Sample]) -> int:
        tier = self._tier(history[-1].model)
        return min(tier + self._is_time(history), len(self.to))

    def _tier(self, model: str) -> int:
        """0 for the model of the call, then as in `to`."""
        return next((n for n, each in enumerate(self.to, 1) if each.name == model), 0)

    def _is_time(self, history: Sequence[Sample]) -> bool:
        mine = [sample for sample in history if sample.model == history[-1].model]
        first = self._tier(history[-1].model) == 0
        if len(mine) >= (self.at_first if first else self.after):
            return True
        return len(mine) > 1 and _merit(mine[-1]) <= _merit(mine[-2])


def depth_of(loop_budget: int, stronger: int, after: int) -> int:
    """How deep a chain may go: see `Escalate.within`."""
    repairs = after > 1 and loop_budget > stronger
    return max(loop_budget, stronger + (2 if repairs else 1))


def _merit(sample: Sample) -> tuple[int, float]:
    return sample.passed, sample.score
