"""What nobody knows is never counted as nothing: an unknown price, an unknown usage."""

from __future__ import annotations

from typing import Any

import pytest

from fanwise import Budget, Caps, Usage, call, fan_out, open_run
from fanwise.errors import BadPredicate, BudgetExceeded, UnknownCost, UsageError
from fanwise.kernel.scope import declared_caps
from fanwise.testing import MemoryJournal, virtual_time


async def leaf() -> str:
    return "ok"


async def unpriced(_: int) -> str:
    return await call(leaf, estimate=Usage(tokens=10, usd=None))


async def unmeasured(_: int) -> str:
    return await call(leaf, estimate=Usage(tokens=10), usage=lambda _: None)


@virtual_time
async def test_a_budget_of_dollars_refuses_a_call_of_unknown_price() -> None:
    [outcome] = await fan_out(unpriced, range(1), budget=Budget(usd=5))
    assert isinstance(outcome.error, UnknownCost)
    with pytest.raises(UnknownCost, match="price of this call is unknown"):
        outcome.unwrap()


@virtual_time
async def test_a_budget_of_tokens_takes_a_call_of_unknown_price_and_records_it_as_unknown() -> None:
    budget = Budget(tokens=100)
    [outcome] = await fan_out(unpriced, range(1), budget=budget)
    [attempt] = [a for a in outcome.attempts if a.call]
    assert attempt.usage == Usage(tokens=10, usd=None)
    assert budget.spent["tokens"] == 10


@virtual_time
async def test_an_unknown_usage_counts_as_its_estimate_also_after_a_resume() -> None:
    journal = MemoryJournal()
    for items in (1, 2):
        budget = Budget(tokens=100)
        async with open_run("r", journal=journal, budget=budget) as run:
            outcomes = await fan_out(unmeasured, range(items), run=run)
        assert budget.spent["tokens"] == 10 * items
        assert [a.usage for a in outcomes[-1].attempts if a.call] == [None]


@virtual_time
async def test_code_inside_an_item_can_ask_which_caps_are_declared_around_it() -> None:
    async def item(_: int) -> frozenset[str]:
        return declared_caps()

    [outcome] = await fan_out(item, range(1), caps=Caps(openai=4, all=9))
    assert outcome.unwrap() == frozenset({"openai", "all"})
    assert declared_caps() == frozenset()


@pytest.mark.parametrize(
    "bad", [{"usd": -0.5}, {"tokens": float("nan")}, {"requests": float("inf")}, {"usd": "1"}]
)
@virtual_time
async def test_a_usage_that_makes_no_sense_is_refused_and_counts_as_the_estimate(
    bad: dict[str, Any],
) -> None:
    """Negative amounts would raise the budget, and NaN would let everybody wait for ever."""
    with pytest.raises(UsageError, match="a usage cannot be"):
        Usage(**bad)

    async def item(_: int) -> str:
        return await call(leaf, estimate=Usage(usd=0.5), usage=lambda _: Usage(**bad))

    budget = Budget(usd=1)
    outcomes = await fan_out(item, range(3), cap=1, budget=budget)
    assert [type(each.error) for each in outcomes] == [BadPredicate, BadPredicate, BudgetExceeded]
    assert budget.spent["usd"] == 1


@virtual_time
async def test_what_is_no_usage_is_named() -> None:
    async def item(_: int) -> str:
        return await call(leaf, usage=lambda _: 5)  # type: ignore[arg-type,return-value]

    [outcome] = await fan_out(item, range(1), budget=Budget(tokens=10))
    assert "gave int, not a Usage" in str(outcome.error)
