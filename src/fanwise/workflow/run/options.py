"""What the command line asks of a workflow, besides its file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from fanwise.core.retry import Retry
from fanwise.errors import UsageError
from fanwise.specs.nearest import did_you_mean
from fanwise.workflow.spec.steps import FanOutStep, GateStep, LoopStep, Step, WorkflowStep
from fanwise.workflow.spec.workflow_file import LoadedWorkflow
from fanwise.workflow.steps.gate import chosen

SPEC_KIT = "spec-kit"
MOST_BYTES = 5 * 1024 * 1024
"""The size limit of a file that is the value of an input."""
MOST_NAMED = 20
"""How many steps an error lists."""


class RunOptions(msgspec.Struct, frozen=True):
    """The options that a workflow takes."""

    input: tuple[str, ...] | Mapping[str, Any] = ()
    """`name=value`, `name=@file`, or `name=@@text` for `@text`; from Python, names to values."""
    answer: tuple[str, ...] = ()
    """`step=choice`."""
    start: str | None = None
    """The step to run again, with everything after it."""
    stop_after: str | None = None
    lenient: bool = False
    compat: str | None = None
    trust_project: bool = False
    project: str | None = None
    """Where its commands run; None: in the working directory."""
    workspace: Mapping[str, str] | None = None
    """The variables of a workspace that its commands run in. Nothing of them stays there."""
    retry: Retry = Retry.none()
    """Of steps that run something and have no `retry` of their own."""
    names: tuple[str, ...] = ()
    """Of the arguments beside which inputs are given, in Python: one may be meant."""

    def __post_init__(self) -> None:
        if self.compat not in (None, SPEC_KIT):
            raise UsageError(f"--compat {self.compat} is not known", f"Write --compat {SPEC_KIT}")

    def inputs_of(self, secrets: Collection[str] = ()) -> dict[str, Any]:
        """By name; the values are texts as they were given, or what a file has.

        `secrets`: of these, what was given is left as it is.
        """
        if isinstance(self.input, Mapping):
            return dict(self.input)
        given = pairs("--input", self.input)
        return {
            name: value if name in secrets else _content(name, value)
            for name, value in given.items()
        }

    def check(self, workflow: LoadedWorkflow) -> None:
        """Check that the steps and gates that it names exist. `UsageError`."""
        for option, named in (("--from", self.start), ("--stop-after", self.stop_after)):
            if named is not None:
                _check_step(option, named, workflow)
        self.answers(workflow, None)

    def answers(self, workflow: LoadedWorkflow, waiting: str | None) -> dict[str, str]:
        """By the path of the gate. `waiting`: the gate at which the run is paused.

        The id alone means that gate, in whichever item or iteration it waits.
        """
        found: dict[str, str] = {}
        for path, given in pairs("--answer", self.answer).items():
            asking = [] if waiting is None else gates_at(workflow, waiting)
            asking = [gate for gate in asking if gate.id == path]
            meant = waiting if waiting is not None and asking else path
            found[meant] = _choice(path, given, asking or _meant(workflow, path))
        return found


def _meant(workflow: LoadedWorkflow, path: str) -> list[GateStep]:
    """The gates that an answer may be for. An id alone is one, wherever the gate stands."""
    gates = [step for step in _every(workflow) if isinstance(step, GateStep)]
    found = [gate for gate in gates if gate.id == path] or gates_at(workflow, path)
    if not found:
        ids = {gate.id for gate in gates}
        hint = did_you_mean(path.rpartition(":")[2], ids) if ids else "; the workflow has none"
        raise UsageError(f"there is no gate {path!r}{hint}")
    return found


def _choice(path: str, given: str, gates: list[GateStep]) -> str:
    choices = (chosen(given, list(gate.options)) for gate in gates)
    choice = next((each for each in choices if each is not None), None)
    if choice is None:
        known = ", ".join(dict.fromkeys(option for gate in gates for option in gate.options))
        raise UsageError(f"{given!r} is no answer to {path!r}", f"There are: {known}")
    return choice


def _every(workflow: LoadedWorkflow) -> Iterator[Step]:
    """All steps, with those of included files."""
    for step in workflow.walk():
        yield step
        if isinstance(step, WorkflowStep):
            yield from _every(step.target)


def pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign or not name:
            raise UsageError(
                f"{option} {each} has no name or no value", f"Write {option} NAME=VALUE"
            )
        found[name.strip()] = value
    return found


def _content(name: str, value: str) -> str:
    if not value.startswith("@"):
        return value
    if value.startswith("@@"):
        return value[1:]
    try:
        data = _read(Path(value[1:]))
    except OSError as error:
        raise UsageError(
            f"the file of the input {name!r} cannot be read: {value[1:]}: {error.strerror}"
        ) from error
    if len(data) > MOST_BYTES:
        raise UsageError(f"{value[1:]} has more than {MOST_BYTES:,} bytes, too many for an input")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{value[1:]} is not UTF-8 text: {error.reason}") from error


def _read(file: Path) -> bytes:
    """At most a byte more than is allowed; of what has no end, or nobody writes to, nothing."""
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is not a regular file")
    with file.open("rb") as opened:
        return opened.read(MOST_BYTES + 1)


def _check_step(option: str, named: str, workflow: LoadedWorkflow) -> None:
    around = dict(_named(workflow.steps))
    if named not in around:
        near = did_you_mean(named, around, otherwise_all=False)
        raise UsageError(f"{option} {named}: there is no such step{near}", _known(around))
    if option == "--stop-after" and around[named] is not None:
        raise UsageError(
            f"{option} {named}: it stands in a fan-out, and so is many steps",
            f"Name the fan-out: {around[named]}",
        )


def _known(ids: Collection[str]) -> str:
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    return f"There are: {', '.join([*ids][:MOST_NAMED])}{more}"


def _named(
    steps: Iterable[Step], file: str = "", around: str | None = None
) -> Iterator[tuple[str, str | None]]:
    """Each step as it can be named (`test`; in another file: `sub:test`), and its fan-out."""
    for step in steps:
        name = f"{file}{step.id}"
        yield name, around
        if isinstance(step, WorkflowStep):
            yield from _named(step.target.steps, f"{name}:", around)
        for place, inner in step.inside():
            fans = isinstance(step, FanOutStep) and place == ("step",) and around is None
            yield from _named([inner], file, name if fans else around)


# -- which gate a path means: `ok`, `loop:ok:2`, `each:ok:0`, `each:whole:3:ok`, `sub:ok` ----------
#
# A path is not known before a run has been there, for items and iterations have numbers in it. But
# its shape is: this follows the steps of the file along the path, as a run names them.

Named = tuple[int, bool]
"""How steps are named somewhere: after so many parts of the path, and whether with a number."""


def gates_at(workflow: LoadedWorkflow, path: str) -> list[GateStep]:
    """The gates that may be at that path: none if no run could come there."""
    return [*_Following(path.split(":")).all(workflow.steps, {(0, False)})]


class _Following:
    def __init__(self, parts: list[str]) -> None:
        self._parts = parts

    def all(self, steps: Iterable[Step], named: set[Named]) -> Iterator[GateStep]:
        if named:
            for step in steps:
                ends = {end for each in named if (end := self._end(step.id, each)) is not None}
                yield from self._one(step, ends, named)

    def _one(self, step: Step, ends: set[int], named: set[Named]) -> Iterator[GateStep]:
        if isinstance(step, GateStep) and len(self._parts) in ends:
            yield step
        if isinstance(step, WorkflowStep):
            yield from self.all(step.target.steps, {(end, False) for end in ends})
        if isinstance(step, LoopStep):
            named = named | {(end, True) for end in ends}
        for _, inner in step.inside():
            if isinstance(step, FanOutStep) and inner is step.step:
                yield from self._item(inner, ends)
            else:
                yield from self.all([inner], named)

    def _item(self, template: Step, ends: set[int]) -> Iterator[GateStep]:
        found = (self._end(template.id, (end, True)) for end in ends)
        items = {end for end in found if end is not None}
        yield from self._one(template, items, {(end, False) for end in items})

    def _end(self, step_id: str, named: Named) -> int | None:
        """Where the path goes on behind this step; None if it does not lead there."""
        begin, numbered = named
        here = self._parts[begin : begin + 1 + numbered]
        if len(here) <= numbered or here[0] != step_id:
            return None
        return None if numbered and not here[1].isdecimal() else begin + len(here)
