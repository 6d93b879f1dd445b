"""A requirement in words, judged by a model.

A judge's call goes through `ask` like any other, so it waits for the same caps and is paid from
the same budget.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from fanwise.models.judging import judged
from fanwise.models.port import Model
from fanwise.sampling.checks.requirement import Draft, Setting, Tier, Verdict, room_for

MOST_TOKENS = 500
"""Room for a judge's reason and verdict, also where answers of a word are asked for."""


class Judge(msgspec.Struct, frozen=True):
    """What the answer shall be, in words. `at_least`: ask for a score from 0 to 1, and want this.

    `model`: who judges; default: the model that is sampled.
    """

    tier: ClassVar[Tier] = Tier.MODEL

    description: str
    at_least: float | None = None
    model: Model | None = None
    check_only: bool = False

    @property
    def name(self) -> str:
        """Its words."""
        return self.description

    async def check(self, draft: Draft, setting: Setting) -> Verdict:
        """Ask the judge."""
        # With a context of its own the judge sees that, and not what the model was asked.
        said = () if draft.context else draft.messages
        found = await judged(
            self.model or setting.model,
            self.description,
            str(draft),
            task="\n\n".join(message.content for message in said),
            context=draft.context,
            at_least=self.at_least,
            max_tokens=room_for(MOST_TOKENS, setting.options),
            seed=setting.request.seed,
            retry=setting.retry,
            timeout=setting.timeout,
        )
        return Verdict(found.passed, None if found.passed else found.reason, found.score, self.name)
