"""The providers that do not speak as OpenAI does, each against a server that speaks its language.

Their SDKs are others, with other defaults: retries, errors, headers, ends of streams. What is
promised of `openai:` must hold over their wires too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import warnings
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

import msgspec
import pytest

from fanwise.errors import (
    ModelError,
    ModelNotReady,
    ModelOverloaded,
    ModelQuota,
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelUnreachable,
    ReplyTooLong,
    UsageError,
)
from fanwise.journal.codec import encode_error
from fanwise.models import Message, Model, Options, Request, Tokens, Tool, ToolCall, connect
from fanwise.models.clients import SILENCE_S, build, endpoint_of
from fanwise.models.names import Spec
from fanwise.models.wires import wire as wires
from fanwise.testing import Answer, ScriptedServer
from fanwise.testing.http import Connection, HttpRequest

from .support import prompt, run

CANARY = "sk-canary-0123456789abcdef"


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider says and wants to hear: as little of it as its SDK can do with."""

    name: str
    key: str
    path: str
    header: tuple[str, str]
    """Where the key belongs, and what stands before it."""
    begin: list[dict[str, Any]]
    """Ends with the first word."""
    end: list[dict[str, Any]]
    filtered: list[dict[str, Any]]
    """An end instead: the provider's filter cut in."""
    done: bytes = b""

    def error(self, status: int, message: str) -> dict[str, Any]:
        """An error's body."""
        if self.name.startswith("anthropic"):
            return {"type": "error", "error": {"type": "api_error", "message": message}}
        if self.name.startswith("google"):
            return {"error": {"code": status, "message": message, "status": "UNKNOWN"}}
        return {"object": "error", "message": message, "type": "error", "code": str(status)}


def _anthropic_end(reason: str) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        _anthropic_text(" thank you"),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]


def _anthropic_text(text: str) -> dict[str, Any]:
    delta = {"type": "text_delta", "text": text}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def _google(text: str, output: int, reason: str | None = None) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    return {
        "candidates": [candidate | ({"finishReason": reason} if reason else {})],
        "usageMetadata": {
            "promptTokenCount": 7,
            "candidatesTokenCount": output,
            "totalTokenCount": 7 + output,
        },
        "modelVersion": "gemini-2.5-flash",
        "responseId": "g",
    }


def _mistral(text: str, reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    model = "mistral-small-latest"
    return {"id": "m", "object": "c", "created": 1, "model": model, "choices": [choice], **more}


MISTRAL_USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}

ANTHROPIC = Wire(
    name="anthropic:claude-haiku-4-5",
    key="ANTHROPIC_API_KEY",
    path="/v1/messages",
    header=("authorization", "Bearer "),
    begin=[
        {
            "type": "message_start",
            "message": {
                "id": "a",
                "type": "message",
                "role": "assistant",
                "model": "claude-haiku-4-5",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 7, "output_tokens": 1},
            },
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
        _anthropic_text("fine"),
    ],
    end=_anthropic_end("end_turn"),
    filtered=_anthropic_end("refusal"),
)
GOOGLE = Wire(
    name="google:gemini-2.5-flash",
    key="GOOGLE_API_KEY",
    path="/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    header=("x-goog-api-key", ""),
    begin=[_google("fine", 1)],
    end=[_google(" thank you", 3, "STOP")],
    filtered=[_google(" thank you", 3, "SAFETY")],
)
MISTRAL = Wire(
    name="mistral:mistral-small-latest",
    key="MISTRAL_API_KEY",
    path="/v1/chat/completions",
    header=("authorization", "Bearer "),
    begin=[_mistral("fine")],
    end=[_mistral(" thank you", "stop", usage=MISTRAL_USAGE)],
    filtered=[],
    done=b"data: [DONE]\n\n",
)
WIRES = [ANTHROPIC, GOOGLE, MISTRAL]
each_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name.split(":")[0])


class Wired:
    """A server of one provider. It answers every request alike, or by a `script` of events."""

    def __init__(self, wire: Wire, **does: Any) -> None:
        self.requests: list[HttpRequest] = []
        self.gone = asyncio.Event()
        """A client went before its answer was complete."""
        self.amid = asyncio.Event()
        """A stream is held after its first word."""
        self.url = ""
        self._wire = wire
        self._does = does

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Wired]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while (request := await connection.request()) is not None:
                self.requests.append(request)
                if not await self._answer(connection, writer):
                    break
        await connection.close()

    async def _answer(self, connection: Connection, writer: asyncio.StreamWriter) -> bool:
        status = self._does.get("status", 200)
        if status != 200:
            body = self._wire.error(status, self._does.get("message", "scripted"))
            await connection.send_json(status, body, self._does.get("headers", {}))
            return True
        if self._does.get("hold") == "before":
            return await self._hold(connection)
        await connection.begin_events()
        script = self._does.get("script")
        await _say(writer, script[len(self.requests) - 1] if script else self._wire.begin)
        if self._does.get("hold") == "amid":
            return await self._hold(connection)
        if self._does.get("flood"):
            return await self._flood(writer)
        await _say(writer, self._does.get("then", []))
        if self._does.get("cut"):
            connection.cut()
            return False
        if not script:
            last = self._wire.filtered if self._does.get("filtered") else self._wire.end
            await _say(writer, last)
        if self._wire.done:
            writer.write(_chunk(self._wire.done))
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _flood(self, writer: asyncio.StreamWriter) -> bool:
        """One event without an end, until the client has gone."""
        try:
            writer.write(_chunk(b"data: "))
            while True:
                writer.write(_chunk(self._does["flood"]))
                await writer.drain()
        finally:
            self.gone.set()

    async def _hold(self, connection: Connection) -> bool:
        self.amid.set()
        await connection.gone()
        self.gone.set()
        return False


async def _say(writer: asyncio.StreamWriter, events: list[dict[str, Any]]) -> None:
    for event in events:
        name = f"event: {event['type']}\n".encode() if "type" in event else b""
        writer.write(_chunk(name + b"data: " + msgspec.json.encode(event) + b"\n\n"))
    await writer.drain()


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@pytest.fixture(autouse=True, scope="module")
def _google_compiled() -> None:
    """Its source has escapes that Python warns of when it compiles them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module("google.genai")


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch, _no_keys: None) -> None:
    for wire in WIRES:
        monkeypatch.setenv(wire.key, CANARY)


def model_at(wire: Wire, server: Wired, **fields: Any) -> Model:
    return connect({"name": wire.name, "base_url": server.url, **fields})


@each_wire
def test_a_reply_has_text_usage_dollars_and_reason_and_is_one_request(wire: Wire) -> None:
    async def main() -> None:
        async with Wired(wire).open() as server:
            model = model_at(wire, server)
            for _ in range(2):
                reply = await model.reply(prompt())
                assert (reply.text, reply.model) == ("fine thank you", wire.name.partition(":")[2])
                assert (reply.usage, reply.finish_reason) == (Tokens(7, 3), "stop")
                assert reply.usd
                assert reply.first_token_s is not None
            assert [request.path for request in server.requests] == [wire.path] * 2

    run(main())


@each_wire
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, ModelRateLimited),
        (402, ModelQuota),
        (500, ModelOverloaded),
        (503, ModelOverloaded),
        (529, ModelOverloaded),
        (400, ModelRejected),
        (401, ModelRejected),
        (404, ModelRejected),
    ],
)
def test_each_status_is_one_request_and_an_error_of_its_kind(
    status: int, kind: type[ModelError], wire: Wire
) -> None:
    async def main() -> None:
        headers = {"Retry-After": "17"}
        async with Wired(wire, status=status, headers=headers, message="so it is").open() as server:
            with pytest.raises(ModelError) as caught:
                await model_at(wire, server).reply(prompt())
            error = caught.value
            assert type(error) is kind
            assert (error.status, error.model) == (status, wire.name)
            assert (error.input_tokens, error.output_tokens, error.usd) == (0, 0, 0.0)
            assert error.__cause__ is None
            assert str(error).startswith(f"{wire.name}: so it is")
            if isinstance(error, ModelRateLimited | ModelOverloaded):
                assert error.retry_after == 17.0
            assert len(server.requests) == 1

    run(main())


@each_wire
def test_a_status_without_a_time_to_come_back_has_none(wire: Wire) -> None:
    async def main() -> None:
        async with Wired(wire, status=429).open() as server:
            with pytest.raises(ModelRateLimited) as caught:
                await model_at(wire, server).reply(prompt())
            assert caught.value.retry_after is None

    run(main())


@each_wire
def test_a_cut_stream_is_unreachable_with_unknown_output_and_one_request(wire: Wire) -> None:
    async def main() -> None:
        async with Wired(wire, cut=True).open() as server:
            with pytest.raises(ModelUnreachable) as caught:
                await model_at(wire, server).reply(prompt())
            assert caught.value.output_tokens is None
            assert len(server.requests) == 1

    run(main())


@pytest.mark.parametrize(
    ("wire", "event"),
    [
        (
            ANTHROPIC,
            {"type": "error", "error": {"type": "overloaded_error", "message": "so it is"}},
        ),
        (GOOGLE, {"error": {"code": 503, "message": "so it is", "status": "UNAVAILABLE"}}),
    ],
    ids=["anthropic", "google"],
)
def test_an_error_amid_the_stream_is_of_its_kind_and_what_it_cost_is_unknown(
    wire: Wire, event: dict[str, Any]
) -> None:
    async def main() -> None:
        async with Wired(wire, then=[event]).open() as server:
            with pytest.raises(ModelOverloaded, match="so it is") as caught:
                await model_at(wire, server).reply(prompt())
            assert (caught.value.input_tokens, caught.value.output_tokens) == (7, None)
            assert caught.value.usd is None
            assert len(server.requests) == 1

    run(main())


@each_wire
def test_nobody_there_is_unreachable_and_costs_nothing(wire: Wire) -> None:
    async def main() -> None:
        async with Wired(wire).open() as server:
            pass
        with pytest.raises(ModelUnreachable) as caught:
            await model_at(wire, server).reply(prompt())
        assert (caught.value.input_tokens, caught.value.usd) == (0, 0.0)

    run(main())


@pytest.mark.parametrize("wire", [ANTHROPIC, GOOGLE], ids=["anthropic", "google"])
def test_a_filter_that_cuts_in_is_a_refusal_with_its_cost(wire: Wire) -> None:
    """Mistral has no such reason to finish."""

    async def main() -> None:
        async with Wired(wire, filtered=True).open() as server:
            with pytest.raises(ModelRefused) as caught:
                await model_at(wire, server).reply(prompt())
            assert (caught.value.input_tokens, caught.value.output_tokens) == (7, 3)
            assert caught.value.usd

    run(main())


@each_wire
@pytest.mark.parametrize("where", ["before", "amid"])
def test_a_cancel_closes_the_connection_wherever_it_falls(where: str, wire: Wire) -> None:
    """After so many turns of the loop: also between the head of an answer and its stream."""

    async def main() -> None:
        async with Wired(wire, hold=where).open() as server:
            model = model_at(wire, server)
            for turns in (*range(12), 200):
                server.amid.clear()
                server.gone.clear()
                task = asyncio.create_task(model.reply(prompt()))
                await server.amid.wait()
                for _ in range(turns):
                    await asyncio.sleep(0)
                assert not server.gone.is_set()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await server.gone.wait()
            assert len(server.requests) == 13

    run(main())


@each_wire
def test_a_model_can_be_used_from_one_loop_after_another(wire: Wire) -> None:
    """The warnings of a connection that leaked would be errors here."""

    async def main() -> None:
        async with Wired(wire).open() as server:
            assert (await model_at(wire, server).reply(prompt())).text

    run(main())
    run(main())


@each_wire
def test_the_key_is_in_its_header_and_nowhere_else(
    wire: Wire, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.delenv(wire.key)
    monkeypatch.setenv("KEY_OF_MY_OWN", CANARY)

    async def main() -> list[str]:
        seen = []
        name, before = wire.header
        for does in ({}, {"status": 401, "message": f"Incorrect API key: {CANARY}"}):
            async with Wired(wire, **does).open() as server:
                model = model_at(wire, server, api_key_env="KEY_OF_MY_OWN")
                seen += [repr(model), str(vars(model))]
                try:
                    seen.append(repr(await model.reply(prompt())))
                except ModelRejected as error:
                    seen += [repr(error), str(vars(error)), encode_error(error)]
                [request] = server.requests
                assert request.headers.pop(name) == before + CANARY
                seen.append(repr(request))
        return seen

    seen = run(main())
    assert len(seen) == 10
    assert any("[key]" in text for text in seen)
    assert [text for text in [*seen, caplog.text] if CANARY in text] == []


def test_a_silent_mistral_is_given_up_no_sooner_than_the_others() -> None:
    """Its SDK overrides what its HTTP client was told."""
    wire: Any = build(endpoint_of(Spec(MISTRAL.name)))
    assert wire.model.client.sdk_configuration.timeout_ms == SILENCE_S * 1000
    asyncio.run(wire.close())


@each_wire
def test_a_missing_key_is_said_with_its_variable_also_for_a_server_of_ones_own(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(wire.key)
    spec = {"name": wire.name, "base_url": "http://127.0.0.1:9"}
    with pytest.raises(ModelNotReady, match=f"{wire.key} is not set"):
        connect(spec)
    with pytest.raises(ModelNotReady, match="NOT_SET_9 is not set"):
        connect({**spec, "api_key_env": "NOT_SET_9"})


def test_anthropic_honours_its_base_url_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with Wired(ANTHROPIC).open() as server:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            assert (await connect(ANTHROPIC.name).reply(prompt())).text == "fine thank you"

    run(main())


# -- those that speak as OpenAI does --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "variable"),
    [("deepseek:deepseek-chat", "DEEPSEEK_API_KEY"), ("ollama:qwen3", "OLLAMA_API_KEY")],
)
def test_deepseek_and_ollama_send_their_own_key_to_the_address_of_the_spec(
    name: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, CANARY)
    monkeypatch.setenv("OPENAI_API_KEY", "not-this-one")

    async def main() -> None:
        answers: list[Answer | str] = ["fine thank you", Answer(status=429, retry_after=17), "no"]
        async with ScriptedServer(answers) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/not-here")
            model = connect({"name": name, "base_url": server.base_url})
            reply = await model.reply(prompt())
            assert (reply.text, reply.usage) == ("fine thank you", Tokens(3, 3))
            assert (reply.model, reply.finish_reason) == (name.partition(":")[2], "stop")
            with pytest.raises(ModelRateLimited) as caught:
                await model.reply(prompt())
            assert caught.value.retry_after == 17.0
            sent = [request.headers["authorization"] for request in server.requests]
            assert sent == [f"Bearer {CANARY}"] * 2
            assert CANARY not in repr(model) + str(vars(model)) + repr(caught.value)

    run(main())


def test_ollama_honours_its_base_url_variable_and_needs_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)

    async def main() -> None:
        async with ScriptedServer(["ok"]) as server:
            monkeypatch.setenv("OLLAMA_BASE_URL", server.base_url)
            assert (await connect("ollama:qwen3").reply(prompt())).text == "ok"
            assert CANARY not in str(server.requests[0].headers)

    run(main())


def test_deepseek_needs_its_key_also_for_a_server_of_ones_own() -> None:
    with pytest.raises(ModelNotReady, match="DEEPSEEK_API_KEY is not set"):
        connect({"name": "deepseek:deepseek-chat", "base_url": "http://127.0.0.1:9/v1"})


def test_a_mark_for_the_prompt_cache_goes_where_the_provider_wants_one() -> None:
    async def main() -> None:
        async with Wired(ANTHROPIC).open() as server:
            messages = (Message("system", "Be brief. " * 50), Message("user", "hello"))
            for marked in (False, True):
                request = Request(messages, Options(max_tokens=50, prompt_cache=marked))
                await model_at(ANTHROPIC, server).reply(request)
                assert (b"cache_control" in server.requests[-1].body) is marked

    run(main())


@each_wire
def test_tools_and_their_answers_go_out_in_the_words_of_each_provider(wire: Wire) -> None:
    call = ToolCall("c1", "add", {"a": 1})
    tool = Tool("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})
    messages = (
        Message("user", "1 + 1?"),
        Message("assistant", "", calls=(call,)),
        Message("tool", "it is two", call_id="c1"),
    )

    async def main() -> None:
        async with Wired(wire).open() as server:
            await model_at(wire, server).reply(
                Request(messages, Options(max_tokens=50), tools=(tool,))
            )
            body = server.requests[0].body.decode()
            assert body.count('"add"') >= 2, "declared, and called"
            assert "it is two" in body

    run(main())


@each_wire
def test_a_setting_that_the_provider_does_not_know_is_sent_or_refused(wire: Wire) -> None:
    """Anthropic's client takes fields of the body; the others' do not."""

    async def main() -> None:
        async with Wired(wire).open() as server:
            request = Request((Message("user", "hi"),), Options(extra={"no_such_field": 12345}))
            if wire is ANTHROPIC:
                await model_at(wire, server).reply(request)
                assert b"12345" in server.requests[0].body
            else:
                with pytest.raises(UsageError, match="no_such_field"):
                    await model_at(wire, server).reply(request)
                assert server.requests == []

    run(main())


@each_wire
def test_a_reply_without_an_end_is_cut_at_the_limit(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wires, "MOST_REPLY", 6)  # "fine thank you" is longer

    async def main() -> None:
        async with Wired(wire).open() as server:
            with pytest.raises(ReplyTooLong, match="more than 6 characters"):
                await model_at(wire, server).reply(prompt())

    run(main())


CHAT = Wire(
    name="openai:gpt-5-mini",
    key="OPENAI_API_KEY",
    path="/chat/completions",
    header=("authorization", "Bearer "),
    begin=[{"model": "gpt-5-mini", "choices": [{"delta": {"content": "fine"}}]}],
    end=[],
    filtered=[],
)


@pytest.mark.parametrize("flood", [b"x" * 60_000, b"data: x\n" * 8_000], ids=["line", "lines"])
@pytest.mark.parametrize("wire", [CHAT, *WIRES], ids=lambda wire: wire.name.split(":")[0])
def test_an_event_without_an_end_is_cut_at_the_limit_and_the_connection_closed(
    wire: Wire, flood: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wires, "MOST_EVENT", 1_000_000)

    async def main() -> None:
        async with Wired(wire, flood=flood).open() as server:
            with pytest.raises(ReplyTooLong, match="more than 1,000,000 bytes in one event"):
                await model_at(wire, server).reply(prompt())
            await server.gone.wait()

    run(main(), within_s=60)


@pytest.mark.parametrize("status", [200, 400])
def test_a_long_reply_in_short_events_is_read_and_an_endless_error_is_not(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wires, "MOST_EVENT", 1_000)

    async def main() -> None:
        long = Answer(text="word " * 2_000, status=status, message="x" * 5_000)
        async with ScriptedServer([long]) as server:
            model = connect({"name": "openai:any", "base_url": server.base_url})
            if status == 200:
                assert len((await model.reply(prompt(most=5_000))).text.split()) == 2_000
            else:
                with pytest.raises(ReplyTooLong):
                    await model.reply(prompt())

    run(main())


CHOICES: dict[str, dict[str, Any]] = {
    "anthropic": {
        "": {"type": "auto"},
        "required": {"type": "any"},
        "none": {"type": "none"},
        "add": {"type": "tool", "name": "add"},
    },
    "google": {
        "": {"mode": "VALIDATED"},
        "required": {"mode": "ANY"},
        "none": {"mode": "NONE"},
        "add": {"mode": "ANY", "allowedFunctionNames": ["add"]},
    },
    "mistral": {
        "": "auto",
        "required": "any",
        "none": None,
        "add": {"type": "function", "function": {"name": "add"}},
    },
}


@pytest.mark.parametrize("choice", ["required", "none", "add", None])
@each_wire
def test_the_choice_of_a_tool_goes_out_in_the_words_of_each_provider(
    wire: Wire, choice: str | None
) -> None:
    one, other = (Tool(name, "", {"type": "object", "properties": {}}) for name in ("add", "sub"))

    async def main() -> None:
        async with Wired(wire).open() as server:
            options = Options(max_tokens=50, tool_choice=choice)
            request = Request((Message("user", "1 + 1?"),), options, tools=(one, other))
            await model_at(wire, server).reply(request)
            body = server.requests[0].json()
            scheme = wire.name.partition(":")[0]
            sent = body.get("tool_choice")
            if scheme == "google":
                sent = body.get("toolConfig", {}).get("functionCallingConfig")
            assert sent == CHOICES[scheme][choice or ""]
            offered = ["add", "sub"] if (scheme, choice) != ("mistral", "none") else []
            assert [name for name in ("add", "sub") if f"'{name}'" in str(body)] == offered

    run(main())
