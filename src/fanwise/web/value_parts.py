"""Values that people know by their parts: what a command printed, and what a model was asked.

They are found by their shape, wherever a system keeps them. Everything in them may come from
models, commands and other people's files: it is text, and any part may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from fanwise.processes.result import CommandResult, ending_in_words
from fanwise.view.formats import money

MOST_SAMPLES = 50


class ValuePart(NamedTuple):
    """A text with a heading; `kind` is how it looks."""

    title: str
    text: str
    kind: str = ""


def value_parts(value: Any) -> list[ValuePart]:
    """The parts of a value; empty: it has no such shape."""
    if not isinstance(value, dict):
        return []
    if {"exit_code", "stdout", "stderr"} <= value.keys():
        return _command(value)
    if isinstance(value.get("samples"), list):
        return list(_samples(value))
    return list(_conversation(value))


def python_of(value: Any) -> str | None:
    """A program that asks the model the same; None: it is no call of a model."""
    if (
        not isinstance(value, dict)
        or not _dicts(value.get("messages"))
        or not isinstance(value.get("model"), str)
    ):
        return None
    messages = "".join(
        f"    Message({_text(each.get('role'))!r}, {_text(each.get('content'))!r}),\n"
        for each in _dicts(value.get("messages"))
    )
    return (
        "import asyncio\n\nfrom fanwise.models import Message, ask\n\n"
        f"messages = [\n{messages}]\n"
        f"reply = asyncio.run(ask({value['model']!r}, messages))\nprint(reply.text)\n"
    )


def _command(value: Mapping[str, Any]) -> list[ValuePart]:
    try:
        result = CommandResult.from_json(dict(value))
    except (KeyError, TypeError, ValueError, AttributeError):
        return []  # it only looks like one
    parts = [ValuePart("How it ended", ending_in_words(result))]
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
    for message in _dicts(value.get("messages")):
        yield ValuePart(_text(message.get("role")), _content(message), "prompt")
    reply = value.get("reply")
    if not isinstance(reply, dict):
        return
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
    more = [f"[{name}] {_text(message[name])}" for name in ("files", "calls") if message.get(name)]
    return "\n".join([_text(message.get("content")), *more])


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
