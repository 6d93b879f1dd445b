"""A sample: one reply of a model, and the verdicts on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fanwise.models.port import Message, Reply
from fanwise.sampling.checks.requirement import Verdict


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One reply of a model, and the verdicts of the requirements on it."""

    id: int
    """Unique: chain x loop_budget + iteration + 1; for a slot that a dead chain left, its id."""
    chain: int
    iteration: int
    """0 for the first of its chain."""
    model: str
    seed: int
    messages: tuple[Message, ...]
    """What the model was asked."""
    reply: Reply
    """Its text, tokens, cost, and seconds to the first token and to the end."""
    verdicts: tuple[Verdict, ...] = ()
    """Of the requirements that were checked, in that order."""
    checked: bool = False
    """False for a sample that was complete but not yet checked when another one won."""
    same_as: int | None = None
    """The id of an earlier sample with the same text, whose verdicts it shares."""
    queued_s: float | None = None
    """Seconds that its call waited for caps, rates and budget; None if read from a journal."""
    backoff_s: float | None = None
    """Seconds between the attempts of its call."""
    checked_s: float | None = None
    """Seconds that checking it took."""

    @property
    def text(self) -> str:
        return self.reply.text

    @property
    def value(self) -> Any:
        """The text parsed by the schema."""
        return self.reply.value

    @property
    def valid(self) -> bool:
        return self.checked and all(verdict.passed for verdict in self.verdicts)

    @property
    def passed(self) -> int:
        """How many of the checked requirements it meets."""
        return sum(verdict.passed for verdict in self.verdicts)

    @property
    def score(self) -> float:
        """The sum of its scores; 0 if there are none."""
        return sum(verdict.score or 0.0 for verdict in self.verdicts)

    @property
    def failures(self) -> list[str]:
        """Why it is not valid: one reason for each requirement that it fails."""
        return [v.reason or v.requirement for v in self.verdicts if not v.passed]


def best(samples: Sequence[Sample]) -> Sample:
    """By requirements met, then score, then the latest: deterministic."""
    return max(samples, key=lambda s: (s.valid, s.passed, s.score, s.iteration, s.id))
