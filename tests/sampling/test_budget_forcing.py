"""Budget forcing: what is sent, pass by pass, and what it costs; by the server's own count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fanwise import Budget
from fanwise.errors import UsageError
from fanwise.models import Message, Options, connect
from fanwise.sampling import BudgetForcing, Majority, SampleResult, matches, sample
from fanwise.sampling.strategies.budget_forcing import PASSES
from fanwise.testing import Answer, ScriptedModel, ScriptedServer
from tests.models.support import run

Script = Callable[[dict[str, Any]], Answer | str]


class Thinker:
    """A server that continues what it is given: thoughts until it is told to answer."""

    def __init__(self, *thoughts: str, answer: str = "42", usage: bool = True) -> None:
        self._thoughts = list(thoughts)
        self._answer = answer
        self._usage = usage

    def __call__(self, body: dict[str, Any]) -> Answer:
        thinking = "</think>" not in prefill(body)
        text = self._thoughts.pop(0) if thinking else self._answer
        return Answer(text=text, usage=self._usage)


def prefill(body: dict[str, Any]) -> str:
    assert body["messages"][-1]["role"] == "assistant"
    return str(body["messages"][-1]["content"])


def forced(thinker: Script, strategy: Any, **options: Any) -> tuple[SampleResult, ScriptedServer]:
    async def main() -> tuple[SampleResult, ScriptedServer]:
        async with ScriptedServer(thinker) as server:
            model = connect({"name": "openai:any", "base_url": server.base_url})
            options.setdefault("cap", 1)
            result = await sample(model, "What is it?", strategy=strategy, **options)
            return result, server

    return run(main())


def test_thinking_is_cut_at_the_budget_and_then_it_answers() -> None:
    strategy = BudgetForcing(4, answer="It is:", answer_tokens=7)
    result, server = forced(Thinker("a b c d e f"), strategy, options=Options(max_tokens=99))
    thinking, answering = server.bodies
    assert (prefill(thinking), thinking["stop"], thinking["max_tokens"]) == (
        "<think>", ["</think>"], 4,
    )  # fmt: skip
    assert prefill(answering) == "<think>\na b c d\n</think>\n\nIt is:"
    assert (answering["max_tokens"], answering.get("stop")) == (7, None)
    assert (result.text, result.sample.reply.reasoning) == ("42", "a b c d")
    assert result.sample.reply.usage.output == server.output_tokens == 5
    assert result.sample.reply.usage.input == server.input_tokens


def test_thinking_that_ends_too_early_goes_on() -> None:
    strategy = BudgetForcing(10, at_least=5, more="Wait")
    budget = Budget(requests=9)
    result, server = forced(Thinker("a b", "c d", "e f"), strategy, budget=budget)
    sent = [prefill(body) for body in server.bodies]
    assert sent == [
        "<think>",
        "<think>\na b\nWait",
        "<think>\na b\nWaitc d\nWait",
        "<think>\na b\nWaitc d\nWaite f\n</think>",
    ]
    assert [body.get("max_tokens") for body in server.bodies] == [10, 8, 6, None]
    assert (budget.spent["requests"], result.totals.requests) == (4, 4)
    assert budget.spent["tokens"] == server.input_tokens + server.output_tokens


@pytest.mark.parametrize(
    ("thinker", "passes"),
    [
        (Thinker(*["a"] * 20), PASSES),
        (Thinker("a", " ", "b"), 2),
        (Thinker("a b", "c", usage=False), 1),
    ],
)
def test_thinking_ends_also_where_the_least_is_not_reached(thinker: Thinker, passes: int) -> None:
    """After some passes, with nothing more to say, and where nobody counts the tokens."""
    result, server = forced(thinker, BudgetForcing(100, at_least=50))
    assert (len(server.requests), result.text) == (passes + 1, "42")


def test_a_failed_sample_thinks_again_and_a_vote_counts_answers() -> None:
    answers = iter(["41", "42"])

    def says(body: dict[str, Any]) -> Answer | str:
        return next(answers) if "</think>" in prefill(body) else "hm"

    result, server = forced(says, BudgetForcing(4), requirements=matches("42"))
    assert (result.ok, len(server.requests)) == (True, 4)

    def votes(body: dict[str, Any]) -> Answer | str:
        return "7" if "</think>" in prefill(body) else "hm"

    strategy = Majority(repair=BudgetForcing(4))
    result, server = forced(votes, strategy, cap=3, winner="first")
    assert (result.text, len(server.requests)) == ("7", 6)


def test_a_schema_and_tools_are_for_the_answer_alone() -> None:
    thinker = Thinker("hm", answer='{"n": 4}')
    wanted = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    result, server = forced(thinker, BudgetForcing(4), requirements=wanted)
    assert ["response_format" in body for body in server.bodies] == [False, True]
    assert result.value == {"n": 4}


def test_what_makes_no_sense_is_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"at_most": 0}, {"at_most": 3, "at_least": 4}, {"more": ""}, {"tags": ("", "")},
        {"answer_tokens": 0},
    ]  # fmt: skip
    for each in wrong:
        with pytest.raises(UsageError):
            BudgetForcing(**each)
    with pytest.raises(UsageError, match="last message"):
        turns = [Message("user", "x"), Message("assistant", "y")]
        run(sample(ScriptedModel([]), turns, strategy="budget_forcing", cap=1))
