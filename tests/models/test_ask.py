"""A model call is bounded, paid for, retried and recorded, wherever it is made."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from fanwise import Budget, Caps, Halt, Outcome, RateLimited, Retry, Usage, fan_out, open_run
from fanwise.errors import (
    BadOutput,
    BudgetExceeded,
    ModelOverloaded,
    ModelQuota,
    ModelRateLimited,
    ModelRejected,
    NestedCap,
    UnknownCost,
    UsageError,
)
from fanwise.models.ask import MODEL_RETRY, ask
from fanwise.models.names import Price
from fanwise.models.output import check_schema
from fanwise.models.port import (
    File,
    Message,
    Options,
    Reply,
    Request,
    Tokens,
    ToolCall,
    as_request,
)
from fanwise.testing import MemoryJournal, ScriptedModel, virtual_time

CHEAP = Price(1.0, 10.0)
PICTURE = File.of(b"png", "image/png")


def calls(outcome: Outcome[object]) -> list[Usage | None]:
    return [attempt.usage for attempt in outcome.attempts if attempt.call is not None]


@virtual_time
async def test_a_call_outside_of_a_fan_out_is_simply_made() -> None:
    model = ScriptedModel(["hello there"])
    reply = await ask(model, "say hello")
    assert (reply.text, reply.usage) == ("hello there", Tokens(2, 2))
    assert model.requests == [Request((Message("user", "say hello"),))]


@pytest.mark.parametrize("name", ["all", "acme", "key:ACME_KEY", "acme:tiny"])
def test_each_declared_cap_bounds_the_calls_in_flight(name: str) -> None:
    async def main() -> None:
        model = ScriptedModel(lambda _: "ok", name="acme:tiny", key="ACME_KEY")
        model.gate.close()

        async def open_when_full() -> None:
            await model.gate.held(2)
            model.gate.open()

        caps = Caps({name: 2})
        outcomes, _ = await asyncio.gather(
            fan_out(lambda _: ask(model, "?"), range(6), caps=caps), open_when_full()
        )
        assert len(outcomes.values()) == 6
        assert model.most_in_flight == 2

    asyncio.run(asyncio.wait_for(main(), 30))


@virtual_time
async def test_caps_of_other_providers_are_not_needed() -> None:
    model = ScriptedModel(lambda _: "ok", name="acme:tiny")
    caps = Caps(openai=1)
    await fan_out(lambda _: ask(model, "?"), range(3), caps=caps)
    assert caps.peak == {"openai": 0}


@virtual_time
async def test_an_item_that_holds_the_cap_of_its_call_is_told_so() -> None:
    model = ScriptedModel(lambda _: "ok", name="acme:tiny")
    [outcome] = await fan_out(
        lambda _: ask(model, "?"), range(1), caps=Caps(acme=1), needs=lambda _: "acme"
    )
    assert isinstance(outcome.error, NestedCap)


@virtual_time
async def test_what_may_pass_is_tried_again_and_every_attempt_is_recorded() -> None:
    busy = ModelRateLimited("busy", retry_after=3.0, input_tokens=0, output_tokens=0, usd=0.0)
    model = ScriptedModel([busy, ModelOverloaded("down"), "at last"], price=CHEAP)
    [outcome] = await fan_out(lambda _: ask(model, "one two"), range(1))
    assert outcome.unwrap().text == "at last"
    assert calls(outcome) == [Usage(1, 0, 0.0, 0, 0, 0), None, Usage(1, 4, 22e-6, 2, 2, 0)]
    assert [a for a in outcome.attempts if a.call][1].backoff_s == 3.0


@pytest.mark.parametrize("kind", [ModelQuota, ModelRejected])
def test_what_cannot_pass_is_not_tried_again(kind: type[ModelQuota]) -> None:
    model = ScriptedModel([kind("no"), "never said"])
    with pytest.raises(kind):
        asyncio.run(ask(model, "?"))
    assert len(model.requests) == 1


def test_a_rate_limited_model_is_what_the_kernel_calls_rate_limited() -> None:
    error = ModelRateLimited("busy", retry_after=7.0, provider="acme", status=429)
    assert isinstance(error, RateLimited)
    assert MODEL_RETRY.delay(error, 1, 0.5) == 7.0
    assert str(error) == "busy. Retry after 7 s"


@virtual_time
async def test_bad_output_is_paid_for_and_carries_its_text() -> None:
    model = ScriptedModel(['{"mood": "meh"}'], price=CHEAP)
    schema = {"properties": {"mood": {"enum": ["good", "bad"]}}}
    request = Request((Message("user", "how?"),), schema=schema)
    [outcome] = await fan_out(lambda _: ask(model, request), range(1))
    assert isinstance(outcome.error, BadOutput)
    assert outcome.error.text == '{"mood": "meh"}'
    assert "$.mood" in str(outcome.error)
    assert calls(outcome) == [Usage(1, 3, 21e-6, 1, 2, 0)]


@virtual_time
async def test_an_attempt_has_the_tokens_and_the_first_token_that_the_reply_tells() -> None:
    told = Reply("hi", "tiny", usage=Tokens(9, 4, 6), usd=0.5, first_token_s=1.5)

    async def answer(_: Request) -> Reply:
        await asyncio.sleep(2)
        return told

    model = ScriptedModel(answer)
    [outcome] = await fan_out(lambda _: ask(model, "?"), range(1))
    [attempt] = [a for a in outcome.attempts if a.call]
    assert attempt.usage == Usage(1, 13, 0.5, input_tokens=9, output_tokens=4, cached_tokens=6)
    assert (attempt.first_token_s, attempt.ran_s) == (1.5, 2.0)


def test_a_typo_in_a_schema_is_refused_and_words_of_other_drafts_are_not() -> None:
    for typo, meant in (("enmu", "enum"), ("tpye", "type"), ("propertes", "properties")):
        with pytest.raises(UsageError, match=f"Did you mean '{meant}'"):
            check_schema({typo: ["a"]})
    other = ("title", "examples", "$defs", "definitions", "dependencies", "propertyOrdering")
    check_schema({name: {} for name in other} | {"title": "x", "examples": [], "nullable": True})


@virtual_time
async def test_a_schema_that_is_none_is_said_before_anything_is_sent() -> None:
    model = ScriptedModel(["{}"])
    with pytest.raises(UsageError, match="not a JSON schema"):
        await ask(model, Request((Message("user", "x"),), schema={"type": "no such type"}))
    assert model.requests == []


@virtual_time
async def test_a_budget_bounds_the_calls_and_the_unknown_price_is_refused() -> None:
    budget = Budget(tokens=250)
    model = ScriptedModel(lambda _: "word " * 60)
    request = Request((Message("user", "go"),), Options(max_tokens=60))
    outcomes = await fan_out(lambda _: ask(model, request), range(9), budget=budget)
    assert budget.spent["tokens"] == 61 * len(model.requests) == 183
    assert all(isinstance(o.error, BudgetExceeded) for o in outcomes.failures)
    [outcome] = await fan_out(lambda _: ask(model, "?"), range(1), budget=Budget(usd=1))
    assert isinstance(outcome.error, UnknownCost)


@virtual_time
async def test_a_cancelled_call_counts_as_its_estimate_for_it_may_have_been_spent() -> None:
    async def answer(request: Request) -> str:
        await asyncio.sleep(1 if request.messages[0].content == "0" else 9)
        return "won"

    async def item(n: int) -> Reply:
        return await ask(model, f"{n}")

    model, budget = ScriptedModel(answer), Budget(tokens=1000)
    outcomes = await fan_out(item, range(2), budget=budget, halt=Halt.on_success(fastest=True))
    assert outcomes.winner is not None
    assert model.cancelled == 1
    assert budget.spent["tokens"] == 2 + model.estimate(model.requests[1]).tokens
    assert budget.reserved["tokens"] == 0


@virtual_time
async def test_a_call_that_is_too_slow_is_cancelled_and_tried_again() -> None:
    async def answer(_: Request) -> str:
        await asyncio.sleep(10 if len(model.requests) == 1 else 0)
        return "quick"

    model = ScriptedModel(answer)
    reply = await ask(model, "?", timeout=5, retry=Retry(1, on=MODEL_RETRY.on))
    assert (reply.text, model.cancelled) == ("quick", 1)


@virtual_time
async def test_a_reply_comes_back_from_the_journal_as_it_was() -> None:
    model, journal = ScriptedModel(['{"a": [1]}'], price=CHEAP), MemoryJournal()
    request = Request((Message("user", "?"),), schema={"type": "object"})

    async def item(_: int) -> dict[str, object]:
        return (await ask(model, request)).to_json()

    replies = []
    for _ in range(2):
        async with open_run("r", journal=journal) as run:
            replies += [Reply.from_json(v) for v in (await fan_out(item, [0], run=run)).values()]
    assert replies[0] == replies[1]
    assert replies[0].value == {"a": [1]}
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"role": "tool", "call_id": "1", "files": (PICTURE,)}, "role tool has files"),
        ({"role": "assistant", "files": (PICTURE,)}, "role assistant has files"),
        ({"role": "system", "files": (PICTURE,)}, "role system has files"),
        ({"role": "user", "calls": (ToolCall("1", "f", {}),)}, "role user has calls"),
        ({"role": "tool", "call_id": "1", "calls": (ToolCall("1", "f", {}),)}, "tool has calls"),
    ],
)
def test_what_a_message_of_this_role_cannot_carry_is_refused(
    fields: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        Message(content="x", **fields)
    with pytest.raises(UsageError, match=problem):
        as_request([msgspec.to_builtins({"content": "x", **fields}, builtin_types=(bytes,))])
