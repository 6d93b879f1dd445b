"""The real provider against a real server: what goes over the wire, by the server's counters."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai.models.function import FunctionModel

from fanwise import Adaptive, Budget, Caps, Halt, Retry, fan_out, open_run
from fanwise.errors import (
    BadOutput,
    BudgetExceeded,
    ModelError,
    ModelNotReady,
    ModelOverloaded,
    ModelQuota,
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelUnreachable,
)
from fanwise.journal.codec import encode_error
from fanwise.models import MODEL_RETRY, Message, Options, Reply, Request, Tokens, ask, connect
from fanwise.models.clients import build, endpoint_of
from fanwise.models.names import Spec
from fanwise.models.wires.pydantic_ai import PydanticAI
from fanwise.models.wires.wire import Endpoint, Reading
from fanwise.testing import Answer, MemoryJournal, ScriptedServer

from .support import model_of, prompt, run

KINDS: list[tuple[Answer, type[ModelError]]] = [
    (Answer(status=429, retry_after=2), ModelRateLimited),
    (Answer(status=429, code="insufficient_quota"), ModelQuota),
    (Answer(status=402), ModelQuota),
    (Answer(status=500), ModelOverloaded),
    (Answer(status=503), ModelOverloaded),
    (Answer(status=529), ModelOverloaded),
    (Answer(status=400), ModelRejected),
    (Answer(status=401), ModelRejected),
    (Answer(status=404), ModelRejected),
    (Answer(status=400, code="content_filter"), ModelRefused),
    (Answer(text="I will not", refusal=True), ModelRefused),
    (Answer(text="cut", finish_reason="content_filter"), ModelRefused),
    (Answer(text="one two three", break_after=1), ModelUnreachable),
]


@pytest.mark.parametrize(("answer", "kind"), KINDS)
def test_each_kind_of_failure_is_one_request_and_an_error_of_its_kind(
    answer: Answer, kind: type[ModelError]
) -> None:
    async def main() -> None:
        async with ScriptedServer([answer, "a hidden retry would get this"]) as server:
            with pytest.raises(ModelError) as caught:
                await model_of(server).reply(prompt())
            assert type(caught.value) is kind
            assert (caught.value.provider, caught.value.model) == ("openai", "openai:gpt-5-mini")
            assert caught.value.status == (None if answer.status == 200 else answer.status)
            assert caught.value.__cause__ is None
            assert len(server.requests) == 1

    run(main())


def test_an_error_in_place_of_an_answer_cost_nothing_and_a_broken_stream_is_unknown() -> None:
    async def main() -> None:
        answers = [Answer(status=500), Answer(text="a b", break_after=1), Answer(refusal=True)]
        costs = []
        async with ScriptedServer(answers) as server:
            for _ in answers:
                with pytest.raises(ModelError) as caught:
                    await model_of(server).reply(prompt())
                error = caught.value
                costs.append((error.input_tokens, error.output_tokens, error.usd))
        assert costs[:2] == [(0, 0, 0.0), (None, None, None)]
        assert costs[2][:2] == (3, 1)
        assert costs[2][2]

    run(main())


def test_a_429_says_when_to_come_back() -> None:
    async def main() -> None:
        async with ScriptedServer([Answer(status=429, retry_after=17)]) as server:
            with pytest.raises(ModelRateLimited) as caught:
                await model_of(server).reply(prompt())
            assert caught.value.retry_after == 17.0

    run(main())


def test_nobody_there_is_unreachable_and_costs_nothing() -> None:
    async def main() -> None:
        async with ScriptedServer([]) as server:
            model = model_of(server)
        with pytest.raises(ModelUnreachable) as caught:
            await model.reply(prompt())
        assert (caught.value.input_tokens, caught.value.usd) == (0, 0.0)

    run(main())


def test_a_reply_has_text_usage_dollars_times_and_reason() -> None:
    async def main() -> Reply:
        async with ScriptedServer(["fine thank you very much"]) as server:
            return await model_of(server).reply(prompt())

    reply = run(main())
    assert (reply.text, reply.model) == ("fine thank you very much", "gpt-5-mini")
    assert (reply.usage, reply.finish_reason) == (Tokens(3, 5), "stop")
    assert reply.usd == pytest.approx((3 * 0.25 + 5 * 2) / 1e6)
    assert reply.first_token_s is not None
    assert 0 < reply.first_token_s <= reply.ran_s


def test_the_request_goes_out_as_it_was_made_and_always_streamed() -> None:
    async def main() -> dict[str, object]:
        messages = (
            Message("system", "be brief"),
            Message("user", "hello"),
            Message("assistant", "hi"),
            Message("user", "bye"),
        )
        options = Options(0.5, 0.9, 7, ("END",), {"extra_body": {"top_k": 3}})
        async with ScriptedServer(["ok"]) as server:
            await model_of(server, "openai:qwen3").reply(Request(messages, options, seed=11))
            return server.bodies[0]

    body = run(main())
    assert body.pop("max_completion_tokens", None) or body.pop("max_tokens")
    assert body == {
        "model": "qwen3",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "hi"},
            {"role": "user", "content": "bye"},
        ],
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["END"],
        "seed": 11,
        "top_k": 3,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


SCHEMA = {
    "type": "object",
    "properties": {"mood": {"enum": ["good", "bad"]}},
    "required": ["mood"],
    "additionalProperties": False,
}


def test_a_schema_goes_to_the_provider_and_the_reply_is_checked_all_the_same() -> None:
    async def main() -> None:
        texts = ['{"mood":"good"}', '```json\n{"mood": "bad"}\n```', '{"mood":"meh"}', "no JSON"]
        async with ScriptedServer(texts) as server:
            model, request = model_of(server), prompt(schema=SCHEMA)
            assert (await model.reply(request)).value == {"mood": "good"}
            assert (await model.reply(request)).value == {"mood": "bad"}
            for text in texts[2:]:
                with pytest.raises(BadOutput) as caught:
                    await model.reply(request)
                assert caught.value.text == text
                assert caught.value.output_tokens
            assert server.bodies[0]["response_format"]["type"] == "json_schema"

    run(main())


def test_an_unknown_price_is_none_and_a_silent_provider_has_unknown_usage() -> None:
    async def main() -> None:
        async with ScriptedServer(["a b", Answer(usage=False)]) as server:
            model = model_of(server, "openai:my-own-model")
            reply = await model.reply(prompt())
            assert (reply.usage, reply.usd) == (Tokens(3, 2), None)
            reply = await model.reply(prompt())
            assert (reply.usage, reply.usd) == (Tokens(), None)

    run(main())


def test_cancelling_a_reply_closes_its_connection_before_and_amid_the_stream() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: "many words to say") as server:
            for gate in (server.gate, server.midway):
                gate.close()
                task = asyncio.create_task(model_of(server).reply(prompt()))
                await gate.held(1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await server.idle()
                gate.open()
            assert server.disconnects == 2
            assert server.output_tokens == 1, "the server stops when its client is gone"

    run(main())


def test_the_losers_of_a_race_are_disconnected_before_it_returns() -> None:
    async def main() -> None:
        def answer(body: dict[str, object]) -> Answer:
            return Answer(first_byte_s=0 if "item 0" in str(body) else 1000)

        async with ScriptedServer(answer) as server:
            model = model_of(server)
            fastest = Halt.on_success(fastest=True)
            race = fan_out(lambda n: ask(model, prompt(f"item {n}")), range(5), halt=fastest)
            outcomes = await race
            assert outcomes.winner is not None
            await server.idle()
            assert server.disconnects == len(server.requests) - 1

    run(main())


@pytest.mark.parametrize("cap", ["openai", "all", "openai:gpt-5-mini", "key:SOME_KEY"])
def test_a_cap_bounds_the_requests_in_flight_at_the_server(
    cap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-any")

    async def main() -> None:
        async with ScriptedServer(lambda _: "ok") as server:
            model = model_of(server, api_key_env="SOME_KEY")
            server.gate.close()

            async def open_when_full() -> None:
                await server.gate.held(3)
                server.gate.open()

            fanned = fan_out(lambda _: ask(model, prompt()), range(12), caps=Caps({cap: 3}), cap=12)
            outcomes, _ = await asyncio.gather(fanned, open_when_full())
            assert len(outcomes.values()) == 12
            assert server.most_in_flight == 3

    run(main())


def test_a_storm_of_429s_shrinks_an_adaptive_cap_and_all_get_through() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: _storm(server)) as server:
            model, caps = model_of(server), Caps(openai=Adaptive(8))
            retry = Retry(30, base_s=0.01, on=MODEL_RETRY.on)
            fanned = fan_out(lambda _: ask(model, prompt(), retry=retry), range(20), caps=caps)
            assert len((await fanned).values()) == 20
            assert server.statuses[429] > 0
            assert (caps.current["openai"] or 0) < 8

    run(main())


def _storm(server: ScriptedServer) -> Answer:
    return Answer(status=429) if server.in_flight > 2 else Answer(first_byte_s=0.001)


def test_a_budget_is_never_passed_by_the_tokens_that_the_server_served() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: "word " * 100) as server:
            model, usd = model_of(server), Budget(usd=0.001)
            outcomes = await fan_out(lambda _: ask(model, prompt()), range(40), cap=8, budget=usd)
            served = (server.input_tokens * 0.25 + server.output_tokens * 2.0) / 1e6
            assert 0.0009 < served <= 0.001
            assert usd.spent["usd"] == pytest.approx(served)
            assert all(isinstance(o.error, BudgetExceeded) for o in outcomes.failures)
            assert outcomes.failures

    run(main())


def test_cancelled_streams_are_within_the_budget_too() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: "word " * 100) as server:
            model, budget = model_of(server), Budget(tokens=400)
            server.midway.close()

            items = fan_out(lambda _: ask(model, prompt()), range(20), cap=20, budget=budget)
            fanned = asyncio.create_task(items)
            room = int(400 // model.estimate(prompt()).tokens)
            await server.midway.held(room)
            fanned.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fanned
            await server.idle()
            assert server.disconnects == room
            assert 0 < server.input_tokens + server.output_tokens <= budget.spent["tokens"] <= 400

    run(main())


@pytest.mark.parametrize(
    ("gate", "known"), [("gate", (False, False)), ("midway", (True, False)), ("last", (True, True))]
)
def test_a_cancelled_stream_is_recorded_with_what_the_provider_had_told(
    gate: str, known: tuple[bool, bool]
) -> None:
    """Nothing yet; its first token, but no count of them; all of it."""
    journal = MemoryJournal()

    async def main() -> float:
        async with ScriptedServer(lambda _: "word " * 5 + "end") as server:
            model, budget = model_of(server), Budget(tokens=400)
            where = getattr(server, gate)
            where.close()
            async with open_run("r", journal=journal, budget=budget) as opened:
                fanned = asyncio.create_task(
                    fan_out(lambda _: ask(model, prompt()), range(1), run=opened)
                )
                await where.held(1)
                for _ in range(1000):  # what the server sent is on its way: turns of the loop
                    await asyncio.sleep(0)
                fanned.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await fanned
            estimate = model.estimate(prompt()).tokens
            assert budget.spent["tokens"] == (9 if known[1] else estimate)
            return budget.spent["tokens"]

    spent = run(main())
    [row] = [row for row in journal.attempts(journal.fan_outs("r")[0].id) if row.call]
    assert (row.first_token_s is not None, row.tokens is not None) == known
    if known[1]:
        assert (row.input_tokens, row.output_tokens, row.cached_tokens) == (3, 6, 0)
        assert row.tokens == spent == 9
        assert row.usd == pytest.approx((3 * 0.25 + 6 * 2) / 1e6)


async def _nothing() -> None:
    pass


def test_a_count_of_the_output_so_far_is_not_taken_for_all_of_it() -> None:
    """Some providers count as they go: of a stream that broke, that is the least it cost."""

    async def words(_: object, __: object) -> AsyncIterator[str]:
        yield "one "
        yield "two"
        if broken:
            raise ZeroDivisionError

    async def main() -> Reading:
        reading = Reading()
        with contextlib.suppress(ZeroDivisionError):
            model = FunctionModel(stream_function=words)
            wire = PydanticAI(Endpoint("any", "", None, None), model, set(), _nothing)
            await wire.read(prompt(), reading, "prompt")
        return reading

    broken = False
    whole = run(main())
    broken = True
    part = run(main())
    assert (whole.text, part.text) == ("one two", "one two")
    assert whole.tokens.output
    assert part.tokens == Tokens(whole.tokens.input, None)


def test_a_model_can_be_used_from_one_loop_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pooled connections belong to a loop; the warnings of a leaked one would be errors here."""
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    model = connect("openai:gpt-5-mini")

    async def main() -> None:
        async with ScriptedServer(["a", "b"]) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            await model.reply(prompt())
            await model.reply(prompt())
            assert len(server.requests) == 2

    run(main())
    run(main())


def test_a_connection_is_kept_for_the_next_request_and_closed_with_the_loop() -> None:
    peers = set()

    async def main() -> None:
        async with ScriptedServer(["a", "b", "c"]) as server:
            model = model_of(server)
            for _ in range(3):
                await model.reply(prompt())
            peers.add(server.connections)

    run(main())
    assert peers == {1}


# -- keys ----------------------------------------------------------------------------------------

CANARY = "sk-canary-0123456789abcdef"


def test_the_key_is_sent_and_shows_up_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    caplog.set_level(logging.DEBUG)
    journal = MemoryJournal()

    async def main() -> list[str]:
        answers: list[Answer | str] = [
            Answer(status=401, message=f"Incorrect API key: {CANARY}"),
            "ok",
        ]
        async with ScriptedServer(answers) as server:
            model = model_of(server)

            async def item(_: int) -> object:
                return (await ask(model, prompt())).to_json()

            async with open_run("r", journal=journal) as opened:
                outcomes = await fan_out(item, range(2), cap=1, run=opened)
            assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"
            error = outcomes[0].error
            assert isinstance(error, ModelRejected)
            assert "[key]" in str(error)
            return [repr(model), str(vars(model)), repr(error), str(vars(error)),
                    encode_error(error), repr(list(outcomes))]  # fmt: skip

    seen = run(main())
    seen += [repr(vars(journal)), caplog.text]
    assert [text for text in seen if CANARY in text] == []


@pytest.mark.parametrize(
    ("name", "variable", "extra"),
    [
        ("openai:gpt-5-mini", "OPENAI_API_KEY", "openai"),
        ("anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY", "anthropic"),
        ("google:gemini-2.5-flash", "GOOGLE_API_KEY", "google"),
        ("mistral:mistral-small-latest", "MISTRAL_API_KEY", "mistral"),
        ("deepseek:deepseek-chat", "DEEPSEEK_API_KEY", "openai"),
    ],
)
def test_a_missing_key_is_said_at_once_with_its_variable_and_its_extra(
    name: str, variable: str, extra: str
) -> None:
    with pytest.raises(ModelNotReady) as caught:
        connect(name)
    assert variable in str(caught.value)
    assert f"pip install 'fanwise[{extra}]'" in str(caught.value)


def test_a_variable_that_the_spec_names_must_be_set_also_for_a_server_of_ones_own() -> None:
    spec = {"name": "openai:q", "base_url": "http://127.0.0.1:9/v1", "api_key_env": "NOT_SET_9"}
    with pytest.raises(ModelNotReady, match="NOT_SET_9 is not set"):
        connect(spec)


def test_a_missing_package_is_said_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", CANARY)
    monkeypatch.setitem(__import__("sys").modules, "mistralai", None)
    with pytest.raises(ModelNotReady, match=r"fanwise\[mistral\]") as caught:
        connect("mistral:mistral-small-latest")
    assert CANARY not in str(caught.value)


def test_openai_honours_its_base_url_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with ScriptedServer(["from the server of my own"]) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            assert (await connect("openai:q").reply(prompt())).text == "from the server of my own"

    run(main())


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("openai:gpt-5-mini", "https://api.openai.com/v1/"),
        ("anthropic:claude-haiku-4-5", "https://api.anthropic.com"),
        ("deepseek:deepseek-chat", "https://api.deepseek.com"),
        ("ollama:qwen3", "http://localhost:11434/v1/"),
    ],
)
def test_every_client_goes_to_its_provider_and_retries_nothing(
    name: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(variable, CANARY)
    wire: Any = build(endpoint_of(Spec(name)))
    client = wire.model.client if isinstance(wire, PydanticAI) else wire.client
    assert client.max_retries == 0
    assert str(client.base_url).rstrip("/") == url.rstrip("/")
    asyncio.run(wire.close())


@pytest.mark.parametrize("ends", ["cut", "cancelled"])
@pytest.mark.parametrize(("price", "usd"), [(0.0, 0.0), (1.0, None)])
def test_what_costs_nothing_at_most_has_cost_nothing_though_its_tokens_are_unknown(
    price: float, usd: float | None, ends: str
) -> None:
    async def main() -> None:
        hangs = Answer(text="one two", chunk_s=1000)
        async with ScriptedServer([Answer(break_after=0) if ends == "cut" else hangs]) as server:
            model = model_of(server, price={"input": price, "output": price})
            timeout = None if ends == "cut" else 0.2
            outcomes = await fan_out(
                lambda _: ask(model, prompt(), retry=0, timeout=timeout), range(1)
            )
            assert outcomes[0].status == "failed"
            (usage,) = [attempt.usage for attempt in outcomes[0].attempts if attempt.call]
            assert (None if usage is None else usage.usd) == usd
            if usage is not None:
                assert (usage.tokens, usage.input_tokens) == (model.estimate(prompt()).tokens, None)

    run(main())
