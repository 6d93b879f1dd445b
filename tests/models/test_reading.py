"""What comes back from each family of providers, and what of it goes out again.

Thoughts, text in pieces, a call in pieces, token counts and log probabilities, in the events of
each provider; then the answer to the call, with the thoughts that the provider wants back.
"""

from __future__ import annotations

from typing import Any

import pytest

from fanwise.models import Message, Options, Reply, Request, Tokens, ToolCall, ask, connect, stream
from fanwise.models.prices import most_input
from fanwise.testing import Answer, ScriptedServer

from .features import ITEM, PLACE, RESPONSE, RESPONSES
from .support import run
from .test_other_providers import ANTHROPIC, GOOGLE, MISTRAL, WIRES, Wire, Wired, _keys, model_at

__all__ = ["_keys"]
CALL = '{"a": 1, "b": 2}'
SIGNED = "c2lnbmVkLWJ5LXRoZW0="
"""A signature, in the base64 that Google wants."""


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


# -- Anthropic ------------------------------------------------------------------------------------


def _block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    place = {"index": index}
    return [
        {"type": "content_block_start", **place, "content_block": start},
        *({"type": "content_block_delta", **place, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", **place},
    ]


ANTHROPIC_CALL = [
    ANTHROPIC.begin[0],
    *_block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "one and"},
        {"type": "thinking_delta", "thinking": " two"},
        {"type": "signature_delta", "signature": SIGNED},
    ),
    *_block(
        1,
        {"type": "text", "text": ""},
        {"type": "text_delta", "text": "Let me"},
        {"type": "text_delta", "text": " add."},
    ),
    *_block(
        2,
        {"type": "tool_use", "id": "c1", "name": "add", "input": {}},
        {"type": "input_json_delta", "partial_json": CALL[:7]},
        {"type": "input_json_delta", "partial_json": CALL[7:]},
    ),
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 9, "cache_read_input_tokens": 5, "input_tokens": 7},
    },
    {"type": "message_stop"},
]


# -- Google ---------------------------------------------------------------------------------------


def _google(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": [*parts]}, "index": 0, **more}
    usage = {
        "promptTokenCount": 7,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 4,
        "cachedContentTokenCount": 5,
        "totalTokenCount": 16,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash",
        "responseId": "g",
    }


GOOGLE_CALL = [
    _google({"text": "one and", "thought": True}),
    _google({"text": " two", "thought": True}),
    _google({"text": "Let me"}),
    _google({"text": " add."}),
    _google(
        {
            "functionCall": {"id": "c1", "name": "add", "args": {"a": 1, "b": 2}},
            "thoughtSignature": SIGNED,
        },
        finishReason="STOP",
    ),
]


# -- Mistral --------------------------------------------------------------------------------------


def _mistral(delta: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    model = "mistral-small-latest"
    return {"id": "m", "object": "c", "created": 1, "model": model, "choices": [choice], **more}


def _mistral_thought(text: str) -> dict[str, Any]:
    return _mistral(
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}
    )


MISTRAL_CALL = [
    _mistral_thought("one and"),
    _mistral_thought(" two"),
    _mistral({"content": "Let me"}),
    _mistral({"content": " add."}),
    _mistral(
        {"tool_calls": [{"id": "c1", "index": 0, "function": {"name": "add", "arguments": CALL}}]},
        "tool_calls",
        usage={"prompt_tokens": 7, "completion_tokens": 9, "total_tokens": 16},
    ),
]


# -- OpenAI's responses ---------------------------------------------------------------------------


def _numbered(*events: dict[str, Any]) -> list[dict[str, Any]]:
    return [event | {"sequence_number": number} for number, event in enumerate(events)]


REASONING = {"id": "rs1", "type": "reasoning", "summary": []}
SUMMARY = {"item_id": "rs1", "output_index": 0, "summary_index": 0}
FUNCTION = {"id": "fc1", "type": "function_call", "call_id": "c1", "name": "add", "arguments": ""}
WRITTEN = {"type": "output_text", "text": "Let me add.", "annotations": []}
USAGE = {
    "input_tokens": 7,
    "output_tokens": 9,
    "total_tokens": 16,
    "input_tokens_details": {"cached_tokens": 5},
    "output_tokens_details": {"reasoning_tokens": 4},
}


def _item(kind: str, place: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": place, "item": item}


def _said(text: str, **more: Any) -> dict[str, Any]:
    event = {"type": "response.output_text.delta", "delta": text, "logprobs": [], **PLACE}
    return event | {"output_index": 1} | more


def _argued(text: str) -> dict[str, Any]:
    event = {"type": "response.function_call_arguments.delta", "item_id": "fc1"}
    return event | {"output_index": 2, "delta": text}


RESPONSES_CALL = _numbered(
    {"type": "response.created", "response": RESPONSE},
    _item("added", 0, REASONING),
    {
        "type": "response.reasoning_summary_part.added",
        "part": {"type": "summary_text", "text": ""},
        **SUMMARY,
    },
    {"type": "response.reasoning_summary_text.delta", "delta": "one and", **SUMMARY},
    {"type": "response.reasoning_summary_text.delta", "delta": " two", **SUMMARY},
    _item(
        "done",
        0,
        REASONING
        | {
            "encrypted_content": SIGNED,
            "summary": [{"type": "summary_text", "text": "one and two"}],
        },
    ),
    _item("added", 1, ITEM),
    _said("Let me"),
    _said(" add."),
    _item("done", 1, ITEM | {"status": "completed", "content": [WRITTEN]}),
    _item("added", 2, FUNCTION | {"status": "in_progress"}),
    _argued(CALL[:7]),
    _argued(CALL[7:]),
    _item("done", 2, FUNCTION | {"status": "completed", "arguments": CALL}),
    {"type": "response.completed", "response": RESPONSE | {"usage": USAGE}},
)

FAMILIES: dict[str, tuple[Wire, list[dict[str, Any]], Tokens]] = {
    "anthropic": (ANTHROPIC, ANTHROPIC_CALL, Tokens(12, 9, 5)),
    "google": (GOOGLE, GOOGLE_CALL, Tokens(7, 9, 5, 4)),
    "mistral": (MISTRAL, MISTRAL_CALL, Tokens(7, 9)),
    "openai-responses": (RESPONSES, RESPONSES_CALL, Tokens(7, 9, 5, 4)),
}
each_family = pytest.mark.parametrize("family", FAMILIES)
THINK = Request((Message("user", "1 + 2?"),), Options(max_tokens=9000, reasoning="low"))


@pytest.fixture(autouse=True)
def _openai_key(monkeypatch: pytest.MonkeyPatch, _keys: None) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")


@each_family
def test_thoughts_text_calls_and_counts_are_read(family: str) -> None:
    wire, events, tokens = FAMILIES[family]

    async def main() -> Reply:
        async with Wired(wire, script=[events]).open() as server:
            return await ask(model_at(wire, server), THINK, tools=[add], rounds=0)

    reply = run(main())
    assert (reply.reasoning, reply.text) == ("one and two", "Let me add.")
    assert reply.calls == (ToolCall("c1", "add", {"a": 1, "b": 2}),)
    assert (reply.usage, reply.finish_reason) == (tokens, "tool_call")
    assert reply.first_token_s is not None
    assert Reply.from_json(reply.to_json()) == reply


@each_family
def test_pieces_come_one_by_one_thoughts_apart(family: str) -> None:
    wire, events, _ = FAMILIES[family]

    async def main() -> None:
        async with Wired(wire, script=[events] * 2).open() as server:
            model = model_at(wire, server)
            for thoughts in (True, False):
                heard = [
                    (str(piece), piece.thought)
                    async for piece in stream(model, THINK, thoughts=thoughts, rounds=0)
                ]
                answer = [("Let me", False), (" add.", False)]
                thought = [("one and", True), (" two", True)]
                assert heard == (thought + answer if thoughts else answer)

    run(main())


def _thought_parts(family: str, body: dict[str, Any]) -> list[Any]:
    """What the second request has of the first reply's thoughts and signatures."""
    if family == "anthropic":
        (turn,) = [each for each in body["messages"] if each["role"] == "assistant"]
        assert [part["type"] for part in turn["content"]] == ["thinking", "text", "tool_use"]
        return [(turn["content"][0]["thinking"], turn["content"][0]["signature"])]
    if family == "google":
        (turn,) = [each for each in body["contents"] if each["role"] == "model"]
        return [part.get("thoughtSignature") for part in turn["parts"] if "functionCall" in part]
    if family == "mistral":
        (turn,) = [each for each in body["messages"] if each["role"] == "assistant"]
        return [part for part in turn["content"] if part["type"] == "thinking"]
    return [
        (item["id"], item["encrypted_content"], item["summary"][0]["text"])
        for item in body["input"]
        if item.get("type") == "reasoning"
    ]


BACK: dict[str, list[Any]] = {
    "anthropic": [("one and two", SIGNED)],
    "google": [SIGNED],
    "mistral": [{"type": "thinking", "thinking": [{"type": "text", "text": "one and two"}]}],
    "openai-responses": [("rs1", SIGNED, "one and two")],
}


@each_family
def test_signed_thoughts_go_back_with_the_answer_to_the_call(family: str) -> None:
    wire, events, _ = FAMILIES[family]

    async def main() -> tuple[Reply, dict[str, Any], str]:
        async with Wired(wire, script=[events, [*wire.begin, *wire.end]]).open() as server:
            reply = await ask(model_at(wire, server), THINK, tools=[add])
            assert len(server.requests) == 2
            return reply, server.requests[1].json(), server.requests[1].body.decode()

    reply, body, sent = run(main())
    assert reply.text == "fine thank you"
    assert _thought_parts(family, body) == BACK[family]
    assert sent.count("one and two") == (0 if family == "google" else 1)
    assert "c1" in sent or family == "google"
    assert '"3"' in sent or ":3" in sent.replace(" ", "")


@each_family
def test_the_thoughts_of_one_provider_go_to_no_other(family: str) -> None:
    wire, events, _ = FAMILIES[family]

    async def main() -> None:
        async with Wired(wire, script=[events]).open() as server:
            reply = await ask(model_at(wire, server), THINK, tools=[add], rounds=0)
        turns = (*THINK.messages, reply.message, Message("tool", "3", call_id=reply.calls[0].id))
        async with ScriptedServer(["three"]) as other:
            model = connect({"name": "openai:any", "base_url": other.base_url})
            await ask(model, Request(turns))
            (body,) = other.bodies
            assert SIGNED not in str(body)
            assert "one and two" not in str(body)
            assert body["messages"][1]["content"] == "Let me add."
            assert body["messages"][1]["tool_calls"][0]["id"] == "c1"
        for another in (each for each in WIRES if each is not wire):
            async with Wired(another).open() as server:
                await model_at(another, server).reply(Request(turns, Options(max_tokens=50)))
                body_text = server.requests[0].body.decode()
                assert SIGNED not in body_text
                assert "one and two" not in body_text
                assert "Let me add." in body_text

    run(main())


def test_thoughts_without_a_signature_are_not_sent_as_text() -> None:
    unsigned = [event for event in ANTHROPIC_CALL if "signature_delta" not in str(event)]

    async def main() -> None:
        script = [unsigned, [*ANTHROPIC.begin, *ANTHROPIC.end]]
        async with Wired(ANTHROPIC, script=script).open() as server:
            await ask(model_at(ANTHROPIC, server), THINK, tools=[add])
            assert "one and" not in server.requests[1].body.decode()

    run(main())


def test_thoughts_that_go_back_are_reserved_as_input() -> None:
    call = ToolCall("c1", "add", {})
    turn = Message("assistant", "", calls=(call,))
    marked = Message("assistant", "", calls=(call,), provider_state="x" * 1000)
    assert most_input(Request((marked,))) >= most_input(Request((turn,))) + 500


# -- servers that speak as OpenAI's chat does -----------------------------------------------------


@pytest.mark.parametrize("scheme", ["deepseek", "vllm", "groq"])
def test_reasoning_content_goes_back_with_calls_and_stays_on_later_ones(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DeepSeek refuses such a turn without it, Groq refuses it."""
    monkeypatch.setenv(f"{scheme.upper()}_API_KEY", "any")
    calls = (("add", {"a": 1, "b": 2}),)
    script: list[Answer | str] = [
        Answer(text="", reasoning="hm so", calls=calls),
        Answer(text="", calls=calls),
        "three",
    ]

    async def main() -> None:
        async with ScriptedServer(script) as server:
            model = connect({"name": f"{scheme}:any", "base_url": server.base_url})
            assert (await ask(model, "1 + 2?", tools=[add])).text == "three"
            turns = [each for each in server.bodies[2]["messages"] if each["role"] == "assistant"]
            sent = [each.get("reasoning_content") for each in turns]
            assert sent == ([None, None] if scheme == "groq" else ["hm so", ""])

    run(main())


def test_details_of_reasoning_go_back_whole_with_their_signature() -> None:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"model": "m", "choices": [{"delta": delta, "finish_reason": reason}]}

    def detail(**more: Any) -> dict[str, Any]:
        return chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, **more}]})

    function = {"name": "add", "arguments": CALL}
    calls = {"tool_calls": [{"index": 0, "id": "c1", "function": function}]}
    events = [
        detail(text="one and", signature=None),
        detail(text=" two", signature=None),
        detail(signature=SIGNED),
        chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 1}]}),
        chunk(calls, "tool_calls"),
    ]
    wire = Wire(
        name="openai:any", key="", path="", header=("", ""), begin=[], end=[], filtered=[]
    )  # fmt: skip

    async def main() -> None:
        script = [events, [chunk({"content": "three"}, "stop")]]
        async with Wired(wire, script=script).open() as server:
            assert (await ask(model_at(wire, server), "1 + 2?", tools=[add])).text == "three"
            (turn,) = [m for m in server.requests[1].json()["messages"] if m["role"] == "assistant"]
            assert turn["reasoning_details"] == [
                {"type": "reasoning.text", "index": 0, "text": "one and two", "signature": SIGNED},
                {"type": "reasoning.encrypted", "data": "x", "index": 1},
            ]

    run(main())


# -- log probabilities ----------------------------------------------------------------------------

TOP = [{"token": "fine", "logprob": -0.5, "bytes": []}, {"token": "good", "logprob": -1.5}]
LOGPROBS = [{"token": "fine", "logprob": -0.5, "bytes": [], "top_logprobs": TOP}]
GOOGLE_LOGPROBS = {
    "chosenCandidates": [{"token": "fine", "logProbability": -0.5, "tokenId": 1}],
    "topCandidates": [
        {
            "candidates": [
                {"token": "fine", "logProbability": -0.5, "tokenId": 1},
                {"token": "good", "logProbability": -1.5, "tokenId": 2},
            ]
        }
    ],
}
SAID = {"type": "output_text", "text": "fine", "annotations": [], "logprobs": LOGPROBS}
MESSAGE_DONE = ITEM | {"status": "completed", "content": [SAID]}
WITH_LOGPROBS = {
    "google:gemini-2.5-flash": (
        GOOGLE,
        [_google({"text": "fine"}, finishReason="STOP", logprobsResult=GOOGLE_LOGPROBS)],
    ),
    "openai-responses:gpt-4o-mini": (
        RESPONSES,
        _numbered(
            {"type": "response.created", "response": RESPONSE},
            _item("added", 0, ITEM),
            _said("fine", logprobs=LOGPROBS, output_index=0),
            {"type": "response.output_text.done", "text": "fine", "logprobs": LOGPROBS, **PLACE},
            _item("done", 0, MESSAGE_DONE),
            {"type": "response.completed", "response": RESPONSE | {"output": [MESSAGE_DONE]}},
        ),
    ),
}


@pytest.mark.parametrize("name", WITH_LOGPROBS)
def test_log_probabilities_are_read(name: str) -> None:
    wire, events = WITH_LOGPROBS[name]

    async def main() -> None:
        async with Wired(wire, script=[events]).open() as server:
            model = connect({"name": name, "base_url": server.url})
            request = Request((Message("user", "hi"),), Options(max_tokens=50, logprobs=2))
            reply = await ask(model, request)
            (token,) = reply.logprobs
            assert (token.token, token.logprob) == ("fine", -0.5)
            assert token.alternatives == {"fine": -0.5, "good": -1.5}

    run(main())


def test_what_is_written_to_the_cache_of_a_provider_is_counted_and_costs_more() -> None:
    usage = {"output_tokens": 9, "cache_creation_input_tokens": 1000, "input_tokens": 7}
    last = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    events = [*ANTHROPIC.begin, *ANTHROPIC.end[:-2], last, ANTHROPIC.end[-1]]

    async def main() -> None:
        async with Wired(ANTHROPIC, script=[events]).open() as server:
            model = model_at(ANTHROPIC, server)
            messages = (Message("system", "Be brief. " * 200), Message("user", "hello"))
            marked = Request(messages, Options(max_tokens=50, prompt_cache=True))
            reply = await ask(model, marked)
            assert reply.usage == Tokens(1007, 9, cache_written=1000)
            assert reply.usd == pytest.approx((7 * 1.0 + 1000 * 1.25 + 9 * 5.0) / 1e6)
            plain = model.estimate(Request(messages, Options(max_tokens=50)))
            most = model.estimate(marked)
            assert plain.usd is not None
            assert most.usd is not None
            assert most.usd - plain.usd == pytest.approx((plain.tokens - 50) * 0.25e-6)

    run(main())
