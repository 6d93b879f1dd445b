"""The real thing: SmolLM2-135M-Instruct. Few tests, for it takes real seconds."""

from __future__ import annotations

import asyncio

from fanwise import fan_out
from fanwise.models import Message, Options, Request, ask, connect

from .support import run

MOOD = {"type": "object", "properties": {"mood": {"enum": ["good", "bad"]}}, "required": ["mood"]}


def question(text: str, most: int = 24) -> Request:
    return Request((Message("user", text),), Options(temperature=0, max_tokens=most), seed=1)


def test_it_answers_the_same_each_time_also_beside_others(smollm2: str) -> None:
    async def main() -> None:
        model = connect(smollm2)
        asked = question("Say hello.")
        alone = await model.reply(asked)
        assert "Hello" in alone.text
        assert (alone.model, alone.usd) == ("SmolLM2-135M-Instruct.Q4_1", 0.0)
        assert (alone.usage.total or 0) <= model.estimate(asked).tokens
        replies = (await fan_out(lambda _: ask(model, asked), range(4))).values()
        assert {reply.text for reply in replies} == {alone.text}

    run(main())


def test_it_keeps_to_a_schema(smollm2: str) -> None:
    async def main() -> None:
        model, words = connect(smollm2), ("I love it", "It broke", "Never again")
        asked = [question(f"Is this review good or bad? {text}", 40) for text in words]
        replies = await asyncio.gather(
            *(model.reply(Request(r.messages, r.options, MOOD, r.seed)) for r in asked)
        )
        assert {reply.value["mood"] for reply in replies} <= {"good", "bad"}

    run(main())


def test_the_estimate_holds_for_scripts_that_its_vocabulary_does_not_have(smollm2: str) -> None:
    model = connect(smollm2)
    asked = question("你好世界😀" * 20, 1)
    assert (run(model.reply(asked)).usage.total or 0) <= model.estimate(asked).tokens
