"""Real text: a real model on a real llama.cpp server."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from fanwise import Caps, fan_out
from fanwise.core.outcome import Usage
from fanwise.models import Options, Reply, Request, connect
from fanwise.models.local.model import LocalModel
from fanwise.sampling import Draft, SampleResult, require, sample, schema
from tests.models.support import run

REVIEWS = {
    "I loved every minute of it.": "positive",
    "A waste of time and money.": "negative",
    "The best film of the year!": "positive",
    "Boring, and far too long.": "negative",
    "Wonderful acting, I cried.": "positive",
    "I want my money back.": "negative",
    "A masterpiece.": "positive",
    "The worst thing I have ever seen.": "negative",
}
LABELS = ("positive", "negative")


def one_word(draft: Draft) -> bool:
    return draft.value in LABELS


def test_eight_reviews_four_wide_each_get_a_label_that_the_schema_allows(smollm2: str) -> None:
    async def label(review: str) -> SampleResult:
        return await sample(
            smollm2,
            f"Is this review positive or negative? {review}",
            [schema({"enum": list(LABELS)}), require(one_word, "is one word", check_only=True)],
            concurrency_budget=4,
            options=Options(max_tokens=8, temperature=0.7),
        )

    async def main() -> None:
        outcomes = await fan_out(label, REVIEWS, cap=2, caps=Caps(local=4))
        for result in outcomes.values():
            assert result.ok, result.sample.failures
            assert result.value in LABELS
            assert result.totals.usd == 0

    run(main())


class Uneven:
    """The local model, where the first answer is short and waits for the others to begin."""

    def __init__(self, model: LocalModel, others: int) -> None:
        self.name, self.provider, self.key = model.name, model.provider, model.key
        self._model = model
        self._others = others
        self._asked = 0

    def estimate(self, request: Request) -> Usage:
        return self._model.estimate(request)

    async def reply(self, request: Request) -> Reply:
        self._asked += 1
        first = self._asked == 1
        while first and await self._model.busy_slots() < self._others:
            await asyncio.sleep(0.01)
        options = Options(max_tokens=2 if first else 1_000, temperature=1.0)
        return await self._model.reply(replace(request, options=options))


def test_after_the_first_success_no_slot_goes_on_generating(smollm2: str) -> None:
    async def main() -> None:
        model = connect(smollm2)
        assert isinstance(model, LocalModel)
        uneven = Uneven(model, others=3)
        result = await sample(uneven, "Tell a very long story about the sea.", concurrency_budget=4)
        assert result.ok
        assert len(result.samples) == 1
        # The losers had a thousand tokens to go: a minute, if nobody had ended them.
        async with asyncio.timeout(20):
            while await model.busy_slots():
                await asyncio.sleep(0.01)

    run(main())
