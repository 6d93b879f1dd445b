"""What a provider cannot be told is refused by name, or a warning names it; never silence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from fanwise.errors import BadOutput, ModelRejected, UsageError
from fanwise.models import File, Message, Options, Reply, Request, Tool, ToolCall, ask
from fanwise.models.wires.wire import FINER, OURS, warn_not_sent
from fanwise.testing import ScriptedModel, virtual_time

from .features import RESPONSES
from .support import run
from .test_other_providers import ANTHROPIC, CHAT, GOOGLE, MISTRAL, Wire, Wired, _keys, model_at

__all__ = ["_keys"]
FAMILIES = [CHAT, ANTHROPIC, GOOGLE, MISTRAL, RESPONSES]
each_family = pytest.mark.parametrize("wire", FAMILIES, ids=lambda wire: wire.name.split(":")[0])
USER = Message("user", "hello")
PREFIXES = {"openai": "openai_", "openai-responses": "openai_"}


@pytest.fixture(autouse=True)
def _openai_key(monkeypatch: pytest.MonkeyPatch, _keys: None) -> Iterator[None]:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    warn_not_sent.cache_clear()
    yield
    warn_not_sent.cache_clear()


async def sent(wire: Wire, request: Request) -> str:
    """What the server got of it. Its answer to a chat is too short to be one."""
    async with Wired(wire).open() as server:
        await model_at(wire, server).reply(request)
        return server.requests[0].body.decode()


async def refused(wire: Wire, request: Request, kind: type[Exception] = UsageError) -> str:
    """The error, which comes before anything is sent."""
    async with Wired(wire).open() as server:
        with pytest.raises(kind) as caught:
            await ask(model_at(wire, server), request)
        assert server.requests == []
        return str(caught.value)


@each_family
def test_extra_cannot_override_what_has_a_place_of_its_own(wire: Wire) -> None:
    scheme = wire.name.split(":")[0]
    prefix = PREFIXES.get(scheme, f"{scheme}_")

    async def main() -> None:
        async with Wired(wire).open() as server:
            model = model_at(wire, server)
            for name, step in OURS.items():
                for extra in ({name: 1}, {f"{prefix}{name}": 1}, {"extra_body": {name: 1}}):
                    with pytest.raises(UsageError) as caught:
                        await model.reply(Request((USER,), Options(extra=extra)))
                    assert f"{name}'" in str(caught.value)
                    assert str(caught.value).endswith(step)
            assert server.requests == []

    run(main())


@pytest.mark.parametrize(
    "name",
    [
        *("temperature", "top_p", "stop", "stop_sequences", "seed", "reasoning_effort", "tools"),
        *("logprobs", "top_logprobs", "max_tokens", "max_completion_tokens", "tool_choice"),
        *("response_format", "model", "messages", "stream", "n", "functions", "max_output_tokens"),
    ],
)
def test_every_field_that_options_and_requests_set_is_among_those(name: str) -> None:
    assert name in OURS


def test_no_field_that_the_chat_wire_sends_can_be_overridden() -> None:
    """By the body itself: whatever it may have, `extra` may not."""
    everything = Options(0.5, 0.5, 9, ("x",), {}, "low", 2, tool_choice="auto")
    schema = {"type": "object", "properties": {}}
    request = Request((USER,), everything, schema, 7, (Tool("add", "Add.", schema),))

    async def main() -> None:
        async with Wired(CHAT).open() as server:
            with pytest.raises(BadOutput):  # it says "fine"
                await model_at(CHAT, server).reply(request)
            body = server.requests[0].json()
            assert len(body) == 15
            assert body.keys() <= OURS.keys()

    run(main())


@pytest.mark.parametrize("name", FINER)
@each_family
def test_a_finer_setting_goes_in_place_of_an_option_and_not_beside_it(
    wire: Wire, name: str
) -> None:
    beside = Options(max_tokens=9000, reasoning="low", prompt_cache=True, extra={name: {"x": 1}})
    text = run(refused(wire, Request((USER,), beside)))
    assert f"extra has '{name}' beside {FINER[name]}" in text


@pytest.mark.parametrize("wire", [CHAT, ANTHROPIC], ids=["chat", "anthropic"])
def test_a_finer_setting_arrives(wire: Wire) -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1234}}
    options = Options(max_tokens=9000, extra={"extra_body": thinking})
    assert "1234" in run(sent(wire, Request((USER,), options)))


# -- files ----------------------------------------------------------------------------------------

PDF, PNG, TXT = (File.of(f"https://x.invalid/zzz.{kind}") for kind in ("pdf", "png", "txt"))


@pytest.mark.parametrize(
    ("wire", "file"),
    [(GOOGLE, PDF), (GOOGLE, PNG), (ANTHROPIC, TXT), (MISTRAL, TXT), (CHAT, PDF), (CHAT, TXT)],
    ids=lambda each: getattr(each, "name", getattr(each, "url", "")),
)
def test_a_url_that_would_have_to_be_fetched_here_is_refused(wire: Wire, file: File) -> None:
    request = Request((Message("user", "what is it", files=(file,)),))
    text = run(refused(wire, request))
    assert file.media_type in text
    assert "by its URL. Give its path or its bytes" in text


@pytest.mark.parametrize(
    ("wire", "file"),
    [
        *((CHAT, PNG), (ANTHROPIC, PDF), (ANTHROPIC, PNG), (MISTRAL, PDF), (MISTRAL, PNG)),
        *((RESPONSES, PDF), (RESPONSES, PNG), (RESPONSES, TXT)),
    ],
    ids=lambda each: getattr(each, "name", getattr(each, "url", "")),
)
def test_other_urls_are_passed_on_and_fetched_by_the_provider(wire: Wire, file: File) -> None:
    message = Message("user", "what is it", files=(file,))
    assert str(file.url) in run(sent(wire, Request((message,), Options(max_tokens=50))))


@pytest.mark.parametrize("wire", [ANTHROPIC, MISTRAL, RESPONSES], ids=lambda wire: wire.name)
def test_a_kind_of_file_that_a_provider_does_not_take_is_an_error_of_ours(wire: Wire) -> None:
    sound = File.of(b"sound", "audio/wav")
    request = Request((Message("user", "listen", files=(sound,)),), Options(max_tokens=50))
    assert "support" in run(refused(wire, request, ModelRejected))


# -- what a provider has no place for -------------------------------------------------------------

SEEDED = Request((USER,), Options(max_tokens=50), seed=987654)
MARKED = Request((Message("system", "s"), USER), Options(max_tokens=50, prompt_cache=True))


@pytest.mark.parametrize("what", ["seed", "prompt_cache"])
@each_family
def test_a_seed_or_a_mark_that_is_not_sent_is_named_once_in_a_warning(
    wire: Wire, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    request, trace = (SEEDED, "987654") if what == "seed" else (MARKED, "cache_control")

    async def main() -> list[bool]:
        async with Wired(wire).open() as server:
            for _ in range(2):
                await model_at(wire, server).reply(request)
            return [trace in each.body.decode() for each in server.requests]

    arrived = run(main())
    warned = [text for text in caplog.messages if f"takes no {what}" in text]
    assert arrived == [not warned] * 2
    assert [*warned] in ([], [f"{wire.name} takes no {what}: it is not sent"])


# -- arguments of the wrong kind ------------------------------------------------------------------


def ANY(given: Any) -> Any:  # noqa: N802
    """What a type checker would refuse."""
    return given


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Request(ANY("hello")), "the messages of a request are 'hello'"),
        (lambda: Request(ANY([{"role": "user"}])), "the messages of a request are"),
        (lambda: Request((USER,), ANY({"max_tokens": 5})), "options is {'max_tokens': 5}"),
        (lambda: Request((USER,), schema=ANY(str)), "schema is <class 'str'>"),
        (lambda: Request((USER,), tools=ANY((print,))), "the tools of a request are"),
        (lambda: Message("user", "x", files=ANY(PNG)), "the files of a message are"),
        (lambda: Message("user", "x", files=ANY(("a.png",))), "the files of a message are"),
        (lambda: Message("assistant", "x", calls=ANY(("add",))), "the calls of a message are"),
        (lambda: Options(extra=ANY(None)), "extra is None"),
    ],
)
def test_what_is_of_the_wrong_kind_is_refused_where_it_is_made(make: Any, named: str) -> None:
    """Not by an AttributeError inside each of the chains that use it."""
    with pytest.raises(UsageError) as caught:
        make()
    assert named in str(caught.value)


# -- tools ----------------------------------------------------------------------------------------


@virtual_time
async def test_a_tool_has_the_time_that_an_attempt_has_and_the_model_is_told() -> None:
    async def sleepy(n: int) -> int:
        await asyncio.sleep(1000)
        return n

    said = Reply("", "m", calls=(ToolCall("c1", "sleepy", {"n": 1}),))
    model = ScriptedModel([said, "done"])
    assert (await ask(model, "?", tools=[sleepy], timeout=30)).text == "done"
    assert asyncio.get_running_loop().time() < 100
    told = model.requests[1].messages[-1]
    assert (told.role, told.content) == ("tool", "Error: AttemptTimeout: timed out after 30 s")
