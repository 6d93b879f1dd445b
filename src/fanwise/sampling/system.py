"""`sample:` in a file: one prompt for each input, each sampled until an answer is valid."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

from fanwise.core.budget import Budget
from fanwise.core.caps import Caps, whole
from fanwise.core.outcome import Outcome
from fanwise.errors import UsageError
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.run import Run
from fanwise.kernel.scope import failures_run_again
from fanwise.kernel.workers import WorkPlace
from fanwise.models.connect import connect
from fanwise.models.port import Message, Model, Request
from fanwise.models.replay import record
from fanwise.sampling.api import sample
from fanwise.sampling.checks.require import schema
from fanwise.sampling.checks.requirement import Tier, in_checking_order
from fanwise.sampling.options import OPTIONS
from fanwise.sampling.spec.sample_spec import LoopSpec, SampleSpec
from fanwise.sampling.state.result import SampleResult
from fanwise.sampling.views.text import end_of, lines_of
from fanwise.specs import Document, End, Runnable, Template, Where, check, read
from fanwise.specs.answering import Answerer, Asking
from fanwise.specs.inputs import Input, Inputs

KEY = "sample"
CHECKED_BY = {Tier.CODE: "code", Tier.PROCESS: "a command", Tier.MODEL: "a model's call"}
MOST_TITLE = 60
AS_THEY_ARE = ("model", "strategy", "winner", "deadline", "record")
"""Options that have the name of their field."""
ALONE = Input("0", {})
"""The only item of a file without inputs."""


class RunnableSample:
    unit = "prompt"

    def __init__(self, document: Document, inputs: Inputs | None, *, literal: bool) -> None:
        self._document = document
        self._where = document.at(KEY)
        self._spec = check(document, SampleSpec, KEY)
        self._literal = literal
        """The prompt came from the command line: plain text, not a template."""
        self._inputs = inputs if inputs is not None else self._load()
        self._loop = self._spec.loop(self._where)
        self._messages = self._templates()
        self._model = connect(self._spec.model.spec())

    @property
    def title(self) -> str:
        return self._spec.name

    @cached_property
    def spec(self) -> dict[str, Any]:
        kept = None if self._inputs is None else self._inputs.keep()
        return {**self._document.keep(), "inputs": kept, "literal": self._literal}

    @cached_property
    def caps(self) -> Caps | None:
        return self._spec.make_caps()

    @cached_property
    def budget(self) -> Budget | None:
        return self._spec.make_budget()

    @property
    def on(self) -> WorkPlace | None:
        return self._spec.make_place()

    @property
    def total(self) -> int:
        return 1 if self._inputs is None else len(self._inputs)

    def describe(self) -> Sequence[str]:
        spec = self._spec
        own = [] if spec.schema_ is None else [schema(spec.schema_)]
        order = in_checking_order([*own, *self._loop["requirements"]])
        deep = spec.strategy.depth(spec.loop_budget)
        wide = spec.width(required=bool(order))
        lines = [
            f"model   {self._model.name}",
            f"at most {deep * wide} samples each, {wide} wide and {deep} deep: "
            f"{self.total * deep * wide} in all",
        ]
        strategy = self._loop["strategy"]
        wins = f"the {spec.winner} valid sample wins"
        choice = "chooses among the valid samples" if strategy.gathers else wins
        lines.append(f"strategy {type(strategy).__name__}, {choice}")
        return [*lines, *(f"checked by {CHECKED_BY[each.tier]}: {each.name}" for each in order)]

    async def execute(self, run: Run) -> End:
        items = [ALONE] if self._inputs is None else list(self._inputs)
        with self._recorded() as model:
            outcomes = await fan_out(
                lambda item: self._sample(model, item),
                items,
                cap=self._spec.cap,
                run=run,
                name="prompts",
                key=lambda item: item.id,
                reuse=_still_counts(run),
            )
        found: list[Outcome[Any]] = [*outcomes]
        return end_of(found, self.total, alone=self._inputs is None)

    async def _sample(self, model: Model, item: Input) -> dict[str, Any]:
        messages = [Message(role, self._filled(text, item)) for role, text in self._messages]
        request = Request(
            tuple(messages), self._spec.options.options(), self._spec.schema_, self._spec.seed
        )
        return await _sampled(model, request, self._loop)

    def _filled(self, template: Template | str, item: Input) -> str:
        if isinstance(template, str):
            return template
        return template.render(input=item.data)

    def _load(self) -> Inputs | None:
        spec = self._spec.inputs
        return None if spec is None else spec.load(self._where.at("inputs"))

    def _templates(self) -> list[tuple[Any, Template | str]]:
        texts: list[tuple[Any, str, tuple[str | int, ...]]]
        if self._spec.prompt is not None:
            texts = [("user", self._spec.prompt, ("prompt",))]
        else:
            texts = [
                (message.role, message.content, ("messages", number, "content"))
                for number, message in enumerate(self._spec.messages)
            ]
        if self._literal:
            return [(role, text) for role, text, _ in texts]
        made = [(role, Template(text, self._where.at(*path))) for role, text, path in texts]
        for _, template in made:
            template.require(self._names())
        return [*made]

    def _names(self) -> list[str]:
        return [] if self._inputs is None else [f"input.{name}" for name in self._inputs.columns]

    def _recorded(self) -> AbstractContextManager[Model]:
        if self._spec.record is None:
            return nullcontext(self._model)
        return record(self._model, Path(self._document.folder) / self._spec.record)


def _still_counts(run: Run) -> Callable[[Input, Outcome[Any]], bool]:
    """Whether to reuse a recorded result. Where failures run again, an invalid one is a failure."""
    if not failures_run_again(run):
        return lambda _, __: True
    return lambda _, recorded: recorded.ok and recorded.unwrap()["ok"]


async def _sampled(model: Model, request: Request, loop: Mapping[str, Any]) -> dict[str, Any]:
    result = await sample(model, request, seed=request.seed or 0, name="sample", **loop)
    return result.to_json()


def _fields_of(prompt: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields under `sample:` that the options of `fanwise sample` stand for."""
    fields: dict[str, Any] = {
        "name": " ".join(prompt.split())[:MOST_TITLE],
        "prompt": prompt,
        "requirements": _requirements(given),
        "seed": given.get("seed", 0),
        "options": {name: given[name] for name in ("temperature", "max_tokens") if name in given},
        **{name: given[name] for name in AS_THEY_ARE if name in given},
    }
    for option, field in (("loop", "loop_budget"), ("wide", "concurrency_budget")):
        if option in given:
            fields[field] = whole(f"--{option}", given[option])
    if "schema" in given:
        fields["schema"] = read(given["schema"]).data
    if "usd" in given:
        fields["budget"] = {"usd": given["usd"]}
    return fields


def _requirements(given: Mapping[str, Any]) -> list[Any]:
    requirements: list[Any] = []
    requirements += [{"regex": each, "check_only": True} for each in given.get("regex", ())]
    for line in given.get("command", ()):
        requirements.append({"command": _words(line), "check_only": True})
    return [*requirements, *given.get("require", ())]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"--command {line!r} cannot be read: {error}") from None


class SampleSystem:
    name = KEY
    options = OPTIONS

    def runnable(self, document: Document) -> Runnable:
        return RunnableSample(document, None, literal=False)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its files."""
        from fanwise.specs.schema import schema_of

        return schema_of(SampleSpec, self.name)

    def resume(self, spec: Any) -> Runnable:
        inputs = None if spec["inputs"] is None else Inputs.again(spec["inputs"])
        return RunnableSample(Document.again(spec), inputs, literal=spec["literal"])

    def describe_item(self, key: str, value: Any, *, fully: bool) -> Sequence[str]:
        """The chosen sample of an input; `fully`: all samples, and what was wrong with them."""
        return lines_of(key, SampleResult.from_json(value), fully=fully)

    def answerer(self, where: Where) -> Answerer:
        """Samples the prompts of another system, as the mapping at that place says."""
        loop = check(where.document, LoopSpec, *where.path).loop(where)
        return lambda model, request: _sampled(model, request, loop)

    def asking(self, where: Where, *, schema: bool) -> Asking:
        """The most that it asks, without connecting to a model."""
        spec = check(where.document, LoopSpec, *where.path)
        judges = [each for each in spec.requirements if each.judge is not None]
        rewarded = spec.strategy.best_of is not None and spec.strategy.best_of.reward is not None
        checked = schema or rewarded or bool(spec.requirements)
        return Asking(
            spec.width(required=checked),
            spec.strategy.depth(spec.loop_budget),
            [None if each.model is None else each.model.spec() for each in judges],
            checked=checked,
            passes=spec.strategy.passes,
        )

    def from_command_line(self, prompt: str, options: Mapping[str, Any]) -> Runnable:
        return self.literally(_fields_of(prompt, options), Path.cwd())

    def literally(self, fields: Mapping[str, Any], folder: Path) -> Runnable:
        """Fields whose texts are data: of the command line, or of a workflow's step."""
        document = Document("the command line", folder, {KEY: dict(fields)})
        return RunnableSample(document, None, literal=True)


SYSTEM = SampleSystem()
