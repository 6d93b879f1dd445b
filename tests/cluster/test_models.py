"""Model calls of a run with workers: made by them, bounded, paid for and recorded here."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fanwise import Caps, Ray, Retry, fan_out, open_run
from fanwise.errors import ModelRejected
from fanwise.kernel.workers import HERE
from fanwise.models import ask
from fanwise.testing import Answer, ScriptedServer

pytestmark = pytest.mark.slow
SECRET = "sk-only-by-name"


async def replies(on: Ray, script: Any, count: int, **options: Any) -> tuple[Any, ScriptedServer]:
    """Ask in items of this process, as systems do, with the run's workers at hand."""
    async with ScriptedServer(script) as server:
        model = {"name": "openai:tiny", "base_url": server.base_url}

        async def item(number: int) -> Any:
            return await ask(model, f"number {number}", retry=Retry(2, base_s=0.01))

        async with open_run(journal=":memory:", on=on, **options) as run:
            return await fan_out(item, range(count), run=run, on=HERE), server


def test_calls_are_made_by_the_workers_and_measured_there(cluster: Ray) -> None:
    answer = Answer(text="yes", first_byte_s=0.05)
    outcomes, server = asyncio.run(replies(cluster, lambda _: answer, 8, caps=Caps(openai=3)))
    assert [each.text for each in outcomes.values()] == ["yes"] * 8
    calls = [each for outcome in outcomes for each in outcome.attempts if each.call is not None]
    assert len({each.worker for each in calls}) == 2
    assert all(each.first_token_s is not None and each.first_token_s >= 0.05 for each in calls)
    assert all(each.usage is not None and each.usage.tokens > 0 for each in calls)
    assert server.most_in_flight <= 3
    assert outcomes.stats.peak["openai"] == 3


def test_an_error_of_a_model_is_retried_and_comes_back_as_itself(cluster: Ray) -> None:
    script = [Answer(status=503), "later"]
    outcomes, server = asyncio.run(replies(cluster, script, 1))
    assert outcomes.values()[0].text == "later"
    assert len(server.requests) == 2
    wrong = Answer(status=400, message="no such thing")
    outcomes, _ = asyncio.run(replies(cluster, lambda _: wrong, 1))
    assert isinstance(outcomes[0].error, ModelRejected)
    assert "no such" in str(outcomes[0].error)


def test_a_key_travels_by_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be sent for a model has the name of its variable, and not the key."""
    from fanwise.cluster.shipping import pack
    from fanwise.models import connect

    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    packed = pack(connect("openai:gpt-5-mini"), "a model")
    assert SECRET.encode() not in packed
    assert b"gpt-5-mini" in packed
