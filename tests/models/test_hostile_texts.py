"""Texts that cannot be sent, tools that end the program, and replies without an end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from fanwise import fan_out
from fanwise.errors import ReplyTooLong, UsageError
from fanwise.models import Message, Options, Request, Tool, ToolCall, ask
from fanwise.models.wires import wire as wires
from fanwise.sampling import sample
from fanwise.testing import Answer, ScriptedModel, ScriptedServer

from .support import model_of, prompt, run
from .test_wire import END, event, said_by

HALF = "caf\udce9"
USER = Message("user", "x")
MAKE: list[Callable[[], Any]] = [
    lambda: Message("user", HALF),
    lambda: Message("assistant", "", calls=(ToolCall("1", "f", {"a": HALF}),)),
    lambda: Options(stop=(HALF,)),
    lambda: Options(extra={"user": [HALF]}),
    lambda: Request((USER,), schema={"enum": [HALF]}),
    lambda: Request((USER,), tools=(Tool("f", HALF, {}),)),
    lambda: run(ask(ScriptedModel([]), HALF)),
    lambda: run(ask(ScriptedModel([]), [{"role": "user", "content": HALF}])),
    lambda: run(sample(ScriptedModel([]), HALF)),
]


@pytest.mark.parametrize("make", MAKE)
def test_half_a_character_is_refused_by_name_before_anything_is_sent(
    make: Callable[[], Any],
) -> None:
    with pytest.raises(UsageError, match=r"'\\udce9' at \d+"):
        make()


@pytest.mark.parametrize("entry", [ask, sample])
@pytest.mark.parametrize("nothing", [[], ()])
def test_a_prompt_without_messages_is_refused(entry: Any, nothing: Any) -> None:
    with pytest.raises(UsageError, match="no messages"):
        run(entry(ScriptedModel(["never"]), nothing))


def test_a_character_that_comes_in_two_halves_is_whole_and_half_a_one_is_replaced() -> None:
    pieces = ["\ud83d", "\ude00 and \ud83d", " then"]
    reply, _ = run(said_by(*(event({"content": each}) for each in pieces), END))
    assert reply.text == "\U0001f600 and \ufffd then"
    assert Message("assistant", reply.text)


def leaves() -> str:
    sys.exit(3)


async def leaves_later() -> str:
    sys.exit("for good")


def half() -> str:
    return HALF


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        (leaves, "Error: SystemExit: 3"),
        (leaves_later, "Error: SystemExit: for good"),
        (half, "Error: UnicodeEncodeError: 'utf-8'"),
    ],
)
def test_a_tool_that_ends_the_program_or_gives_no_text_is_an_error_of_that_call(
    tool: Callable[..., Any], told: str
) -> None:
    async def main() -> None:
        async with ScriptedServer([Answer(text="", calls=((tool.__name__, {}),)), "on"]) as server:
            model = model_of(server)
            outcomes = await fan_out(lambda _: ask(model, prompt(), tools=[tool]), [0])
            assert outcomes.values()[0].text == "on"
            assert server.bodies[1]["messages"][-1]["content"].startswith(told)
            assert f"tool {tool.__name__}" in [a.call for a in outcomes[0].attempts]

    run(main())


ENDLESS = [
    Answer(text="word " * 20),
    Answer(text="ok", reasoning="word " * 20),
    Answer(text="", calls=(("f", {"a": "word " * 20}),)),
]


@pytest.mark.parametrize("answer", ENDLESS)
def test_a_reply_without_an_end_is_an_error_that_names_the_limit(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wires, "MOST_REPLY", 50)

    async def main() -> None:
        async with ScriptedServer([answer]) as server:
            with pytest.raises(ReplyTooLong, match="more than 50 characters") as caught:
                await ask(model_of(server), prompt())
            assert (caught.value.limit, caught.value.output_tokens) == (50, None)
            assert len(server.requests) == 1, "it would be as long again"

    run(main())
