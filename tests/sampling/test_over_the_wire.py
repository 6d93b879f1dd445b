"""Sampling from a real server, counted by the server: what is asked, how often, and of whom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, TypedDict

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict

from fanwise.errors import (
    BadOutput,
    ModelRejected,
    SamplingFailed,
    UsageError,
)
from fanwise.sampling import (
    BestOf,
    Escalate,
    Hooks,
    Majority,
    SampleResult,
    Strategy,
    judge,
    matches,
    require,
    reward,
    sample,
    schema,
)
from fanwise.testing import Answer, ScriptedServer
from tests.models.support import model_of, run

from .support import is_judge

MOOD = {
    "type": "object",
    "properties": {"mood": {"enum": ["good", "bad"]}},
    "required": ["mood"],
    "additionalProperties": False,
}
GOOD = '{"mood": "good"}'


def served(script: Any, main: Callable[[Any, ScriptedServer], Any], **spec: Any) -> Any:
    """What `main` returns, given a model of a server with this script."""

    async def whole() -> Any:
        async with ScriptedServer(script) as server:
            return await main(model_of(server, **spec), server)

    return run(whole())


# -- JSON that is not quite there ----------------------------------------------------------------


def test_a_check_beside_a_schema_waits_for_json_and_the_repair_runs() -> None:
    def is_good(draft: Any) -> bool:
        return bool(draft.value["mood"] == "good")

    async def main(model: Any, server: ScriptedServer) -> None:
        checks = [require(is_good), schema(MOOD)]
        result = await sample(model, "x", checks, cap=1)
        assert (result.ok, result.errors) == (True, ())
        assert [len(each.verdicts) for each in result.samples] == [1, 2, 2]
        assert len(server.requests) == 3
        assert "not JSON" in str(server.bodies[1]["messages"])

    served(["no JSON at all", '{"mood": "bad"}', GOOD], main)


@pytest.mark.parametrize(
    "text",
    [
        f"Here is the JSON:\n```json\n{GOOD}\n```\nI hope it helps.",
        f"```JSON\n{GOOD}\n```",
        f"{GOOD}\n\nThis is because the review is kind.",
        f"\n {GOOD}",
    ],
)
def test_json_is_read_from_fences_and_before_other_words(text: str) -> None:
    async def main(model: Any, server: ScriptedServer) -> None:
        result = await sample(model, "x", schema(MOOD), cap=1)
        assert (result.value, len(server.requests)) == ({"mood": "good"}, 1)

    served([text], main)


@pytest.mark.parametrize("text", ["5 apples", "It is {good}", '{"mood": "good"', "```\nno\n```"])
def test_words_are_not_taken_for_json(text: str) -> None:
    async def main(model: Any, _: ScriptedServer) -> None:
        result = await sample(model, "x", schema({"type": ["object", "integer"]}), loop_budget=1)
        assert not result.ok

    served(lambda _: text, main)


# -- escalation ----------------------------------------------------------------------------------


def by_model(**scripts: list[Any]) -> Callable[[dict[str, Any]], Any]:
    """A script for each model; the last answer is repeated."""
    asked = dict.fromkeys(scripts, 0)

    def answer(body: dict[str, Any]) -> Any:
        name = body["model"]
        asked[name] += 1
        return scripts[name][min(asked[name], len(scripts[name])) - 1]

    return answer


def models(server: ScriptedServer) -> list[str]:
    return [body["model"] for body in server.bodies]


def escalating(script: Any, *tiers: str, **options: Any) -> tuple[SampleResult, list[str]]:
    async def main(cheap: Any, server: ScriptedServer) -> Any:
        strong = [model_of(server, f"openai:{tier}") for tier in tiers]
        strategy = Escalate(strong, after=options.pop("after", 2))
        wanted = matches("good", check_only=True)
        return await sample(cheap, "x", wanted, strategy=strategy, **options), server

    result, server = served(script, main, name="openai:cheap")
    return result, models(server)


def test_escalation_goes_up_at_a_depth_of_one_and_through_every_tier() -> None:
    script = by_model(cheap=["bad"], middle=["bad"], strong=["good"])
    result, asked = escalating(script, "middle", "strong", loop_budget=1)
    assert result.ok
    assert asked == ["cheap", "middle", "strong"]


def test_escalation_starts_one_cheap_chain_and_repairs_before_it_goes_up() -> None:
    async def main(cheap: Any, server: ScriptedServer) -> None:
        strategy = Escalate(model_of(server, "openai:strong"))
        wanted = reward(lambda draft: float(len(draft)), at_least=3)
        result = await sample(cheap, "x", wanted, strategy=strategy)
        assert result.ok
        assert models(server) == ["cheap", "cheap", "strong"]
        assert "What was wrong with it" in str(server.bodies[1]["messages"])

    served(by_model(cheap=["a", "bb"], strong=["ccc"]), main, name="openai:cheap")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["cheap", "cheap", "middle", "strong"]),
        ({"loop_budget": 2}, ["cheap", "middle", "strong"]),
        ({"loop_budget": 6}, ["cheap", "cheap", "middle", "middle", "strong", "strong"]),
        ({"after": 1}, ["cheap", "middle", "strong"]),
    ],
)
def test_the_cheap_model_repairs_first_however_many_stronger_ones_there_are(
    options: dict[str, Any], expected: list[str]
) -> None:
    async def main(cheap: Any, server: ScriptedServer) -> None:
        stronger = [model_of(server, f"openai:{tier}") for tier in ("middle", "strong")]
        strategy = Escalate(stronger, after=options.pop("after", 2))
        wanted = reward(lambda draft: float(len(draft)), at_least=99)
        result = await sample(cheap, "x", wanted, strategy=strategy, **options)
        assert not result.ok
        assert models(server) == expected

    longer = ["a", "bb"]  # each is better than the one before
    served(by_model(cheap=longer, middle=longer, strong=longer), main, name="openai:cheap")


def test_a_cheap_model_that_does_is_all_that_is_asked() -> None:
    result, asked = escalating(by_model(cheap=["good"], strong=["good"]), "strong")
    assert (result.ok, asked) == (True, ["cheap"])


# -- judges --------------------------------------------------------------------------------------


def test_a_judge_that_answers_in_prose_is_asked_again_once() -> None:
    verdicts = iter(["I think it is fine.", '{"reason": "it is fine", "passed": true}'])

    def answer(body: dict[str, Any]) -> str:
        return next(verdicts) if "Judge whether" in str(body) else "an answer"

    async def main(model: Any, server: ScriptedServer) -> None:
        result = await sample(model, "x", "It is fine", cap=1)
        assert (result.ok, result.errors, len(server.requests)) == (True, (), 3)
        assert server.bodies[2]["messages"][-2]["content"] == "I think it is fine."

    served(answer, main)


def test_a_judge_that_answers_in_prose_twice_is_an_error() -> None:
    def answer(body: dict[str, Any]) -> str:
        return "Fine." if "Judge whether" in str(body) else "an answer"

    async def main(model: Any, server: ScriptedServer) -> None:
        result = await sample(model, "x", "It is fine", cap=1)
        assert not result.ok
        assert [type(error) for error in result.errors] == [BadOutput]
        assert len(server.requests) == 3

    served(answer, main)


def test_the_best_of_several_is_the_one_with_the_judges_highest_score() -> None:
    scores = {"plain": 0.2, "fine": 0.9, "fair": 0.5}
    texts = iter(scores)

    def answer(body: dict[str, Any]) -> str:
        if not is_judge(body):
            return next(texts)
        told = body["messages"][-1]["content"]
        score = next(score for text, score in scores.items() if f"\n{text}\n" in told)
        return msgspec.json.encode({"reason": "so it is", "score": score}).decode()

    async def main(model: Any, server: ScriptedServer) -> None:
        result = await sample(model, "x", judge("It is well written"), strategy="best_of", cap=3)
        assert (result.ok, result.text, len(server.requests)) == (True, "fine", 6)

    served(answer, main)


@pytest.mark.parametrize("requirements", [[], [matches("a")], [schema(MOOD)]])
def test_best_of_without_anything_to_compare_by_is_refused_at_once(requirements: Any) -> None:
    async def main(model: Any, server: ScriptedServer) -> None:
        with pytest.raises(UsageError, match="best_of cannot compare"):
            await sample(model, "x", requirements, strategy=BestOf())
        assert server.requests == []

    served([], main)


# -- errors and hooks ----------------------------------------------------------------------------


def test_one_chain_raises_the_models_own_error_and_the_end_hook_is_told() -> None:
    told: list[Any] = []

    async def main(model: Any, server: ScriptedServer) -> None:
        with pytest.raises(ModelRejected, match="not today") as caught:
            await sample(model, "x", matches("a"), cap=1, hooks=Hooks(end=told.append))
        assert told == [caught.value]
        assert len(server.requests) == 1

    served([Answer(status=400, message="not today")], main)


def test_several_chains_without_a_sample_are_one_error_of_our_own() -> None:
    told: list[Any] = []

    async def main(model: Any, server: ScriptedServer) -> None:
        with pytest.raises(SamplingFailed, match=r"all 3 chains failed.*not today") as caught:
            await sample(model, "x", matches("a"), cap=3, hooks=Hooks(end=told.append))
        assert [type(error) for error in caught.value.errors] == [ModelRejected] * 3
        assert len(caught.value.reasons) == 1
        assert told == [caught.value]
        assert len(server.requests) == 3

    served(lambda _: Answer(status=400, message="not today"), main)


def test_the_requirements_of_a_strategy_are_added_or_replace() -> None:
    class Adds(Strategy):
        requirements = (matches("a"),)

    class Replaces(Adds):
        replaces_requirements = True

    async def main(model: Any, _: ScriptedServer) -> None:
        for strategy, ok in ((Adds(), False), (Replaces(), True)):
            for used in (strategy, Majority(repair=strategy)):
                result = await sample(model, "x", matches("b"), strategy=used, loop_budget=1)
                assert result.ok is ok

    served(lambda _: "a", main)


def test_a_check_that_is_not_pure_is_asked_again_about_the_same_text() -> None:
    asked: dict[str, int] = {"pure": 0, "not pure": 0}

    def counting(name: str) -> Callable[[Any], bool]:
        def check(_: Any) -> bool:
            asked[name] += 1
            return name == "pure"

        return check

    async def main(model: Any, server: ScriptedServer) -> None:
        checks = [
            require(counting("pure"), "pure", check_only=True),
            require(counting("not pure"), "not pure", check_only=True, pure=False),
        ]
        result = await sample(model, "x", checks, cap=1, loop_budget=3)
        assert len(result.samples) == len(server.requests) == 3
        assert asked == {"pure": 1, "not pure": 3}

    served(lambda _: "the same", main)


# -- what is spent -------------------------------------------------------------------------------


def test_without_requirements_a_model_is_asked_once() -> None:
    async def main(model: Any, server: ScriptedServer) -> None:
        assert (await sample(model, "x")).ok
        assert len(server.requests) == 1
        await sample(model, "x", strategy="majority")
        assert len(server.requests) > 2, "a vote of one is none"

    served(lambda _: "ok", main)


def test_a_vote_ends_when_it_is_decided() -> None:
    answers = [Answer(text="yes")] * 3 + [Answer(text="no", first_byte_s=1000)] * 2

    async def main(model: Any, server: ScriptedServer) -> None:
        async def open_when_all_are_there() -> None:
            await server.gate.held(3)
            while server.in_flight < 5:
                await asyncio.sleep(0)
            server.gate.open()

        server.gate.close()
        voted = sample(model, "x", strategy="majority", cap=5)
        result, _ = await asyncio.gather(voted, open_when_all_are_there())
        assert (result.text, len(result.samples)) == ("yes", 3)
        await server.idle()
        assert (len(server.requests), server.disconnects) == (5, 2)

    served(answers, main)


# -- types ---------------------------------------------------------------------------------------


class Model(BaseModel):
    name: str
    age: int


@dataclass
class Data:
    name: str
    age: int


class Struct(msgspec.Struct):
    name: str
    age: int


class Dated(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date
    tags: tuple[str, ...]


class Typed(TypedDict):
    name: str
    age: int


@pytest.mark.parametrize("type_", [Model, Data, Struct, Typed])
def test_a_type_gives_a_value_of_it_and_checks_see_it_so(type_: Any) -> None:
    seen: list[Any] = []

    def is_old(draft: Any) -> bool:
        seen.append(draft.value)
        value = draft.value
        return bool((value["age"] if isinstance(value, dict) else value.age) > 10)

    async def main(model: Any, server: ScriptedServer) -> None:
        result = await sample(model, "x", [type_, is_old], cap=1)
        person = type_(name="Ann", age=30)
        assert result.value == person
        assert type(result.value) is type(person)
        assert [type(each) for each in seen] == [type(person)] * 2
        assert result.to_json()["value"] == {"name": "Ann", "age": 30}
        sent = server.bodies[0]["response_format"]["json_schema"]["schema"]
        assert (sent["type"], set(sent["properties"])) == ("object", {"name", "age"})
        assert len(server.requests) == 3

    served(['{"name": "Ann"}', '{"name": "Al", "age": 3}', '{"name": "Ann", "age": 30}'], main)


def test_a_strict_model_reads_dates_and_tuples_as_json_has_them() -> None:
    async def main(model: Any, _: ScriptedServer) -> None:
        result = await sample(model, "x", Dated, cap=1, loop_budget=1)
        assert result.require().value == Dated(day=date(2020, 1, 2), tags=("a",))

    served(['{"day": "2020-01-02", "tags": ["a"]}'], main)


def test_a_type_alone_is_a_requirement_and_a_failure_is_raised_with_its_reasons() -> None:
    async def main(model: Any, server: ScriptedServer) -> None:
        assert (await sample(model, "x", Model, cap=1)).require().value.age == 30
        failed = await sample(model, "x", Model, cap=1, loop_budget=2)
        with pytest.raises(SamplingFailed) as caught:
            failed.require()
        assert caught.value.result is failed
        assert caught.value.reasons == ["it is $: 'age' is a required property"]
        assert len(server.requests) == 3

    served(['{"name": "Ann", "age": 30}', '{"name": "Ann"}', '{"name": "Ann"}'], main)
