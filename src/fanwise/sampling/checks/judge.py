"""A requirement in words, judged by a model.

The judge is called through `ask`, within the same caps and the same budget as the samples.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from fanwise.models.judging import judged
from fanwise.models.port import Model
from fanwise.sampling.checks.requirement import Draft, Setting, Tier, Verdict, at_least_tokens

LEAST_TOKENS = 500
"""At least this many for a judge's reason and verdict, even where answers are kept short."""


class JudgeCheck(msgspec.Struct, frozen=True):
    """What the answer must be like, in words.

    `at_least`: ask for a score from 0 to 1, and require this much. `model`: the judge; default: the
    model that is sampled.
    """

    tier: ClassVar[Tier] = Tier.MODEL

    description: str
    at_least: float | None = None
    model: Model | None = None
    check_only: bool = False

    @property
    def name(self) -> str:
        return self.description

    async def check(self, draft: Draft, setting: Setting) -> Verdict:
        # Given a context, the judge sees that instead of what the model was asked.
        prompt = () if draft.context else draft.messages
        found = await judged(
            self.model or setting.model,
            self.description,
            str(draft),
            task="\n\n".join(message.content for message in prompt),
            context=draft.context,
            at_least=self.at_least,
            max_tokens=at_least_tokens(LEAST_TOKENS, setting.options),
            seed=setting.request.seed,
            retry=setting.retry,
            timeout=setting.timeout,
        )
        return Verdict(found.passed, None if found.passed else found.reason, found.score, self.name)
