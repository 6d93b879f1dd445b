"""The building blocks of a matrix in Python: scores and prompts, as a file has them.

Each function gives the mapping that stands in a file, so that a program and a file say the same
thing, and either can be turned into the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fanwise.models.connect import ModelLike
from fanwise.models.port import Message, Options, Schema

Block = dict[str, Any]


# -- scores ----------------------------------------------------------------------------------------


def exact(field: str, *, name: str | None = None) -> Block:
    """1.0 if the answer is that field of the input, spaces around it aside."""
    return _named({"exact": _of_input(field)}, name)


def f1(field: str, *, name: str | None = None) -> Block:
    """How much the words of the answer overlap with those of that field of the input."""
    return _named({"f1": _of_input(field)}, name)


def json_match(field: str, *, name: str | None = None) -> Block:
    """1.0 if the answer is JSON that has at least the fields of that field, with these values."""
    return _named({"json": _of_input(field)}, name)


def regex(pattern: str, *, name: str | None = None) -> Block:
    """1.0 if the pattern is found in the answer; it may have `{{ input.… }}` in it."""
    return _named({"regex": pattern}, name)


def judge(question: str, model: ModelLike, *, name: str | None = None) -> Block:
    """What a model thinks of the answer, from 0 to 1."""
    return _named({"judge": question, "model": model}, name)


def command(*argv: str, timeout: float | str | None = None, name: str | None = None) -> Block:
    """1.0 if the program exits with 0, or the number that it prints.

    It gets the answer and the input as JSON on stdin.
    """
    block: Block = {"command": list(argv)}
    return _named(block if timeout is None else {**block, "timeout": timeout}, name)


# -- strategies ------------------------------------------------------------------------------------


def prompt(
    ask: str | Sequence[Message],
    *,
    schema: Schema | None = None,
    options: Options | None = None,
    sample: Mapping[str, Any] | None = None,
) -> Block:
    """A template, or messages whose contents are templates. `sample`: how it is sampled."""
    block: Block = {"prompt": ask} if isinstance(ask, str) else {"messages": _messages(ask)}
    more = {"schema": schema, "options": plain_options(options), "sample": sample}
    return {**block, **{name: value for name, value in more.items() if value is not None}}


def steps(**prompts: str | Mapping[str, Any]) -> Block:
    """Prompts one after the other, by name; each sees the answers before it as `{{ steps.NAME }}`.

    The answer of the last one is that of the cell.
    """
    found = [{"prompt": each} if isinstance(each, str) else each for each in prompts.values()]
    return {"steps": [{"name": name, **each} for name, each in zip(prompts, found, strict=True)]}


def constant(answer: Any) -> Block:
    """The same answer for every input: a baseline."""
    return {"constant": answer}


def copy_of(field: str) -> Block:
    """That field of the input as the answer: a baseline, or what scores perfectly."""
    return {"copy": _of_input(field)}


def plain_options(options: Options | Mapping[str, Any] | None) -> Any:
    """As a file has them."""
    return msgspec.to_builtins(options) if isinstance(options, Options) else options


def _of_input(field: str) -> str:
    return field if field.startswith("input.") else f"input.{field}"


def _named(block: Block, name: str | None) -> Block:
    return block if name is None else {**block, "name": name}


def _messages(given: Sequence[Message]) -> list[Any]:
    return [msgspec.to_builtins(each) for each in given]
