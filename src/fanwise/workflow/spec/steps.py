"""The kinds of steps that a file may have, each with its fields, checked and parsed.

One class is both what is checked and what is executed: texts are `Text` or `Value`, durations are
seconds, and steps inside are steps. Those are raw data while the fields of a step are checked;
`read_steps.py` checks them in their own places, and puts them in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainValidator,
    PrivateAttr,
    field_validator,
    model_validator,
)

from fanwise.specs import Duration, FieldPath, Many, RetrySpec, SpecModel, Where
from fanwise.workflow.expressions import Text, Value
from fanwise.workflow.spec.fields import (
    ITEM,
    Argument,
    Condition,
    Fields,
    Flag,
    Id,
    Items,
    Lines,
    Needs,
    TextField,
    ValueField,
    Width,
)

BOOLEAN_KEYS = {
    given: tuple(form for word in words for form in (word, word.title(), word.upper()))
    for given, words in ((True, ("true", "yes", "on")), (False, ("false", "no", "off")))
}
"""The keys that spec-kit's parser takes for a boolean."""
Nesting = Literal["steps", "step", "cases"]
"""A list of steps, one step, or names to lists of steps."""


def _list(given: Any) -> Any:
    if not isinstance(given, list | None):
        raise ValueError("must be a list of steps")  # noqa: TRY004 - pydantic wants a ValueError
    return tuple(given or ())


def _one(given: Any) -> Any:
    if not isinstance(given, dict):
        raise ValueError("must be a step")  # noqa: TRY004 - pydantic wants a ValueError
    return given


def _cases(given: Any) -> Any:
    if not isinstance(given, dict) or not given:
        raise ValueError("must be a mapping of values to lists of steps, with one at least")
    return {key: _list(steps) for key, steps in given.items()}


def _arguments(given: Any) -> Any:
    if not isinstance(given, list) or not given:
        raise ValueError("must be a list: the program and its arguments")
    return tuple(given)


class Step(SpecModel):
    """The fields that every step has."""

    nested: ClassVar[dict[str, Nesting]] = {"on_failure": "steps"}
    """Which fields hold steps, in the order in which they come: on_failure is the last."""

    id: Id
    type: str = "command"
    if_: Condition | None = Field(default=None, alias="if")
    """Where it does not hold, the step is skipped."""
    continue_on_error: Flag = False
    retry: RetrySpec | None = None
    timeout: Duration | None = None
    needs: Needs = Field(default_factory=dict)
    on_failure: Annotated[tuple[Step, ...], PlainValidator(_list)] = ()

    _where: Where | None = PrivateAttr(default=None)

    @property
    def where(self) -> Where:
        """Its place in the file, for errors."""
        if self._where is None:
            raise AttributeError("this step was not read from a file")
        return self._where

    def inside(self) -> Iterator[tuple[FieldPath, Step]]:
        """The steps directly inside it, each with its place."""
        for name, nesting in type(self).nested.items():
            found, key = getattr(self, name), key_of(type(self), name)
            if nesting == "step":
                yield (key,), found
            elif nesting == "steps":
                yield from (((key, number), step) for number, step in enumerate(found))
            else:
                for case, steps in found.items():
                    yield from (((key, case, number), step) for number, step in enumerate(steps))

    def texts(self) -> Iterator[tuple[FieldPath, Text | Value]]:
        """Its own fields that may hold `{{ }}`, with their places in it."""
        for name in type(self).model_fields:
            given, key = getattr(self, name), key_of(type(self), name)
            if isinstance(given, Text | Value):
                yield (key,), given
            elif isinstance(given, dict):
                for inner, value in given.items():
                    if isinstance(value, Value):
                        yield (key, inner), value


def key_of(kind: type[Step], name: str) -> str:
    """The key of a field in the file."""
    return kind.model_fields[name].alias or name


class ProcessStep(Step):
    """What steps share that start a program."""

    env: Fields = Field(default_factory=dict)
    """Variables beside those of fanwise's own environment."""
    cwd: TextField | None = None
    """Where it runs, relative to the project; None: in the project."""

    @field_validator("env")
    @classmethod
    def _names(cls, env: dict[str, Any]) -> dict[str, Any]:
        if wrong := [name for name in env if not name or "=" in name or "\0" in name]:
            raise ValueError(f"{wrong[0]!r} cannot be the name of a variable")
        return env


class ShellStep(ProcessStep):
    """A line of shell."""

    run: TextField
    timeout: Duration | None = 300.0
    output_format: Literal["json"] | None = None


class AgentStep(ProcessStep):
    """What command and prompt steps share: which agent, or which model."""

    integration: TextField | None = None
    model: TextField | None = None
    options: Fields = Field(default_factory=dict)


class CommandStep(AgentStep):
    """A command of an agent's command line, with `input.args`."""

    command: TextField
    input: Fields = Field(default_factory=dict)


class PromptStep(AgentStep):
    """A prompt for an agent's command line, or for a model (`model: provider:name`)."""

    prompt: TextField


class GateStep(Step):
    """A question to a person."""

    message: TextField
    options: Many[str] = Field(default=("approve", "reject"), min_length=1)
    on_reject: Literal["abort", "skip", "retry"] = "abort"
    show_file: TextField | None = None
    verdict_input: str | None = None

    @field_validator("options")
    @classmethod
    def _distinct(cls, options: tuple[str, ...]) -> tuple[str, ...]:
        if len({option.strip().lower() for option in options}) < len(options):
            raise ValueError("two options are the same")
        return options

    @model_validator(mode="after")
    def _can_be_rejected(self) -> GateStep:
        if self.on_reject != "skip" and not any(map(is_rejection, self.options)):
            raise ValueError(
                f"`on_reject: {self.on_reject}` needs an option `reject` or `abort`, "
                f"not only {', '.join(self.options)}"
            )
        return self


def is_rejection(option: str) -> bool:
    """Whether an answer to a gate rejects."""
    return option.strip().lower() in ("reject", "abort")


class IfStep(Step):
    """`then`, or `else`."""

    nested: ClassVar[dict[str, Nesting]] = {"then": "steps", "else_": "steps", **Step.nested}

    condition: Condition
    then: Annotated[tuple[Step, ...], PlainValidator(_list)]
    else_: Annotated[tuple[Step, ...], PlainValidator(_list)] = Field(default=(), alias="else")


class SwitchStep(Step):
    """The case whose name is the value, as text without spaces around it; else `default`."""

    nested: ClassVar[dict[str, Nesting]] = {"cases": "cases", "default": "steps", **Step.nested}

    expression: ValueField
    cases: Annotated[dict[str, tuple[Step, ...]], PlainValidator(_cases)]
    default: Annotated[tuple[Step, ...], PlainValidator(_list)] = ()

    def case(self, value: Any) -> str | None:
        """The name of the case for a value; None: the default.

        `true` is True's: keys are text here, and spec-kit's parser makes booleans of some words.
        """
        text = "" if value is None else str(value).strip()
        words = BOOLEAN_KEYS[value] if isinstance(value, bool) else ()
        return next((name for name in self.cases if name in (text, *words)), None)


class LoopStep(Step):
    nested: ClassVar[dict[str, Nesting]] = {"steps": "steps", **Step.nested}

    condition: Condition
    max_iterations: int = Field(default=10, ge=1)
    steps: Annotated[tuple[Step, ...], PlainValidator(_list)]

    @field_validator("max_iterations", mode="before")
    @classmethod
    def _nothing_given(cls, given: Any) -> Any:
        return 10 if given is None else given


class WhileStep(LoopStep):
    """Checks the condition before each iteration."""


class DoWhileStep(LoopStep):
    """Checks the condition after each iteration."""


class FanOutStep(Step):
    """One step for each item."""

    nested: ClassVar[dict[str, Nesting]] = {"step": "step", **Step.nested}

    items: Items
    step: Annotated[Step, PlainValidator(_one)]
    max_concurrency: Width = 1
    halt: Literal["never", "failure"] = "failure"


class MapStep(ProcessStep):
    """One command for each item, as `fanwise map` runs it; `retry` and `timeout` are each one's."""

    items: Items | None = None
    lines: Lines | None = None
    command: Annotated[tuple[Argument, ...], BeforeValidator(_arguments)]
    max_concurrency: Width = 10
    halt: Literal["never", "failure"] = "never"

    _each: Any = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _one_of_them(self) -> MapStep:
        if (self.items is None) == (self.lines is None):
            raise ValueError("a step of type map has `items` or `lines`")
        named = any(path[0] == "item" for text in self.command for path in text.names())
        argv = self.command if named else (*self.command, Text("{}", (ITEM,)))
        self._each = EachStep.model_construct(
            id=self.id, type=self.type, argv=argv, retry=self.retry, timeout=self.timeout,
            env=self.env, cwd=self.cwd,
        )  # fmt: skip
        return self

    @property
    def each(self) -> EachStep:
        """The command for one item."""
        made: EachStep = self._each
        return made

    def texts(self) -> Iterator[tuple[FieldPath, Text | Value]]:
        yield from super().texts()
        yield from ((("command", number), text) for number, text in enumerate(self.command))


class EachStep(ProcessStep):
    """The command of a `MapStep` for one item. No file has it."""

    argv: tuple[TextField, ...]


class FanInStep(Step):
    """The outputs of other steps together."""

    wait_for: Many[str] = Field(min_length=1)
    output: Fields = Field(default_factory=dict)


class InitStep(Step):
    """`specify init`, by spec-kit's own program."""

    project: ValueField | None = None
    here: ValueField | None = None
    integration: TextField | None = None
    integration_options: ValueField | None = None
    script: ValueField | None = None
    force: ValueField | None = None
    ignore_agent_tools: ValueField | None = None
    preset: ValueField | None = None


class SlotStep(Step):
    """A place for a step of an overlay; it is skipped if none fills it."""

    name: str = Field(min_length=1)


class WorkflowStep(Step):
    """Another file as a step; `input` has its inputs."""

    workflow: str = Field(min_length=1)
    """A path relative to this file."""
    input: Fields = Field(default_factory=dict)

    _target: Any = PrivateAttr(default=None)

    @property
    def target(self) -> Any:
        """The `LoadedWorkflow` in that file."""
        return self._target


class SystemStep(Step):
    """Another system of fanwise: its file, or what would stand in it under the system's name."""

    file: str | None = Field(default=None, min_length=1)
    spec: ValueField | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> SystemStep:
        if (self.file is None) == (self.spec is None):
            raise ValueError(f"a step of type {self.type} has `file` or `spec`")
        return self


class CallStep(Step):
    """A Python function: `call: module:function`, with `input` as its keyword arguments."""

    call: str = Field(min_length=1)
    input: Fields = Field(default_factory=dict)


class CustomStep(Step):
    """A kind of step that another package or the project has; `fields` are its own."""

    fields: Fields = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, given: Any) -> Any:
        common = {key_of(Step, name) for name in Step.model_fields}
        own = {key: value for key, value in given.items() if key not in common}
        return {**{key: value for key, value in given.items() if key not in own}, "fields": own}

    def texts(self) -> Iterator[tuple[FieldPath, Text | Value]]:
        if self.if_ is not None:
            yield ("if",), self.if_
        yield from (((name,), value) for name, value in self.fields.items())
