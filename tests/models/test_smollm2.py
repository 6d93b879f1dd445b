"""The real thing: SmolLM2-135M-Instruct. Few tests, for it takes real seconds."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace
from typing_extensions import TypedDict

from fanwise import Budget, fan_out
from fanwise.models import Message, Options, Request, ask, connect, tool_of
from fanwise.sampling import BudgetForcing, sample

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


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("choice", ["required", "add", None])
def test_it_calls_a_tool_and_answers_with_what_the_tool_says(
    smollm2: str, choice: str | None
) -> None:
    async def main() -> None:
        model, budget = connect(smollm2), Budget(requests=9)
        asked = question("What is 2 + 3? Use the tool add.", 80)
        asked = replace(asked, options=replace(asked.options, tool_choice=choice))
        outcomes = await fan_out(lambda _: ask(model, asked, tools=[add]), [0], budget=budget)
        made = [attempt.call for attempt in outcomes[0].attempts if attempt.call]
        assert made == [smollm2, "tool add", smollm2]
        assert outcomes.values()[0].text == "5"
        assert budget.spent["requests"] == 3, "the call of the tool is one, too"

    run(main())


class Pair(TypedDict):
    left: int
    right: int


def test_it_answers_by_a_schema_beside_tools_and_the_tools_may_have_types(smollm2: str) -> None:
    def total(pair: Pair) -> int:
        """The sum of a pair."""
        return pair["left"] + pair["right"]

    async def main() -> None:
        asked = question("Is this review good or bad? I love it", 60)
        request = Request(asked.messages, asked.options, MOOD, 1, tools=(tool_of(total),))
        reply = await ask(smollm2, request)
        assert reply.calls or reply.value["mood"] in ("good", "bad")
        forced = replace(request, options=replace(request.options, tool_choice="required"))
        (made,) = (await ask(smollm2, forced)).calls
        assert made.name == "total"
        assert {type(each) for each in made.arguments["pair"].values()} == {int}

    run(main())


def test_it_thinks_for_as_long_as_it_is_told(smollm2: str) -> None:
    strategy = BudgetForcing(20, at_least=12, answer="The sum is", answer_tokens=8)
    options = Options(temperature=0)
    result = run(sample(smollm2, "What is 2 + 3?", strategy=strategy, cap=1, options=options))
    assert result.sample.reply.reasoning
    assert result.text
    assert 12 <= (result.sample.reply.usage.output or 0) <= 28


def test_the_estimate_holds_for_scripts_that_its_vocabulary_does_not_have(smollm2: str) -> None:
    model = connect(smollm2)
    asked = question("你好世界😀" * 20, 1)
    assert (run(model.reply(asked)).usage.total or 0) <= model.estimate(asked).tokens
