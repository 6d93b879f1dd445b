"""Tools that are called for a model, and replies that are read while they come."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from fanwise import Budget, Caps, fan_out
from fanwise.errors import BudgetExceeded, ModelUnreachable, UsageError
from fanwise.models import Message, Options, Request, Tool, ask, stream
from fanwise.models.wires.think_tags import ThinkTags
from fanwise.testing import Answer, ScriptedModel, ScriptedServer

from .support import model_of, prompt, run


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def fails(text: str) -> str:
    raise OSError("no such place")


def shouts() -> str:
    raise ValueError("a" * 1_000_000)


def floods() -> str:
    return "x" * 10_000_000


def hides() -> object:
    return object()


def calls(*wanted: tuple[str, dict[str, Any]]) -> Answer:
    return Answer(text="", calls=wanted)


def test_functions_are_called_for_the_model_and_each_call_is_recorded_and_paid_for() -> None:
    async def main() -> None:
        script = [calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})), Answer(text="3, 7")]
        async with ScriptedServer(script) as server:
            model, budget = model_of(server), Budget(requests=10)
            outcomes = await fan_out(
                lambda _: ask(model, prompt("sums?"), tools=[add]),
                range(1),
                caps=Caps({"tool": 1, "openai": 1}),
                budget=budget,
            )
            assert outcomes.values()[0].text == "3, 7"
            made = [attempt.call for attempt in outcomes[0].attempts if attempt.call]
            assert made == ["openai:gpt-5-mini", "tool add", "tool add", "openai:gpt-5-mini"]
            assert outcomes.stats.peak["tool"] == 1
            told = [m["content"] for m in server.bodies[1]["messages"] if m["role"] == "tool"]
            assert told == ["3", "7"]
            sent = server.bodies[0]["tools"][0]["function"]
            assert (sent["name"], sent["description"]) == ("add", "Add two numbers.")
            assert sent["parameters"]["required"] == ["a", "b"]
            assert len(server.requests) == 2

    run(main())


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (("shouts", {}), "Error: ValueError: aaa"),
        (("floods", {}), "Error: floods returned 10,000,000 characters: too many"),
        (("hides", {}), "Error: TypeError: Encoding objects"),
        (("fails", {"text": "x"}), "Error: OSError: no such place"),
        (("add", {"a": "one"}), "Error: ValidationError"),
        (
            ("subtract", {}),
            "There is no tool subtract. There are: add, fails, sh",
        ),
    ],
)
def test_what_goes_wrong_in_a_tool_is_told_to_the_model(
    wanted: tuple[str, dict[str, Any]], told: str
) -> None:
    async def main() -> None:
        async with ScriptedServer([calls(wanted), "sorry"]) as server:
            tools: list[Callable[..., Any]] = [add, fails, shouts, floods, hides]
            reply = await ask(model_of(server), prompt(), tools=tools)
            assert reply.text == "sorry"
            answer = server.bodies[1]["messages"][-1]["content"]
            assert answer.startswith(told)
            assert len(answer) <= 2_000

    run(main())


class City(BaseModel):
    name: str
    people: int = 1


class Counter:
    def __call__(self, city: City) -> City:
        """Count."""
        return City(name=city.name, people=2)


def test_a_tool_may_be_an_object_and_take_and_return_models_of_pydantic() -> None:
    async def main() -> None:
        wanted = ("Counter", {"city": {"name": "Rome"}})
        async with ScriptedServer([calls(wanted), "done"]) as server:
            assert (await ask(model_of(server), prompt(), tools=[Counter()])).text == "done"
            assert server.bodies[1]["messages"][-1]["content"] == '{"name":"Rome","people":2}'

    run(main(), within_s=30)


@pytest.mark.parametrize(("requests", "asked"), [(2, 1), (3, 2), (4, 3)])
def test_a_tool_that_asks_a_model_does_not_wait_for_the_budget_of_its_own_call(
    requests: int, asked: int
) -> None:
    """It would wait for ever. The question, the tool, what the tool asks, the answer: four."""

    async def main() -> None:
        async with ScriptedServer([calls(("nested", {})), "inner", "outer"]) as server:
            model, budget = model_of(server), Budget(requests=requests)

            async def nested() -> str:
                return (await ask(model, prompt("inside"))).text

            outcomes = await fan_out(
                lambda _: ask(model, prompt(), tools=[nested]), range(1), budget=budget
            )
            if requests < 4:
                assert isinstance(outcomes[0].error, BudgetExceeded)
            else:
                assert outcomes.values()[0].text == "outer"
            assert len(server.requests) == asked
            assert budget.spent["requests"] == requests

    run(main(), within_s=30)


def test_the_rounds_are_bounded_and_what_nobody_answered_comes_back() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: calls(("add", {"a": 1, "b": 1}))) as server:
            reply = await ask(model_of(server), prompt(), tools=[add], rounds=2)
            assert (len(server.requests), len(reply.calls)) == (3, 1)
            reply = await ask(model_of(server), prompt(), tools=[Tool("add", "", {})])
            assert (len(server.requests), len(reply.calls)) == (4, 1)

    run(main())


def test_a_function_alone_is_a_tool_too() -> None:
    async def main() -> None:
        async with ScriptedServer([calls(("add", {"a": 1, "b": 2})), Answer(text="3")]) as server:
            assert (await ask(model_of(server), prompt(), tools=add)).text == "3"  # type: ignore[arg-type]

    run(main())


def test_what_cannot_be_a_tool_is_refused_at_once() -> None:
    for wrong in ([7], [add, add], [lambda *given: given]):
        with pytest.raises(UsageError):
            run(ask(ScriptedModel([]), "x", tools=wrong))  # type: ignore[arg-type]


def test_pieces_come_before_the_end_and_the_reply_is_all_of_them() -> None:
    async def main() -> None:
        async with ScriptedServer(["one two three"]) as server:
            server.midway.close()
            budget = Budget(requests=1)

            async def item(_: int) -> list[str]:
                read: list[str] = []
                answer = stream(model_of(server), prompt())
                async for piece in answer:
                    read.append(piece)
                    server.midway.open()  # had it come at the end, this would wait for ever
                assert answer.reply is not None
                assert answer.reply.text == "".join(read) == "one two three"
                return read

            outcomes = await fan_out(item, range(1), caps=Caps(openai=1), budget=budget)
            assert outcomes.values() == [["one", " two", " three"]]
            assert [a.call for a in outcomes[0].attempts if a.call] == ["openai:gpt-5-mini"]
            assert budget.spent["requests"] == len(server.requests) == 1

    run(main())


def test_streams_share_the_cap_of_their_provider() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: Answer(text="one two")) as server:

            async def item(_: int) -> list[str]:
                return [piece async for piece in stream(model_of(server), prompt())]

            outcomes = await fan_out(item, range(5), cap=5, caps=Caps(openai=2))
            assert outcomes.values() == [["one", " two"]] * 5
            assert outcomes.stats.peak["openai"] == 2
            assert server.most_in_flight <= 2

    run(main())


def test_leaving_a_stream_closes_its_connection() -> None:
    async def main() -> None:
        async with ScriptedServer(["one two three"]) as server:
            server.midway.close()
            async with stream(model_of(server), prompt()) as answer:
                async for piece in answer:
                    assert piece == "one"
                    break
            await server.idle()
            assert (server.disconnects, server.output_tokens) == (1, 1)
            assert len(asyncio.all_tasks()) <= 4, "no task of ours is left"

    run(main())


def test_a_stream_that_is_left_without_being_closed_closes_its_connection_too() -> None:
    async def main() -> None:
        async with ScriptedServer(["one two three"]) as server:
            server.midway.close()
            async for piece in stream(model_of(server), prompt()):
                assert piece == "one"
                break
            gc.collect()
            await server.idle()
            assert server.disconnects == 1

    run(main(), within_s=30)


def test_a_stream_is_retried_before_its_first_piece_and_not_after_it() -> None:
    async def main() -> None:
        script = [Answer(status=429, retry_after=0), Answer(text="one two", break_after=1)]
        async with ScriptedServer(script) as server:
            read = []
            with pytest.raises(ModelUnreachable):
                async for piece in stream(model_of(server), prompt()):
                    read.append(piece)
            assert (read, len(server.requests)) == (["one"], 2)

    run(main())


async def pieces_of(server: ScriptedServer, *, thoughts: bool) -> list[tuple[bool, str]]:
    answer = stream(model_of(server), prompt(), thoughts=thoughts)
    read = [(piece.thought, str(piece)) async for piece in answer]
    assert answer.reply is not None
    assert answer.reply.text == "".join(text for thought, text in read if not thought)
    return read


THOUGHTS = [
    Answer(text="It is 4.", reasoning="2 and 2"),
    Answer(text="<think>2 and 2 </think> It is 4."),
]


@pytest.mark.parametrize("answer", THOUGHTS)
def test_a_stream_shows_thoughts_apart_from_the_answer(answer: Answer) -> None:
    async def main() -> None:
        async with ScriptedServer([answer, answer]) as server:
            read = await pieces_of(server, thoughts=False)
            assert {thought for thought, _ in read} == {False}
            assert "".join(text for _, text in read) == "It is 4."
            read = await pieces_of(server, thoughts=True)
            assert "".join(text for thought, text in read if thought).strip() == "2 and 2"
            assert [thought for thought, _ in read] == sorted((t for t, _ in read), reverse=True)

    run(main())


def test_thoughts_that_were_not_read_do_not_keep_a_stream_from_a_retry() -> None:
    broken = Answer(text="It is 4.", reasoning="2 and 2", break_after=0)

    async def main() -> None:
        async with ScriptedServer([broken, broken, "fine"]) as server:
            assert await pieces_of(server, thoughts=False) == [(False, "fine")]
            assert len(server.requests) == 3
        async with ScriptedServer([broken, "fine"]) as server:
            with pytest.raises(ModelUnreachable):
                await pieces_of(server, thoughts=True)
            assert len(server.requests) == 1

    run(main())


@given(st.text(alphabet="<think>/ \na", max_size=40), st.lists(st.integers(0, 45), max_size=6))
@example("<think>a</think> a", [3, 9, 12])
@example(" <thin", [])
def test_tags_are_found_wherever_the_text_is_cut(text: str, cuts: list[int]) -> None:
    whole = ThinkTags()
    expected = whole.feed(text)
    last = whole.feed("", last=True)
    tags, found = ThinkTags(), ["", ""]
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    for begin, end in pairwise(places):
        for n, part in enumerate(tags.feed(text[begin:end])):
            found[n] += part
    for n, part in enumerate(tags.feed("", last=True)):
        found[n] += part
    assert tuple(found) == (expected[0] + last[0], expected[1] + last[1])
    begins = text.lstrip().startswith("<think>")
    assert begins or tuple(found) == ("", text)
    assert "<think>" not in found[0][:7]


def test_a_thought_that_never_ends_is_no_answer() -> None:
    async def main() -> None:
        async with ScriptedServer([Answer(text="<think>on and on")]) as server:
            reply = await ask(model_of(server), prompt())
            assert (reply.text, reply.reasoning) == ("", "on and on")

    run(main())


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", "required"),
        ("none", "none"),
        ("add", {"type": "function", "function": {"name": "add"}}),
        (None, None),
    ],
)
def test_a_tool_can_be_required_for_the_first_round(choice: str | None, sent: Any) -> None:
    async def main() -> None:
        script = [calls(("add", {"a": 1, "b": 2})), Answer(text="three")]
        async with ScriptedServer(script) as server:
            request = Request((Message("user", "?"),), Options(tool_choice=choice))
            reply = await ask(model_of(server), request, tools=[add])
            assert reply.text == "three"
            assert server.bodies[0].get("tool_choice") == sent
            assert "tool_choice" not in server.bodies[1], "else it could never answer"

    run(main())


@pytest.mark.parametrize(("choice", "tools"), [("required", []), ("ad", [add])])
def test_a_tool_that_is_not_there_cannot_be_required(choice: str, tools: list[Any]) -> None:
    request = Request((Message("user", "?"),), Options(tool_choice=choice))
    with pytest.raises(UsageError, match=f"tool_choice is '{choice}'"):
        run(ask(ScriptedModel([]), request, tools=tools))


def test_a_model_that_says_all_at_once_is_one_piece() -> None:
    async def main() -> list[str]:
        request = Request((Message("user", "x"),))
        return [piece async for piece in stream(ScriptedModel(["one two"]), request)]

    assert run(main()) == ["one two"]
