"""What goes over the wire of chat completions, and what is refused before anything does."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from fanwise import Budget, fan_out
from fanwise.errors import (
    BadOutput,
    ModelRateLimited,
    ModelRejected,
    ModelUnreachable,
    UsageError,
)
from fanwise.models import Message, Options, Reply, Request, ask, connect, output, schema_modes
from fanwise.models.clients import build, endpoint_of
from fanwise.models.names import Spec
from fanwise.models.port import File, Tokens, Tool, ToolCall
from fanwise.models.wires.wire import Endpoint, Reading
from fanwise.sampling import sample
from fanwise.testing import Answer, ScriptedServer

from .support import model_of, prompt, run

SCHEMA = {
    "type": "object",
    "properties": {"mood": {"enum": ["good", "bad"]}},
    "required": ["mood"],
    "additionalProperties": False,
}
GOOD = '{"mood":"good"}'


async def _bodies(request: Request, **spec: Any) -> dict[str, Any]:
    async with ScriptedServer(["ok"]) as server:
        await model_of(server, **spec).reply(request)
        return server.bodies[0]


# -- max_tokens ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "chosen", "sent"),
    [
        ("openai:gpt-5-mini", None, "max_tokens"),
        ("deepseek:deepseek-chat", None, "max_tokens"),
        ("ollama:qwen3", None, "max_tokens"),
        ("vllm:qwen3", None, "max_tokens"),
        ("openai:gpt-5-mini", "max_completion_tokens", "max_completion_tokens"),
    ],
)
def test_a_server_gets_the_field_that_it_obeys(
    name: str, chosen: str | None, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "any")
    body = run(_bodies(prompt(most=7), name=name, max_tokens_field=chosen))
    assert {key: body[key] for key in body if key.startswith("max")} == {sent: 7}


@pytest.mark.parametrize("name", ["openai:gpt-5-mini", "azure:gpt-5-mini"])
def test_openai_itself_gets_its_new_field(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "any")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com")
    wire: Any = build(endpoint_of(Spec(name)))
    body = wire._body(prompt(most=7), "prompt")
    assert {key: body[key] for key in body if key.startswith("max")} == {"max_completion_tokens": 7}


def test_a_budget_holds_at_a_server_that_knows_only_the_old_field() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: "word " * 500, obeys=["max_tokens"]) as server:
            budget = Budget(tokens=400)
            model = model_of(server)
            await fan_out(lambda _: ask(model, prompt(most=20)), range(30), cap=4, budget=budget)
            assert server.input_tokens + server.output_tokens == budget.spent["tokens"] <= 400

    run(main())


def test_a_reply_longer_than_its_reservation_is_charged_in_full_and_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> float:
        async with ScriptedServer(["word " * 199 + "end"], obeys=[]) as server:
            budget, model = Budget(tokens=400), model_of(server)
            await fan_out(lambda _: ask(model, prompt(most=20)), range(1), budget=budget)
            return budget.spent["tokens"]

    with caplog.at_level(logging.WARNING):
        assert run(main()) == 203
    [said] = [record.getMessage() for record in caplog.records]
    assert "openai:gpt-5-mini took 203 tokens where at most" in said
    assert "max_tokens_field" in said


@pytest.mark.parametrize("name", ["vllm:any", "ollama:any"])
def test_vllm_is_told_to_continue_a_prefill(name: str) -> None:
    asked = Request((Message("user", "hi"), Message("assistant", "Well,")))
    flags = {"continue_final_message": True, "add_generation_prompt": False}
    body = run(_bodies(asked, name=name))
    assert {key: body[key] for key in flags if key in body} == (flags if "vllm" in name else {})
    assert not flags.keys() & run(_bodies(prompt(), name=name)).keys()


# -- nothing is dropped --------------------------------------------------------------------------


def test_extra_fields_go_out_by_their_names() -> None:
    extra = {"openai_user": "me", "top_k": 3, "extra_body": {"min_p": 0.1}}
    body = run(_bodies(Request((Message("user", "hi"),), Options(extra=extra))))
    assert (body["user"], body["top_k"], body["min_p"]) == ("me", 3, 0.1)
    assert "extra_body" not in body


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (("robot", "hi"), "the role of a message is 'robot'"),
        (("user", ["hi"]), "the content of a message is"),
        (("tool", "42"), "answers a call"),
    ],
)
def test_a_message_that_cannot_be_sent_is_refused_when_it_is_made(
    message: tuple[Any, Any], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        Message(*message)


def test_messages_may_be_mappings_in_ask_and_in_sample() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: "ok") as server:
            model = model_of(server)
            messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "x"}]
            await ask(model, messages)
            assert (await sample(model, messages)).ok
            assert server.bodies[0]["messages"] == server.bodies[1]["messages"] == messages

    run(main())


@pytest.mark.parametrize("wrong", [[{"role": "user"}], [{"role": "u", "content": ""}], [7], 7])
def test_other_prompts_are_refused_at_once(wrong: Any) -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: "ok") as server:
            for refused in (ask(model_of(server), wrong), sample(model_of(server), wrong)):
                with pytest.raises(UsageError, match="message"):
                    await refused
            assert server.requests == []

    run(main())


@pytest.mark.parametrize("wrong", [["sim:a", "sim:b"], 7, None])
def test_what_is_no_model_is_refused_at_once(wrong: Any) -> None:
    for refused in (ask(wrong, "x"), sample(wrong, "x")):
        with pytest.raises(UsageError, match="a model is"):
            run(refused)


def test_the_log_probabilities_that_were_asked_for_can_be_read() -> None:
    async def main() -> Reply:
        async with ScriptedServer(["so be it"]) as server:
            options = Options(logprobs=2)
            return await ask(model_of(server), Request((Message("user", "x"),), options))

    reply = run(main())
    assert [each.token for each in reply.logprobs] == ["so", " be", " it"]
    assert reply.logprobs[1].logprob == -0.5
    assert reply.logprobs[1].alternatives == {" be0": 0, " be1": -1}
    assert Reply.from_json(reply.to_json()) == reply


# -- what a model can do -------------------------------------------------------------------------


def test_tools_go_out_and_their_calls_come_back_and_are_answered() -> None:
    tool = Tool("add", "Add two numbers.", {"type": "object", "properties": {"a": {}, "b": {}}})
    asked = Message("user", "1 + 2?")

    async def main() -> None:
        answers: list[Answer | str] = [Answer(text="", calls=(("add", {"a": 1, "b": 2}),)), "3"]
        async with ScriptedServer(answers) as server:
            model = model_of(server)
            first = await ask(model, Request((asked,), tools=(tool,)))
            assert first.calls == (ToolCall("call-0", "add", {"a": 1, "b": 2}),)
            assert first.finish_reason == "tool_call"
            assert Reply.from_json(first.to_json()) == first
            turns = (asked, Message("assistant", "", calls=first.calls), _answer("3"))
            assert (await ask(model, Request(turns, tools=(tool,)))).text == "3"
            function = {
                "name": "add", "description": tool.description, "parameters": tool.parameters,
            }  # fmt: skip
            assert server.bodies[0]["tools"] == [{"type": "function", "function": function}]
            assert server.bodies[1]["messages"][1:] == [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "call-0",
                            "type": "function",
                            "function": {"name": "add", "arguments": '{"a":1,"b":2}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "call-0", "content": "3"},
            ]

    run(main())


def _answer(text: str) -> Message:
    return Message("tool", text, call_id="call-0")


def test_images_and_documents_go_out_from_paths_bytes_and_addresses(tmp_path: Path) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(b"png")
    files = (
        File.of(picture),
        File.of("https://example.org/cat.jpg"),
        File.of(b"pdf", "application/pdf"),
    )
    body = run(_bodies(Request((Message("user", "what is this?", files=files),))))
    text, dot, cat, document = body["messages"][0]["content"]
    assert text == {"type": "text", "text": "what is this?"}
    assert dot["image_url"] == {"url": "data:image/png;base64,cG5n"}
    assert cat["image_url"] == {"url": "https://example.org/cat.jpg"}
    assert document["file"]["file_data"] == "data:application/pdf;base64,cGRm"


@pytest.mark.parametrize("source", [b"bytes", "no-such-file.png", "a file without a kind"])
def test_a_file_that_cannot_be_sent_is_refused_when_it_is_made(source: Any) -> None:
    with pytest.raises(UsageError):
        File.of(source)


def test_a_prefill_is_the_last_message_and_the_effort_is_sent() -> None:
    turns = (Message("user", "a rhyme"), Message("assistant", "Roses are"))
    body = run(_bodies(Request(turns, Options(reasoning="low"))))
    assert body["messages"][-1] == {"role": "assistant", "content": "Roses are"}
    assert body["reasoning_effort"] == "low"


def test_what_a_model_thought_is_apart_from_what_it_said() -> None:
    async def main() -> None:
        answers: list[Answer | str] = [
            Answer(text="42", reasoning="six by nine"),
            "<think>six by nine</think>\n42",
        ]
        async with ScriptedServer(answers) as server:
            for _ in answers:
                reply = await ask(model_of(server), prompt())
                assert (reply.text, reply.reasoning) == ("42", "six by nine")

    run(main())


def test_arguments_that_are_no_json_are_bad_output_with_its_cost() -> None:
    async def main() -> None:
        async with ScriptedServer([Answer(text="", calls=(("add", [1]),))]) as server:  # type: ignore[arg-type]
            with pytest.raises(BadOutput, match="arguments are no JSON object") as caught:
                await ask(model_of(server), prompt())
            assert caught.value.output_tokens is not None

    run(main())


# -- schemas -------------------------------------------------------------------------------------


def test_a_schema_is_compiled_once_for_many_calls() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: GOOD) as server:
            model = model_of(server)
            before = output._validator.cache_info().misses
            schema = {**SCHEMA, "title": "of this test"}
            asked = fan_out(lambda _: ask(model, prompt(schema=schema)), range(20))
            assert len((await asked).values()) == 20
            assert output._validator.cache_info().misses == before + 1

    run(main())


def _way(body: dict[str, Any]) -> str:
    if "response_format" in body:
        return str(body["response_format"]["type"])
    return "tool" if "tools" in body else "prompt"


def _good(body: dict[str, Any]) -> Answer:
    if "tools" in body:
        return Answer(text="", calls=(("reply", {"mood": "good"}),))
    return Answer(text=GOOD)


@pytest.mark.parametrize(
    ("takes", "ways"),
    [
        (["json_schema"], ["json_schema", "json_schema"]),
        (["json_object"], ["json_schema", "json_object", "json_object"]),
        (["tool"], ["json_schema", "json_object", "tool", "tool"]),
        ([], ["json_schema", "json_object", "tool", "prompt", "prompt"]),
    ],
)
def test_a_server_that_refuses_a_form_gets_the_next_and_it_is_remembered(
    takes: list[str], ways: list[str]
) -> None:
    async def main() -> None:
        async with ScriptedServer(_good, takes=takes) as server:
            model, budget = model_of(server), Budget(requests=10)

            async def twice(_: int) -> list[Any]:
                return [(await ask(model, prompt(schema=SCHEMA), retry=0)).value for _ in range(2)]

            outcomes = await fan_out(twice, range(1), budget=budget)
            assert outcomes.values() == [[{"mood": "good"}] * 2]
            assert [_way(body) for body in server.bodies] == ways
            calls = [attempt for attempt in outcomes[0].attempts if attempt.call]
            assert len(calls) == budget.spent["requests"] == len(ways)

    run(main())


@pytest.mark.parametrize("way", ["json_schema", "json_object", "tool", "prompt"])
def test_the_form_can_be_chosen_and_then_there_is_no_other(way: str) -> None:
    async def main() -> None:
        async with ScriptedServer(_good) as server, ScriptedServer(_good, takes=[]) as strict:
            model = model_of(server, schema_mode=way)
            assert (await ask(model, prompt(schema=SCHEMA))).value == {"mood": "good"}
            assert _way(server.bodies[0]) == way
            in_words = "mood" in str(server.bodies[0]["messages"])
            assert in_words == (way in ("json_object", "prompt"))
            if way != "prompt":
                with pytest.raises(ModelRejected):
                    await ask(model_of(strict, schema_mode=way), prompt(schema=SCHEMA))
                assert len(strict.requests) == 1

    run(main())


def test_a_rejection_for_another_reason_changes_nothing() -> None:
    async def main() -> None:
        answers: list[Answer | str] = [Answer(status=400, message="the context is too long"), GOOD]
        async with ScriptedServer(answers) as server:
            model = model_of(server)
            with pytest.raises(ModelRejected, match="too long"):
                await ask(model, prompt(schema=SCHEMA))
            await ask(model, prompt(schema=SCHEMA))
            assert [_way(body) for body in server.bodies] == ["json_schema"] * 2

    run(main())
    assert all("127.0.0.1" in repr(each) for each, _ in schema_modes._refused)


# -- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "17"}, 17.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "Retry-After": "99"}, 1.5),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_a_429_says_when_to_come_back_in_every_form(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert run(_after(headers)) == seconds


def test_a_429_may_say_it_by_a_date() -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    after = run(_after({"Retry-After": then}))
    assert after is not None and 3000 < after <= 3600


async def _after(headers: dict[str, str]) -> float | None:
    async with ScriptedServer([Answer(status=429, headers=headers)]) as server:
        with pytest.raises(ModelRateLimited) as caught:
            await model_of(server).reply(prompt())
        return caught.value.retry_after


def test_a_server_that_wants_the_other_field_is_answered_with_what_to_set() -> None:
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."

    async def main() -> None:
        async with ScriptedServer([Answer(status=400, message=message)]) as server:
            with pytest.raises(ModelRejected) as caught:
                await ask(model_of(server), prompt())
            assert "max_tokens_field: max_completion_tokens" in caught.value.next_step

    run(main())


@pytest.mark.parametrize("scheme", ["local", "openai"])
def test_a_connection_to_a_local_server_carries_one_request(scheme: str) -> None:
    """llama.cpp's server may close a kept connection just as the next request arrives."""

    async def main() -> list[str | None]:
        async with ScriptedServer(["one", "two"]) as server:
            wire = build(Endpoint(scheme, "m", server.base_url, "key"))
            for _ in range(2):
                await wire.read(prompt(), Reading(), "prompt")
            await wire.close()
            return [request.headers.get("connection") for request in server.requests]

    assert run(main()) == [{"local": "close", "openai": "keep-alive"}[scheme]] * 2


def test_cached_and_reasoning_tokens_are_told_apart() -> None:
    from fanwise.models.wires.openai_chat import _tokens

    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    assert _tokens(usage, known=True) == Tokens(10, 5, 4, 3)
    assert _tokens({"prompt_tokens": 9, "prompt_cache_hit_tokens": 8}, known=True).cached == 8


# -- servers that say nonsense -------------------------------------------------------------------


def event(delta: Any = None, **fields: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, **fields.pop("choice", {})}]
    return b"data: " + json.dumps({"model": "m", "choices": choices, **fields}).encode() + b"\n\n"


async def said_by(*events: bytes, **options: Any) -> tuple[Reply, Budget]:
    """The reply to a server that sends just this, and what it cost."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        writer.write(b"".join([head, *events, b"data: [DONE]\n\n"]))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port, budget = server.sockets[0].getsockname()[1], Budget(tokens=1000, usd=1)
    model = connect({"name": "openai:gpt-5-mini", "base_url": f"http://127.0.0.1:{port}/v1"})
    request = Request((Message("user", "hi"),), Options(max_tokens=50, **options))
    async with server:
        outcomes = await fan_out(lambda _: ask(model, request, retry=0), [0], budget=budget)
    return outcomes[0].unwrap(), budget


HI, END = event({"content": "hi"}), event({}, choice={"finish_reason": "stop"})


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -5, "completion_tokens": -7},
        {"prompt_tokens": "a", "completion_tokens": "b"},
        {"prompt_tokens": float("nan"), "completion_tokens": 1},
        {"prompt_tokens": 10**30, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": 5, "completion_tokens": 0},
        [1, 2],
    ],
)
def test_tokens_that_cannot_be_true_are_unknown_and_the_reservation_counts(usage: Any) -> None:
    reply, budget = run(said_by(HI, END, event(usage=usage)))
    assert (reply.text, reply.usage.total, reply.usd) == ("hi", None, None)
    assert budget.spent["tokens"] == 67, "what was reserved"


def test_not_more_can_come_from_the_cache_than_was_sent() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    reply, _ = run(
        said_by(HI, END, event(usage=usage | {"prompt_tokens_details": {"cached_tokens": 500}}))
    )
    assert (reply.usage.input, reply.usage.cached) == (5, 5)
    reply, _ = run(said_by(HI, END, event(usage=usage | {"prompt_tokens_details": 7})))
    assert (reply.usage.total, reply.usage.cached) == (6, 0)


def test_a_probability_that_is_no_number_is_none_and_survives_the_journal() -> None:
    odd = [
        {"token": "h", "logprob": float("nan"), "top_logprobs": [{"token": "a", "logprob": None}]},
        {"token": "i", "logprob": float("-inf"), "top_logprobs": [{"token": "b", "logprob": -1}]},
    ]
    choice = {"logprobs": {"content": odd}}
    reply, _ = run(said_by(event({"content": "hi"}, choice=choice), END, logprobs=1))
    assert [each.logprob for each in reply.logprobs] == [None, None]
    assert [each.alternatives for each in reply.logprobs] == [{}, {"b": -1}]
    assert Reply.from_json(json.loads(json.dumps(reply.to_json()))) == reply


@pytest.mark.parametrize(
    "nonsense",
    [
        b"data: 7\n\n",
        b"data: [1]\n\n",
        b'data: {"choices": "abc"}\n\n',
        event([1]),
        event({"content": 7}),
        event({"tool_calls": "abc"}),
        event({"tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}),
        event({"content": "hi"}, choice={"logprobs": {"content": [{"tok": 1}]}}),
    ],
)
def test_what_is_no_chunk_is_an_error_of_ours(nonsense: bytes) -> None:
    with pytest.raises(ModelUnreachable, match="no stream of events"):
        run(said_by(nonsense, END))


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_tokens": 0}, {"max_tokens": -3}, {"max_tokens": 2.5}, {"max_tokens": True},
        {"logprobs": -1}, {"temperature": float("nan")}, {"top_p": "x"}, {"stop": "END"},
        {"reasoning": "hgih"},
    ],
)  # fmt: skip
def test_options_that_bound_nothing_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(wrong))} is "):
        Options(**wrong)


@pytest.mark.parametrize("reference", ["#/nowhere", "http://127.0.0.1:9/schema.json"])
def test_a_schema_that_refers_to_something_else_is_refused_and_nothing_is_fetched(
    reference: str,
) -> None:
    async def main() -> None:
        async with ScriptedServer(["{}"]) as server:
            wrong = {"type": "object", "properties": {"a": [{"$ref": reference}][0]}}
            with pytest.raises(UsageError, match="the schema refers to"):
                await ask(model_of(server), prompt(schema=wrong))
            assert server.requests == []

    run(main())


def test_one_schema_that_a_server_refuses_does_not_cost_the_others_their_mode() -> None:
    def schema(**more: Any) -> dict[str, Any]:
        return {"type": "object", "properties": {"a": {"type": "array", **more}}}

    def answer(body: dict[str, Any]) -> Answer | str:
        form = body.get("response_format", {})
        if form.get("type") == "json_schema" and "uniqueItems" in str(form):
            return Answer(status=400, message="Invalid schema: uniqueItems is not permitted")
        return '{"a": [1]}'

    async def main() -> None:
        async with ScriptedServer(answer) as server:
            model = model_of(server)
            good, bad, worse = schema(), schema(uniqueItems=True), schema(uniqueItems=False)
            for each in (bad, good, bad, worse, good, worse):
                await ask(model, Request((Message("user", "?"),), schema=each))
            whole, plain = "json_schema", "json_object"
            sent = [body["response_format"]["type"] for body in server.bodies]
            assert sent == [whole, plain, whole, plain, whole, plain, whole, plain]

    run(main())


def test_a_mode_that_was_refused_for_two_schemas_and_never_taken_is_given_up() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: '{"a": 1}', takes=["json_object"]) as server:
            model = model_of(server)
            for name in "abc":
                schema = {"type": "object", "properties": {name: {}}}
                await ask(model, Request((Message("user", "?"),), schema=schema))
            sent = [body["response_format"]["type"] for body in server.bodies]
            assert sent == ["json_schema", "json_object"] * 2 + ["json_object"]

    run(main())


A = {"a": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Here is the JSON: ```json {"a": 1} ```', A),
        ('```json\r\n{"a": 1}\r\n```\r\nBye', A),
        ('```{"a": 1}```', A),
        ('~~~json\n{"a": 1}\n~~~', A),
        ('```JSONC\n{"a": 1}\n```', A),
        ('```python\n{"b": 1}\n```\nThen\n```json\n{"a": 1}\n```', A),
        ('```\n{"b": 1}\n```\nor\n```\n{"a": 1}\n```', A),
        ('{"a": 1}\nFor example:\n```\nfoo\n```', A),
        ('{"a": 1} ```json\n{"b": 1}\n```', A),
        ('```json\n{"a": 1, "b": "```py\\nx\\n```"}\n```', {"a": 1, "b": "```py\nx\n```"}),
        ('```json\n{"b": 1}\n```', "$: 'a' is a required property"),
        ('```json\n{"a": "x\n```', "not JSON"),
        ("```python\nx = 1\n```\n3 reasons", "not JSON"),
    ],
)
def test_json_is_read_from_any_fence_the_first_that_matches(text: str, value: Any) -> None:
    schema = {"required": ["a"]}
    if isinstance(value, str):
        with pytest.raises(output.Mismatch) as caught:
            output.parse(text, schema)
        assert value in str(caught.value)
    else:
        assert output.parse(text, schema) == value


def test_a_fenced_word_or_number_is_whole() -> None:
    assert output.parse("```json\n5\n```", {"type": "integer"}) == 5
    with pytest.raises(output.Mismatch):
        output.parse("```\n5 apples\n```", {"type": "integer"})
