"""A recorded run, played back: the same bytes, without the provider."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from fanwise.models import Model, connect, record
from fanwise.sampling import Draft, SampleResult, judge, require, sample
from fanwise.testing import Answer, ScriptedServer, run_virtual
from tests.models.support import model_of, run

from .support import is_judge, seeds, verdict

PLACES = seeds(3, 3)


def script(body: dict[str, Any]) -> Answer | str:
    """Chain 1 wins in its second sample; the others are slow, refused or broken."""
    if is_judge(body):
        quoted = body["messages"][-1]["content"].partition("\n\nRequirement:")[0]
        return verdict(">\n1 1\n</answer" in quoted[-30:])
    chain, iteration = PLACES[body["seed"]]
    text = f"{chain} {iteration}"
    if chain == 0:
        return Answer(text=f"{text} very slow", chunk_s=60)
    if (chain, iteration) == (2, 0):
        return Answer(status=400)
    return Answer(text=text, first_byte_s=0.05)


def check(draft: Draft) -> tuple[bool, str]:
    return len(draft) < 20, "too long"


async def sampled(model: Model, **options: Any) -> SampleResult:
    return await sample(
        model, "x", [require(check, "short"), judge("is 1 1")], concurrency_budget=3, **options
    )


def recorded(path: Path, **options: Any) -> SampleResult:
    async def main() -> SampleResult:
        async with ScriptedServer(script) as server:
            with record(model_of(server), path) as model:
                result = await sampled(model, **options)
            await server.idle()
            return result

    return run(main())


def as_bytes(result: SampleResult) -> bytes:
    return msgspec.json.encode(result.to_json())


def test_a_replay_at_the_recorded_speed_gives_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    first = recorded(path)
    assert (first.ok, first.text) == (True, "1 1")
    assert [type(error).__name__ for error in first.errors] == ["ModelRejected"]
    assert first.samples[0].reply.first_token_s
    for _ in range(3):
        # Neither server nor time: an hour of recording would be played back at once.
        model = connect(f"replay:{path}?speed=1")
        assert as_bytes(run_virtual(sampled(model))) == as_bytes(first)


def test_the_first_in_order_is_the_same_at_any_speed(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"

    def quick(body: dict[str, Any]) -> Answer | str:
        """Chain 0 is quick, but for its last sample: that one comes after the winner."""
        answer = script(body)
        if isinstance(answer, str) or not answer.chunk_s or PLACES[body["seed"]] == (0, 2):
            return answer
        return "0 quick"

    async def main() -> SampleResult:
        async with ScriptedServer(quick) as server:
            with record(model_of(server), path) as model:
                return await sampled(model, winner="first")

    first = run(main())
    assert first.text == "1 1"
    # Others may get further or less far before it is decided; who wins does not depend on it.
    at_once = asyncio.run(sampled(connect(f"replay:{path}"), winner="first"))
    assert (at_once.ok, at_once.sample.reply) == (first.ok, first.sample.reply)
