"""Values that people know by their parts: what a command printed, and what a model was asked.

They are found by their shape, wherever a system keeps them. Everything in them may come from
models, commands and other people's files: it is text, and any part may be missing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from fanwise.models.names import PROVIDERS
from fanwise.processes.result import CommandResult, ending_in_words
from fanwise.view.formats import money

OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"
MOST_SAMPLES = 50
MOST_IMAGE = 4_000_000
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


class ValuePart(NamedTuple):
    """A text with a heading; `kind` is how it looks."""

    title: str
    text: str
    kind: str = ""
    images: Sequence[str] = ()
    """`data:` addresses of pictures in it."""


def value_parts(value: Any) -> list[ValuePart]:
    """The parts of a value; empty: it has no such shape."""
    if not isinstance(value, dict):
        return []
    if {"exit_code", "stdout", "stderr"} <= value.keys():
        return _command(value)
    if isinstance(value.get("samples"), list):
        return list(_samples(value))
    return list(_conversation(value))


def copies_of(value: Any) -> dict[str, str]:
    """The same question to a model, to be copied: by what it is; empty: it asks no model."""
    if not isinstance(value, dict) or not isinstance(value.get("model"), str):
        return {}
    messages = _dicts(value.get("messages"))
    if not messages:
        return {}
    is_text = all(each.keys() <= {"role", "content"} for each in messages)
    curl = _curl(value["model"], messages) if is_text else None
    program = _program(value["model"], messages, is_text=is_text)
    return {"Python": program, **({"curl": curl} if curl else {})}


def _program(model: str, messages: Sequence[Mapping[str, Any]], *, is_text: bool) -> str:
    """`is_text`: no message has pictures or calls of tools, which need more than a text."""
    if is_text:
        texts = [(_text(each.get("role")), _text(each.get("content"))) for each in messages]
        lines = "".join(f"    Message({role!r}, {text!r}),\n" for role, text in texts)
        more, made = "", f"[\n{lines}]"
    else:
        lines = "".join(f"    {each!r},\n" for each in messages)
        more, made = "import msgspec\n", f"msgspec.convert([\n{lines}], list[Message])"
    return (
        f"import asyncio\n\n{more}from fanwise.models import Message, ask\n\n"
        f"messages = {made}\n"
        f"reply = asyncio.run(ask({model!r}, messages))\nprint(reply.text)\n"
    )


def _curl(model: str, messages: Sequence[Mapping[str, Any]]) -> str | None:
    """For servers with the chat interface of OpenAI or Anthropic; None: it is another one."""
    scheme, _, name = model.partition(":")
    provider = PROVIDERS.get(scheme)
    if provider is None or scheme in ("azure", "openai-responses"):
        return None
    if provider.extra not in ("openai", "anthropic"):
        return None
    texts = [{n: _text(each.get(n)) for n in ("role", "content")} for each in messages]
    body: dict[str, Any] = {"model": name, "messages": texts}
    address, path = provider.base_url or OPENAI, "/chat/completions"
    key, headers = "Authorization: Bearer ", []
    if scheme == "anthropic":
        address, path = ANTHROPIC, "/v1/messages"
        key, headers = "x-api-key: ", ["-H 'anthropic-version: 2023-06-01'"]
        system = "\n\n".join(each["content"] for each in texts if each["role"] == "system")
        body["messages"] = [each for each in texts if each["role"] != "system"]
        body |= {"max_tokens": 1024, **({"system": system} if system else {})}
    data = shlex.quote(msgspec.json.encode(body).decode())
    if provider.url_variable:
        address = f"${{{provider.url_variable}:-{address}}}"
    words = [f'curl "{address}{path}"', f'-H "{key}${provider.key}"', *headers]
    return " \\\n  ".join([*words, "-H 'Content-Type: application/json'", f"-d {data}"]) + "\n"


def _command(value: Mapping[str, Any]) -> list[ValuePart]:
    try:
        result = CommandResult.from_json(dict(value))
    except (KeyError, TypeError, ValueError, AttributeError):
        return []  # it only looks like one
    parts = [ValuePart("Command", _text(value["command"]))] if value.get("command") else []
    parts.append(ValuePart("How it ended", ending_in_words(result)))
    for name, capture in (("stdout", result.stdout), ("stderr", result.stderr)):
        if capture.size:
            more = f" ({capture.size:,} bytes, not all are kept)" if capture.truncated else ""
            parts.append(ValuePart(f"{name}{more}", capture.text))
    return parts


def _samples(value: Mapping[str, Any]) -> Iterator[ValuePart]:
    """Chains with their repairs, in the order in which they were made."""
    samples = _dicts(value["samples"])
    for sample in samples[:MOST_SAMPLES]:
        chain, iteration = sample.get("chain"), sample.get("iteration")
        chosen = " (chosen)" if sample.get("id") == value.get("sample") else ""
        tried = f", repair {iteration}" if iteration else ""
        where = f"Chain {chain + 1}{tried}{chosen}" if isinstance(chain, int) else f"Sample{chosen}"
        for part in _conversation(sample):
            yield part._replace(title=f"{where} · {part.title}")
        for verdict in _dicts(sample.get("verdicts")):
            yield ValuePart(f"{where} · check", _verdict(verdict))
    if len(samples) > MOST_SAMPLES:
        yield ValuePart("More", f"{len(samples) - MOST_SAMPLES:,} more samples are in the JSON")


def _verdict(verdict: Mapping[str, Any]) -> str:
    name = _text(verdict.get("requirement") or "check")
    told = "passed" if verdict.get("passed") is True else "failed"
    why = _text(verdict.get("reason"))
    return f"{name}: {told}, {why}" if why else f"{name}: {told}"


def _conversation(value: Mapping[str, Any]) -> Iterator[ValuePart]:
    if _dicts(value.get("tools")):
        yield ValuePart("tools", _text(value["tools"]))
    for message in _dicts(value.get("messages")):
        files = _dicts(message.get("files"))
        yield ValuePart(
            _text(message.get("role")), _content(message), "prompt", [*map(_image, files)]
        )
    reply = value.get("reply")
    if isinstance(reply, dict):
        yield from _reply(reply, value)
    yield from (ValuePart(f"expected by {n}", _text(v)) for n, v in _pairs(value.get("expected")))
    for name, score in _pairs(value.get("scores")):
        told = score if isinstance(score, dict) else {}
        why = _text(told.get("reason")) or _text(told.get("error"))
        yield ValuePart(f"{name}: {_text(told.get('score')) or 'not judged'}", why)


def _pairs(values: Any) -> list[tuple[str, Any]]:
    return [*values.items()] if isinstance(values, dict) else []


def _reply(reply: Mapping[str, Any], value: Mapping[str, Any]) -> Iterator[ValuePart]:
    if reply.get("reasoning"):
        yield ValuePart("reasoning", _text(reply["reasoning"]))
    yield ValuePart(
        f"{_text(reply.get('model'))}{_cost(reply)}",
        _text(reply.get("text", value.get("text"))),
        "answer",
    )
    for call in _dicts(reply.get("calls")):
        yield ValuePart("call of a tool", _text(call))


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def _content(message: Mapping[str, Any]) -> str:
    more = [f"[{_about(each)}]" for each in _dicts(message.get("files"))]
    more += [f"[calls] {_text(message['calls'])}"] if message.get("calls") else []
    return "\n".join([_text(message.get("content")), *more])


def _about(file: Mapping[str, Any]) -> str:
    data = file.get("data")
    size = f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""
    return f"{_text(file.get('media_type'))}{size} {_text(file.get('url'))}".strip()


def _image(file: Mapping[str, Any]) -> str:
    """Its `data:` address; empty: it is none that a page may show, or too large."""
    kind, data = file.get("media_type"), file.get("data")
    shows = kind in IMAGES and isinstance(data, str) and len(data) <= MOST_IMAGE
    return f"data:{kind};base64,{data}" if shows and BASE64.fullmatch(data or "") else ""


def _cost(reply: Mapping[str, Any]) -> str:
    usage, usd = reply.get("usage"), reply.get("usd")
    told = (
        [f"{usage.get('input')} + {usage.get('output')} tokens"] if isinstance(usage, dict) else []
    )
    told += [money(usd)] if isinstance(usd, int | float) else []
    told += ["from the cache"] if reply.get("from_cache") else []
    return f" ({', '.join(told)})" if told else ""


def _text(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else ""
        if value is None
        else msgspec.json.encode(value).decode()
    )
