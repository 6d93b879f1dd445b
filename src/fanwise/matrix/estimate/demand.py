"""What the cells of a matrix will ask of whom: the calls, counted before they are made.

`fanwise check` adds them up, `fanwise simulate` lets them pass in virtual time. The rules, for what
cannot be known before:

- Input tokens: one for every 4 bytes of the rendered prompt and its schema.
- Output tokens: `max_tokens`; without it 300. An answer of a step before stands for as many.
- `call:`, a function of the user's, is not executed: it counts as one call of the cell's model,
  with a prompt as long as the input.
- `sample:` makes `concurrency_budget` times `loop_budget` samples, each judged by all its judges:
  the most that it may.
- A `judge` scores every answer. All other scorers, `constant` and `copy` ask nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from fanwise.core.outcome import Usage
from fanwise.matrix.answers.steps import AnswerStep, Function, Prompt, Subject
from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.scores.scorers import Judging
from fanwise.matrix.spec.compile import Compiled
from fanwise.models.judging import question_for, schema_for
from fanwise.models.names import Spec
from fanwise.models.port import Message, Model, Options, Request, Tokens
from fanwise.models.unconnected import Unconnected, unconnected
from fanwise.specs import Template

BYTES_A_TOKEN = 4
OUTPUT_TOKENS = 300
"""Of an answer whose length nothing bounds."""


class Ask(msgspec.Struct, frozen=True, eq=False):
    model: Unconnected
    tokens: Tokens
    """Expected."""
    estimate: Usage
    """The most that an attempt may cost: what a budget and a rate of tokens reserve."""
    spent: Usage
    """For the expected tokens; no `usd`: the price is unknown."""

    @property
    def usd(self) -> float | None:
        """For the expected tokens; None: the price is unknown."""
        return self.spent.usd


class DemandedItem(msgspec.Struct, frozen=True):
    """One item of the fan-out: some chains at once, each of some calls one after another."""

    chain: Sequence[Ask]
    wide: int = 1
    checked: bool = True
    """Whether a sample of a chain can fail; if not, the chain ends with its first."""
    each: int = 1
    """So many calls make one sample."""

    @property
    def made(self) -> Sequence[Ask]:
        """The calls of a chain that a simulation makes: all, unless the first sample is enough."""
        return self.chain if self.checked else self.chain[: self.each]

    @property
    def calls(self) -> int:
        """How many of them there are, in all chains."""
        return len(self.made) * self.wide

    @property
    def asks(self) -> list[Ask]:
        """The most calls."""
        return list(self.chain) * self.wide


class CellDemand(msgspec.Struct, frozen=True, eq=False):
    """All that one cell asks for. Cells that ask the same share it: there may be a million."""

    steps: Sequence[DemandedItem]
    """One after another."""
    scores: Sequence[DemandedItem]
    """After the last step, at once."""

    @property
    def asks(self) -> Iterator[Ask]:
        """The most calls."""
        for item in (*self.steps, *self.scores):
            yield from item.asks

    @property
    def calls(self) -> int:
        """How many a simulation makes."""
        return sum(item.calls for item in (*self.steps, *self.scores))


def demand_of(compiled: Compiled) -> list[CellDemand]:
    """Of each cell, in their order. `BadSpec` for a prompt that cannot be rendered."""
    counter = _Counter(compiled)
    found: dict[tuple[str, str, str, int], CellDemand] = {}
    demands = []
    for cell in compiled.cells:
        repeat = cell.repeat if cell.strategy in counter.by_repeat else 0
        place = (cell.strategy, cell.model, cell.input, repeat)
        demand = found.get(place)
        if demand is None:
            demand = found[place] = counter.cell(cell)
        demands.append(demand)
    return demands


class _Counter:
    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._others: dict[Spec, Unconnected] = {}
        self._ask = lru_cache(maxsize=None)(_ask)
        self._judges = [each for each in compiled.scorers if isinstance(each, Judging)]
        self._filled: dict[tuple[int, str, str, int], Sequence[Message]] = {}
        judged = [each.template for each in self._judges]
        texts = {
            strategy: [text for step in steps for text in _templates(step)] + judged
            for strategy, steps in compiled.steps.items()
        }
        self.by_repeat = {name for name, each in texts.items() if _uses("repeat", each)}
        """Strategies whose repeats do not ask the same."""

    def cell(self, cell: Cell) -> CellDemand:
        compiled = self._compiled
        model = compiled.models.get(cell.model)
        subject = Subject(cell, compiled.inputs[cell.input].data, model)
        items: list[DemandedItem] = []
        answers: dict[str, Any] = {}
        said = ""
        for step in compiled.steps[cell.strategy]:
            item, said = self._step(step, msgspec.structs.replace(subject, answers=answers))
            items.append(item)
            output = item.chain[0].tokens.output if item.chain else 0
            answers[step.name] = {"text": _text_of(output or 0), "value": None}
        answer = _text_of(0) if not answers else answers[next(reversed(answers))]["text"]
        scores = [self._score(each, subject, said, answer) for each in self._judges]
        return CellDemand(items, scores)

    def _step(self, step: AnswerStep, subject: Subject) -> tuple[DemandedItem, str]:
        """The calls of a step, and what is said in it."""
        model = _known(subject.model)
        if isinstance(step, Function) and model is not None:
            given = msgspec.json.encode(subject.input)
            return DemandedItem([self._ask(model, len(given), 1, None, None)]), given.decode()
        if not isinstance(step, Prompt) or model is None:
            return DemandedItem([]), ""
        messages = self._messages(step, subject)
        said = "\n\n".join(message.content for message in messages)
        schema = None if step.schema is None else msgspec.json.encode(step.schema).decode()
        ask = self._ask(model, _size(messages), len(messages), step.options.max_tokens, schema)
        if step.asking is None:
            return DemandedItem([ask]), said
        answer = _text_of(ask.tokens.output or 0)
        judges = [
            self._judged(model if each is None else self._other(each), "", answer, said)
            for each in step.asking.judges
        ]
        each_sample = [*[ask] * step.asking.passes, *judges]
        chain = each_sample * step.asking.deep
        return DemandedItem(chain, step.asking.wide, step.asking.checked, len(each_sample)), said

    def _messages(self, step: Prompt, subject: Subject) -> Sequence[Message]:
        """Filled once for all models and repeats, unless the prompt names them."""
        cell, texts = subject.cell, _templates(step)
        model = cell.model if _uses("model", texts) or subject.answers else ""
        place = (id(step), cell.input, model, cell.repeat if _uses("repeat", texts) else 0)
        if place not in self._filled:
            self._filled[place] = step.filled(subject)
        return self._filled[place]

    def _other(self, spec: Spec) -> Unconnected:
        return self._others.setdefault(spec, unconnected(spec))

    def _score(self, scorer: Judging, subject: Subject, task: str, answer: str) -> DemandedItem:
        model = _known(scorer.model)
        assert model is not None
        asked = scorer.template.render(**subject.names)
        return DemandedItem([self._judged(model, asked, answer, task)])

    def _judged(self, model: Unconnected, asked: str, answer: str, task: str) -> Ask:
        question = question_for(asked, answer, task, scored=True)
        schema = msgspec.json.encode(schema_for(scored=True)).decode()
        return self._ask(model, _size([Message("user", question)]), 1, None, schema)


def _templates(step: AnswerStep) -> list[Template]:
    return [text for _, text in step.templates] if isinstance(step, Prompt) else []


def _uses(name: str, templates: Sequence[Template]) -> bool:
    return any(name in each.variables for each in templates)


def _known(model: Model | None) -> Unconnected | None:
    assert model is None or isinstance(model, Unconnected)
    return model


def _ask(model: Unconnected, size: int, messages: int, most: int | None, schema: str | None) -> Ask:
    """A call whose messages have that many bytes: what they say does not matter to it."""
    inside = -(-(size + len(schema or "")) // BYTES_A_TOKEN)
    tokens = Tokens(inside, most or OUTPUT_TOKENS)
    texts = [Message("user", "x" * size), *[Message("user", "")] * (messages - 1)]
    written = None if schema is None else msgspec.json.decode(schema)
    estimate = model.estimate(Request(tuple(texts), Options(max_tokens=most), written))
    return Ask(model, tokens, estimate, Usage(1, tokens.total or 0, model.dollars(tokens)))


def _size(messages: Sequence[Message]) -> int:
    return sum(len(each.content.encode("utf-8", "surrogatepass")) for each in messages)


def _text_of(tokens: int) -> str:
    return "x" * (tokens * BYTES_A_TOKEN)
