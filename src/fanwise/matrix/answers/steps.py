"""How a cell gets its answer: one step, or several, each of them recorded.

A strategy is made of steps. Each knows what it is (`identity`, which goes into the cell's key) and
gives an answer: `text` and `value`, and whatever else is worth keeping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from fanwise.core.retry import Retry
from fanwise.errors import UsageError
from fanwise.kernel.user_call import perform
from fanwise.matrix.answers.code import code_of
from fanwise.matrix.cells.cell import Cell
from fanwise.models.ask import ask
from fanwise.models.port import Message, Model, Options, Reply, Request, Schema
from fanwise.specs import Template
from fanwise.specs.answering import Answerer, Asking

RECORDED = ("text", "value", "usage", "usd", "first_token_s", "ran_s")
Answer = dict[str, Any]
"""JSON-able, with `text` and `value`."""


class Subject(msgspec.Struct, frozen=True):
    """A cell at work: what a function of the user's is given."""

    cell: Cell
    input: dict[str, Any]
    model: Model | None
    """None for a strategy that needs none."""
    answers: Mapping[str, Answer] = {}
    """Of the steps before this one, by name."""

    @property
    def names(self) -> dict[str, Any]:
        """What templates see."""
        steps = {name: answer["text"] for name, answer in self.answers.items()}
        return {"input": self.input, "steps": steps, **_axes(self.cell)}


def _axes(cell: Cell) -> dict[str, Any]:
    return {"model": cell.model, "strategy": cell.strategy, "repeat": cell.repeat}


class AnswerStep(Protocol):
    """One step of a strategy."""

    @property
    def name(self) -> str:
        """Unique in its strategy."""

    @property
    def identity(self) -> Any:
        """JSON-able: all that can change its answer but cell, model and input."""

    async def answer(self, subject: Subject) -> Answer:
        """Do it."""


class Prompt(msgspec.Struct, frozen=True):
    """A model is asked; `answerer`: by another system, which may ask more than once."""

    name: str
    templates: Sequence[tuple[Any, Template]]
    options: Options
    schema: Schema | None
    retry: Retry
    timeout: float | None
    answerer: Answerer | None = None
    how: Any = None
    """What the file says to the other system."""
    asking: Asking | None = None
    """How often that asks."""
    keeps_messages: bool = False
    """Whether the messages are kept with each answer: if the run does not keep its inputs."""

    @property
    def identity(self) -> Any:
        """The prompt and how it is asked; not how often or how long."""
        texts = [(role, template.text) for role, template in self.templates]
        return [texts, msgspec.to_builtins(self.options), self.schema, self.how]

    async def answer(self, subject: Subject) -> Answer:
        if subject.model is None:
            raise UsageError("a prompt has no model")
        request = Request(self.filled(subject), self.options, self.schema, subject.cell.seed)
        if self.answerer is not None:
            answer = dict(await self.answerer(subject.model, request))
        else:
            reply = await ask(subject.model, request, retry=self.retry, timeout=self.timeout)
            answer = answer_of(reply)
        if self.answerer is None and not self.keeps_messages:
            return answer
        # A list, as the journal gives it back: a tuple would have to be looked at value by value.
        return {"messages": msgspec.to_builtins(list(request.messages)), **answer}

    def filled(self, subject: Subject) -> tuple[Message, ...]:
        names = subject.names
        return tuple(Message(role, text.render(**names)) for role, text in self.templates)


class Function(msgspec.Struct, frozen=True):
    """A function of the user's, sync (in a thread) or async."""

    name: str
    function: Callable[[Subject], Any]

    @property
    def identity(self) -> Any:
        """Its name, the text of the file that it is in, and what it holds."""
        return code_of(self.function)

    async def answer(self, subject: Subject) -> Answer:
        return answer_of(await perform(self.function, subject))


class Constant(msgspec.Struct, frozen=True):
    """The same for every cell: a control."""

    name: str
    value: Any

    @property
    def identity(self) -> Any:
        return self.value

    async def answer(self, subject: Subject) -> Answer:
        return answer_of(self.value)


class Copy(msgspec.Struct, frozen=True):
    """A field of the input: a control that is always right, or always what it was before."""

    name: str
    path: str

    @property
    def identity(self) -> Any:
        return self.path

    async def answer(self, subject: Subject) -> Answer:
        return answer_of(field_of(subject.input, self.path))


def answer_of(given: Any) -> Answer:
    """A reply, a text or any other JSON-able value as an answer.

    Of a reply, what neither the answer nor the record of the call has: there may be a million.
    """
    if isinstance(given, Reply):
        reply = {k: v for k, v in given.to_json().items() if k not in RECORDED}
        return {"text": given.text, "value": given.value, "reply": reply}
    if isinstance(given, str):
        return {"text": given, "value": None}
    try:
        return {"text": msgspec.json.encode(given).decode(), "value": given}
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"an answer is a {type(given).__name__}: {error}", "Give text, a Reply or plain data"
        ) from None


def field_of(data: Mapping[str, Any], path: str) -> Any:
    """`input.a.b` of the data of an input. `UsageError` for what is not there."""
    first, *parts = path.split(".")
    found: Any = data
    if first != "input" or not parts:
        raise UsageError(f"{path!r} is no field of the input", "Write input.NAME")
    for part in parts:
        try:
            found = found[int(part)] if isinstance(found, list) else found[part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise UsageError(f"the input has no {path!r}") from None
    return found
