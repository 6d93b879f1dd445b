"""A cheap model first, and a strong one where it fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fanwise.core.caps import whole
from fanwise.errors import ModelError
from fanwise.models.connect import connect
from fanwise.models.names import Spec
from fanwise.models.port import Model
from fanwise.sampling.samples import Sample
from fanwise.sampling.strategies.strategy import Strategy, Turn, next_turn


class Escalate(Strategy):
    """Hands a chain to a strong model after some failures, or when it makes no progress.

    `to`: the strong model. `after`: how many samples of the first model may fail. No progress means
    that a sample meets no more requirements than the one before it, and scores no higher. An error
    of the first model (it refuses, it is down) hands the chain over at once, and is reported.
    `repair`: the strategy that says what went wrong, whichever model is asked next.
    """

    def __init__(
        self,
        to: str | Mapping[str, Any] | Spec | Model,
        *,
        after: int = 2,
        repair: Strategy | None = None,
    ) -> None:
        self.to = connect(to)
        self.after = whole("after", after)
        self._repair = repair or Strategy()
        self.requirements = self._repair.requirements

    async def repair(self, turn: Turn, history: Sequence[Sample]) -> Turn:
        """What the inner strategy asks, from the strong model if it is time."""
        following = await next_turn(self._repair, turn, history)
        return replace(following, model=self.to) if self._is_time(history) else following

    def rescue(self, turn: Turn, error: ModelError) -> Turn | None:
        """The strong model, if the cheap one refuses or cannot be reached."""
        return replace(turn, model=self.to) if error.model != self.to.name else None

    def _is_time(self, history: Sequence[Sample]) -> bool:
        if len(history) >= self.after or history[-1].model == self.to.name:
            return True
        return len(history) > 1 and _merit(history[-1]) <= _merit(history[-2])


def _merit(sample: Sample) -> tuple[int, float]:
    return sample.passed, sample.score
