"""What every model does, real or fake: openai, local, scripted, recording, replay, sim."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from fanwise.errors import (
    BadOutput,
    ModelError,
    ModelOverloaded,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from fanwise.models import Model, Reply, Request, connect, record
from fanwise.testing import Answer, ScriptedModel, ScriptedServer

from .support import model_of, prompt, run
from .tiny_gguf import tiny_gguf

Told = str | ModelError
Open = Callable[[list[Told], list[Request], Path], AbstractAsyncContextManager[Model]]

BUSY = ModelRateLimited("busy", retry_after=3.0, status=429, input_tokens=0, output_tokens=0)
DOWN = ModelOverloaded("down", status=503, input_tokens=0, output_tokens=0)
NO = ModelRefused("no", input_tokens=3, output_tokens=1)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def _answer(told: Told) -> Answer:
    if isinstance(told, str):
        return Answer(text=told)
    if isinstance(told, ModelRefused):
        return Answer(text="no", refusal=True)
    retry_after = told.retry_after if isinstance(told, ModelRateLimited) else None
    return Answer(status=told.status or 500, retry_after=retry_after)


@asynccontextmanager
async def provider(told: list[Told], _: list[Request], __: Path) -> AsyncIterator[Model]:
    async with ScriptedServer([_answer(one) for one in told]) as server:
        yield model_of(server)


@asynccontextmanager
async def scripted(told: list[Told], _: list[Request], __: Path) -> AsyncIterator[Model]:
    yield ScriptedModel(list(told))


@asynccontextmanager
async def recording(told: list[Told], _: list[Request], path: Path) -> AsyncIterator[Model]:
    with record(ScriptedModel(list(told)), path / "calls.jsonl") as model:
        yield model


@asynccontextmanager
async def replay(told: list[Told], asked: list[Request], path: Path) -> AsyncIterator[Model]:
    with record(ScriptedModel(list(told)), path / "calls.jsonl") as model:
        for request in asked:
            await asyncio.gather(model.reply(request), return_exceptions=True)
    yield connect(f"replay:{path / 'calls.jsonl'}")


@asynccontextmanager
async def sim(_: list[Told], __: list[Request], ___: Path) -> AsyncIterator[Model]:
    yield connect("sim:quick?median_s=0.0001")


@asynccontextmanager
async def local(_: list[Told], __: list[Request], ___: Path) -> AsyncIterator[Model]:
    """A real llama.cpp, which says what it likes. It goes on from one test to the next."""
    yield connect(f"local:{tiny_gguf()}?threads=1")


TELLABLE = [provider, scripted, recording, replay]
SAYS_WHAT_IT_LIKES = [sim, local]
EVERY = [*TELLABLE, *SAYS_WHAT_IT_LIKES]


@pytest.mark.parametrize("opened", EVERY)
def test_a_reply_is_text_with_usage_within_the_estimate_and_survives_json(
    opened: Open, tmp_path: Path
) -> None:
    async def main() -> None:
        async with opened(["four words are enough"], [prompt()], tmp_path) as model:
            estimate = model.estimate(prompt())
            reply = await model.reply(prompt())
        assert reply.text
        assert reply.finish_reason
        assert reply.usage.total is not None
        assert 0 < reply.usage.total <= estimate.tokens
        assert reply.first_token_s is not None
        assert 0 <= reply.first_token_s <= reply.ran_s
        assert Reply.from_json(reply.to_json()) == reply

    run(main())


@pytest.mark.parametrize("opened", EVERY)
def test_a_model_has_a_name_of_its_provider_and_never_a_key(opened: Open, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(["ok"], [prompt()], tmp_path) as model:
            assert model.name.startswith(f"{model.provider}:")
            assert model.key is None

    run(main())


@pytest.mark.parametrize("opened", EVERY)
def test_a_reply_that_matches_its_schema_has_a_value(opened: Open, tmp_path: Path) -> None:
    request = prompt(schema=SCHEMA)

    async def main() -> None:
        async with opened(['{"n": 7}'], [request], tmp_path) as model:
            value = (await model.reply(request)).value
            assert isinstance(value["n"], int)

    run(main())


@pytest.mark.parametrize("opened", TELLABLE)
@pytest.mark.parametrize("text", ["seven", '{"n": "7"}'])
def test_a_reply_that_does_not_match_is_bad_output_with_its_text_and_cost(
    text: str, opened: Open, tmp_path: Path
) -> None:
    request = prompt(schema=SCHEMA)

    async def main() -> None:
        async with opened([text], [request], tmp_path) as model:
            with pytest.raises(BadOutput) as caught:
                await model.reply(request)
        assert caught.value.text == text
        assert caught.value.output_tokens

    run(main())


@pytest.mark.parametrize("opened", TELLABLE)
@pytest.mark.parametrize("told", [BUSY, DOWN, NO], ids=lambda told: type(told).__name__)
def test_a_failure_is_an_error_of_its_kind_once_and_the_next_call_is_another(
    told: ModelError, opened: Open, tmp_path: Path
) -> None:
    async def main() -> None:
        async with opened([told, "well again"], [prompt(), prompt()], tmp_path) as model:
            with pytest.raises(ModelError) as caught:
                await model.reply(prompt())
            assert type(caught.value) is type(told)
            assert getattr(caught.value, "retry_after", None) == getattr(told, "retry_after", None)
            assert (await model.reply(prompt())).text == "well again"

    run(main())


@pytest.mark.parametrize("opened", EVERY)
def test_calls_at_once_do_not_mix(opened: Open, tmp_path: Path) -> None:
    requests = [prompt(f"question {n}") for n in range(5)]

    async def main() -> None:
        told: list[Told] = [f"answer {n}" for n in range(5)]
        async with opened(told, requests, tmp_path) as model:
            replies = await asyncio.gather(*(model.reply(request) for request in requests))
        if opened is replay:
            assert [reply.text for reply in replies] == told
        elif opened not in SAYS_WHAT_IT_LIKES:
            assert sorted(reply.text for reply in replies) == told

    run(main())


@pytest.mark.parametrize("opened", EVERY)
def test_a_cancelled_call_is_over_and_the_model_goes_on(opened: Open, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(["one", "two"], [prompt(), prompt()], tmp_path) as model:
            tasks = asyncio.all_tasks()
            task = asyncio.create_task(model.reply(prompt()))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert {t for t in asyncio.all_tasks() - tasks if "_connected" not in repr(t)} == set()
            assert (await model.reply(prompt())).text

    run(main())


def test_unreachable_is_worth_a_retry_and_a_refusal_is_not() -> None:
    from fanwise.models import worth_a_retry

    assert worth_a_retry(ModelUnreachable("gone"))
    assert worth_a_retry(TimeoutError())
    assert not worth_a_retry(NO)
    assert not worth_a_retry(BadOutput("no JSON", text="x"))
