"""What steps say of one another, and of inputs and caps: that all of it is there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from fanwise.specs import CapSpec, FieldPath, LimitsSpec
from fanwise.specs.nearest import did_you_mean
from fanwise.workflow.expressions import Text, Value
from fanwise.workflow.expressions.evaluate import no_secret
from fanwise.workflow.expressions.tree import Used
from fanwise.workflow.spec import steps as spec
from fanwise.workflow.spec.inputs import InputSpec
from fanwise.workflow.spec.read_steps import StepReader
from fanwise.workflow.spec.steps import Step

ROOTS = ("inputs", "steps", "item", "fan_in", "context")
CONTEXT = ("run_id", "workflow_dir")
AT_THE_END = ("status", "error")
"""What `context` has besides, in the steps of `on_end`."""


class References:
    """One walk over the steps of a file, in their order."""

    def __init__(
        self,
        reader: StepReader,
        steps: Collection[Step],
        inputs: Mapping[str, InputSpec],
        limits: LimitsSpec,
        on_end: Collection[Step] = (),
    ) -> None:
        self._reader = reader
        self._steps = steps
        self._inputs = inputs
        self._caps = limits.caps
        self._rates = limits.rates
        self._on_end = on_end
        self._context: tuple[str, ...] = CONTEXT
        self._all = {step.id for each in (*steps, *on_end) for step in walk(each)}
        self._before: set[str] = set()

    def check(self, defaults: Mapping[str, Text | None]) -> None:
        """Tell the reader what is wrong; `defaults`: what the header gives to all steps."""
        for key, text in defaults.items():
            if text is not None:
                self._check_text(text, ("workflow", key), in_item=True)
        seen: dict[str, Step] = {}
        for step in self._steps:
            self._check(step, seen, in_item=False)
        self._context = (*CONTEXT, *AT_THE_END)
        for step in self._on_end:
            self._check(step, seen, in_item=False)
            for gate in (each for each in walk(step) if isinstance(each, spec.GateStep)):
                self._wrong(gate, "a gate cannot wait for an answer when the run ends", "type")

    def _wrong(self, step: Step, message: str, *place: str | int) -> None:
        self._reader.wrong((*step.where.path, *place), message)

    def _check(self, step: Step, seen: dict[str, Step], *, in_item: bool) -> None:
        self._check_id(step, seen)
        self._check_texts(step, in_item=in_item)
        self._check_needs(step)
        if isinstance(step, spec.SystemStep) and step.spec is not None:
            self._check_no_secret(step, step.spec)
        if isinstance(step, spec.SlotStep) and in_item:
            self._wrong(step, "an overlay cannot fill it in a fan-out", "type")
        if isinstance(step, spec.FanInStep):
            self._check_wait_for(step)
        if isinstance(step, spec.GateStep):
            self._check_verdict(step, in_item=in_item)
        self._before.add(step.id)
        for place, inner in step.inside():
            if isinstance(step, spec.FanOutStep) and place == ("step",):
                self._check(inner, {}, in_item=True)
            else:
                self._check(inner, seen, in_item=in_item)

    def _check_id(self, step: Step, seen: dict[str, Step]) -> None:
        if step.id in seen:
            path = seen[step.id].where.path
            line, _ = self._reader.document.position((*path, "id"))
            first = f", and first in line {line}" if line is not None else ""
            self._wrong(step, f"{step.id!r} is there twice{first}", "id")
        seen.setdefault(step.id, step)

    # -- expressions ----------------------------------------------------------------------------

    def _check_texts(self, step: Step, *, in_item: bool) -> None:
        for place, text in step.texts():
            # A map's own command is told of its items; what they are is not.
            sees = in_item or (isinstance(step, spec.MapStep) and place[0] == "command")
            self._check_text(text, (*step.where.path, *place), in_item=sees)

    def _check_text(self, text: Text | Value, path: FieldPath, *, in_item: bool) -> None:
        for name in {use.changed for use in text.uses() if use.changed and self._secrets(use)}:
            self._reader.wrong(path, no_secret(name))
        told = {self._unknown(use, in_item=in_item) for use in text.uses()}
        for message in sorted(message for message in told if message):
            self._reader.doubtful(path, message)

    def _unknown(self, use: Used, *, in_item: bool) -> str:
        root, *rest = use.path
        if use.guarded:
            return ""
        if root not in ROOTS:
            return f"there is no `{root}`{did_you_mean(root, ROOTS)}"
        if root == "item" and not in_item:
            return "`item` is there only inside a fan-out"
        if root == "inputs" and rest and rest[0] not in self._inputs:
            return f"there is no input {rest[0]!r}{did_you_mean(rest[0], self._inputs)}"
        if root == "context" and rest and rest[0] not in self._context:
            if rest[0] in AT_THE_END:
                return f"`context.{rest[0]}` is there only in `on_end`"
            return f"there is no `context.{rest[0]}`{did_you_mean(rest[0], self._context)}"
        if root == "steps" and rest and not is_known(rest[0], self._all):
            return f"there is no step {rest[0]!r}{did_you_mean(rest[0], self._all)}"
        return ""

    def _secrets(self, use: Used) -> set[str]:
        """The secrets that it reaches."""
        secrets = {name for name, each in self._inputs.items() if each.secret}
        return secrets & set(use.path[1:2] or secrets) if use.path[0] == "inputs" else set()

    def _check_no_secret(self, step: spec.SystemStep, given: Value) -> None:
        for name in sorted({name for use in given.uses() for name in self._secrets(use)}):
            told = f"{name!r} is a secret, and a step of type {step.type} records what it is given"
            self._wrong(step, told, "spec")

    # -- the others -----------------------------------------------------------------------------

    def _check_wait_for(self, step: spec.FanInStep) -> None:
        for number, wanted in enumerate(step.wait_for):
            message = ""
            if wanted == step.id:
                message = "a fan-in cannot wait for itself"
            elif not is_known(wanted, self._all):
                message = (
                    f"there is no step {wanted!r}{did_you_mean(wanted, self._all - {step.id})}"
                )
            elif wanted.partition(":")[0] not in self._before:
                message = f"the step {wanted!r} comes after this one"
            if message:
                self._wrong(step, message, "wait_for", number)

    def _check_needs(self, step: Step) -> None:
        for name, wanted in step.needs.items():
            if name not in self._caps and name not in self._rates:
                known = {*self._caps, *self._rates}
                hint = did_you_mean(name, known) or "; declare it under `caps`"
                self._wrong(step, f"there is no cap {name!r}{hint}", "needs")
            elif name in self._caps and wanted > (most := most_of(self._caps[name])):
                self._wrong(step, f"{wanted} of the cap {name!r}, which has only {most}", "needs")

    def _check_verdict(self, step: spec.GateStep, *, in_item: bool) -> None:
        name, message = step.verdict_input, ""
        if name is None:
            return
        if in_item:
            message = "an input cannot answer for each item of a fan-out"
        elif name not in self._inputs:
            message = f"there is no input {name!r}{did_you_mean(name, self._inputs)}"
        elif step.on_reject == "retry" and "" not in (self._inputs[name].enum or ("",)):
            message = f"`on_reject: retry` empties the input {name!r}, whose `enum` has no ''"
        if message:
            self._wrong(step, message, "verdict_input")


def most_of(cap: CapSpec) -> int:
    """The most permits that a cap can have."""
    return cap if isinstance(cap, int) else cap.most


def walk(step: Step) -> Iterator[Step]:
    """A step and all steps inside it, in order."""
    yield step
    for _, inner in step.inside():
        yield from walk(inner)


def is_known(name: str, ids: Collection[str]) -> bool:
    """Whether it is the id of a step, or one that a run makes: `all:one:0`, `loop:child:2`."""
    parts = name.split(":")
    return parts[0] in ids and all(part in ids or part.isdecimal() for part in parts[1:])
