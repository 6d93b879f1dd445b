"""The file, schema 1.0: a `LoadedWorkflow`, or a `BadSpec` with all that is wrong in it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from pydantic import Field, field_validator

from fanwise.core.caps import Limit
from fanwise.errors import BadSpec, UsageError
from fanwise.specs import Document, Duration, LimitsSpec, SpecModel
from fanwise.specs.nearest import did_you_mean
from fanwise.workflow.spec.fields import TextField
from fanwise.workflow.spec.inputs import InputSpec
from fanwise.workflow.spec.overlays import read_composed
from fanwise.workflow.spec.read_steps import ReadingRules, StepReader
from fanwise.workflow.spec.references import References, most_of, walk
from fanwise.workflow.spec.steps import Step, WorkflowStep

SCHEMA = "1.0"
MOST_FILES = 20
"""Files that may include one another, one inside the other."""
MOST_INCLUDED = 1000
"""Files in all, each counted as often as it is included: a few that name each other twice would
else be millions of steps."""

Read = Callable[[Path], Document]


class HeaderSpec(SpecModel):
    """The fields under `workflow:`."""

    id: str
    name: str = Field(min_length=1)
    version: str = "0.0.0"
    author: str | None = None
    description: str | None = None
    integration: TextField | None = None
    model: TextField | None = None
    options: dict[str, Any] | None = None

    @field_validator("id")
    @classmethod
    def _plain(cls, given: str) -> str:
        if not re.fullmatch("[a-z0-9]([a-z0-9-]*[a-z0-9])?", given):
            raise ValueError("must be small letters, digits and `-` between them")
        return given

    @field_validator("version")
    @classmethod
    def _three_numbers(cls, given: str) -> str:
        if not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", given):
            raise ValueError("must be X.Y.Z")
        return given


class RequiresSpec(SpecModel):
    """What the author expects; nobody enforces it."""

    speckit_version: str | None = None
    integrations: Any = None


class FileSpec(LimitsSpec):
    """The top of the file; its steps are checked in their own places."""

    schema_version: str = SCHEMA
    workflow: HeaderSpec
    requires: RequiresSpec | None = None
    inputs: dict[str, InputSpec] = Field(default_factory=dict)
    steps: list[Any] = Field(min_length=1)
    on_end: list[Any] = Field(default_factory=list)
    on_end_grace: Duration = 60.0

    @field_validator("schema_version", mode="before")
    @classmethod
    def _is_ours(cls, given: Any) -> Any:
        if isinstance(given, bool) or str(given) != SCHEMA:
            raise ValueError(f"must be {SCHEMA!r}")
        return SCHEMA


class LoadedWorkflow(msgspec.Struct, frozen=True):
    """A file that can be run."""

    document: Document
    file: FileSpec
    steps: tuple[Step, ...]
    on_end: tuple[Step, ...]
    """Steps that run whenever an execution ends, unless it pauses."""
    warnings: tuple[str, ...] = ()
    """What was let pass, because the file was read leniently; each with its place."""
    included: int = 0
    """Files that it includes, each counted as often as it is included."""
    height: int = 0
    """How many files are one inside the other, below it."""

    @property
    def header(self) -> HeaderSpec:
        return self.file.workflow

    @property
    def inputs(self) -> dict[str, InputSpec]:
        return self.file.inputs

    @property
    def real_folder(self) -> str:
        """The folder in which the file really is, links resolved: `context.workflow_dir`."""
        return str(path_of(self.document).resolve().parent)

    def caps_and_rates(self) -> dict[str, list[Limit]]:
        """By name: its own, and those of the files that it includes.

        They stand for what there is, a GPU or a provider, so they hold in the whole run; where
        files name the same, the word of the one that includes the other counts.
        """
        found: dict[str, list[Limit]] = {}
        for target in _targets(self.all_steps):
            found = target.caps_and_rates() | found
        return found | self.file.limits()

    @property
    def all_steps(self) -> tuple[Step, ...]:
        """Its steps, then those of `on_end`."""
        return (*self.steps, *self.on_end)

    def walk(self) -> Iterator[Step]:
        """All steps, also nested ones, in order."""
        for step in self.all_steps:
            yield from walk(step)

    def files(self) -> dict[str, Document]:
        """Its own document and those of the files that it includes, by their absolute paths."""
        found = {str(path_of(self.document)): self.document}
        for target in _targets(self.all_steps):
            found |= target.files()
        return found


def load(
    document: Document,
    *,
    lenient: bool = False,
    types: Collection[str] = (),
    untrusted: Collection[str] = (),
    read: Read = read_composed,
) -> LoadedWorkflow:
    """The document as a workflow, checked completely. `BadSpec`.

    `lenient`: what spec-kit takes without a word (unknown keys, names that nothing declares) is a
    warning. `types`: types of steps that the project itself has; `untrusted`: those that it
    would have, if it was trusted. `read` gives the files that `workflow` steps name: those of the
    run's own copy, on a resume.
    """
    return _load(document, _Loading(ReadingRules(lenient, types, untrusted), read))


class _Loading(msgspec.Struct, frozen=True):
    """How files are read, and which are being read."""

    rules: ReadingRules
    read: Read
    inside: tuple[Path, ...] = ()
    documents: dict[Path, Document] = {}
    """The files that were read, by the path under which they were found: each is read once, however
    often it is included. Its steps are made anew each time: each stands in one place."""
    included: list[Path] = []
    """All inclusions so far."""

    def within(self, document: Document) -> _Loading:
        return msgspec.structs.replace(self, inside=(*self.inside, path_of(document)))

    def load(self, path: Path) -> LoadedWorkflow:
        self.included.append(path)
        if path not in self.documents:
            self.documents[path] = self.read(path)
        return _load(self.documents[path], self)


def _load(document: Document, loading: _Loading) -> LoadedWorkflow:
    reader = StepReader(document, loading.rules)
    included = height = 0
    top = reader.model(FileSpec, ())
    steps = reader.steps(("steps",)) if "steps" in document.data else ()
    on_end = reader.steps(("on_end",)) if "on_end" in document.data else ()
    if top is not None and not reader.problems:
        header = top.workflow
        references = References(reader, steps, top.inputs, top, on_end)
        references.check({"integration": header.integration, "model": header.model})
        for step in _inclusions((*steps, *on_end)):
            step._target = _included(reader, step, loading.within(document))
        targets = list(_targets((*steps, *on_end)))
        _check_caps(reader, top, targets)
        included = sum(1 + target.included for target in targets)
        height = max((1 + target.height for target in targets), default=0)
        if included > MOST_INCLUDED:
            reader.wrong(("steps",), f"more than {MOST_INCLUDED} files in all are included")
    if reader.problems or top is None:
        raise BadSpec(document.name, reader.problems)
    warnings = tuple(dict.fromkeys(reader.warnings))
    return LoadedWorkflow(document, top, steps, on_end, warnings, included, height)


# -- files that include others --------------------------------------------------------------------


def path_of(document: Document) -> Path:
    """Where the file is, absolute."""
    return Path(os.path.normpath(document.folder / Path(document.name).name))


def _inclusions(steps: Iterable[Step]) -> Iterator[WorkflowStep]:
    for step in (inner for top in steps for inner in walk(top)):
        if isinstance(step, WorkflowStep):
            yield step


def _targets(steps: Iterable[Step]) -> Iterator[LoadedWorkflow]:
    return (step.target for step in _inclusions(steps) if step.target is not None)


def _included(reader: StepReader, step: WorkflowStep, loading: _Loading) -> LoadedWorkflow | None:
    place, inside = (*step.where.path, "workflow"), loading.inside
    path = Path(os.path.normpath(reader.document.folder / step.workflow))
    # By what the files are, not by how they are called: a link may lead back.
    real = [os.path.realpath(each) for each in (*inside, path)]
    begin = real.index(real[-1])
    too_deep = f"more than {MOST_FILES} files, one inside the other"
    target = None
    if begin < len(inside):
        chain = " → ".join(each.name for each in (*inside[begin:], path))
        reader.wrong(place, f"the files include each other: {chain}")
    elif len(loading.included) > MOST_INCLUDED:
        reader.wrong(place, f"more than {MOST_INCLUDED} files in all are included")
    elif len(inside) > MOST_FILES:
        reader.wrong(place, too_deep)
    else:
        try:
            target = loading.load(path)
        except BadSpec as error:
            more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
            reader.wrong(place, error.problems[0].at(error.file) + more)
    if target is None:
        return None
    if len(inside) + target.height > MOST_FILES:
        reader.wrong(place, too_deep)
        return None
    for given, key, told in (
        (target.file.budget, "budget", "a run has one budget, of the file that is run"),
        (target.file.on, "on", "a run has one place, of the file that is run"),
        (target.on_end, "on_end", "only the file that is run can have `on_end`"),
    ):
        if given:
            problem = target.document.problem((key,), told)
            reader.wrong(place, problem.at(target.document.name))
    reader.warnings += target.warnings
    _check_given(reader, step, target)
    return target


def _check_caps(reader: StepReader, top: LimitsSpec, targets: Iterable[LoadedWorkflow]) -> None:
    """A cap that an included file has too is that of the file that includes it: is it enough?"""
    for target in targets:
        _check_caps(reader, top, _targets(target.steps))
        for step in target.walk():
            for name in step.needs.keys() & top.caps.keys():
                if step.needs[name] > (most := most_of(top.caps[name])):
                    told = f"{step.id!r} in {target.document.name} needs {step.needs[name]} of it"
                    reader.wrong(("caps", name), f"{told}, not only {most}")


def _check_given(reader: StepReader, step: WorkflowStep, target: LoadedWorkflow) -> None:
    for name in step.input:
        if name not in target.inputs:
            message = f"{step.workflow} has no such input{did_you_mean(name, target.inputs)}"
            reader.doubtful((*step.where.path, "input", name), message, key=True)
    for name, spec in target.inputs.items():
        if spec.required and not spec.has_default and name not in step.input:
            reader.wrong((*step.where.path,), f"{step.workflow} needs the input {name!r}")


# -- inputs ---------------------------------------------------------------------------------------


def bind_inputs(
    workflow: LoadedWorkflow, given: Mapping[str, Any], options: Sequence[str] = ()
) -> dict[str, Any]:
    """The inputs as they are declared, of what somebody gave; None counts as not given.

    `UsageError` for what is not declared, missing, or of another type. `options`: the names of what
    else may be given, and may be meant.
    """
    declared, what = workflow.inputs, "input or option" if options else "input"
    problems = [
        f"there is no {what} {name!r}"
        + (did_you_mean(name, [*declared, *options], otherwise_all=False) or _known(declared))
        for name in given
        if name not in declared
    ]
    bound: dict[str, Any] = {}
    step = ""
    for name, spec in workflow.inputs.items():
        value = given.get(name)
        try:
            if value is not None:
                bound[name] = spec.bind(value)
            elif spec.has_default:
                bound[name] = spec.bind_default()
            elif spec.required:
                step = "Give inputs by --input NAME=VALUE, or NAME=@FILE; in Python by keyword"
                if name in options:
                    step = f"`{name}` is an option too: give inputs={{{name!r}: …}}"
                asked = f" ({spec.prompt})" if spec.prompt else ""
                problems.append(f"the input {name!r} is missing{asked}")
        except ValueError as error:
            problems.append(f"the input {name!r}: {error}")
    if problems:
        raise UsageError("; ".join(problems), step)
    return bound


def _known(inputs: Mapping[str, InputSpec]) -> str:
    return f"; its inputs: {', '.join(inputs)}" if inputs else "; it has no inputs"
