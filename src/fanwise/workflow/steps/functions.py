"""Steps that are functions: `call`, and the types of steps that others add.

`call: module:function` names one beside the file, or of a package; it gets its `input` as keyword
arguments. A type of steps is a function too, and nothing more:

    async def notify(fields, place):          # or a plain function; it runs in a thread
        await send(fields["to"], fields["text"])
        return {"sent": True}                 # the step's output: JSON-able

`fields` are the keys of the step that are not fanwise's, with `{{ }}` replaced; `place` says where
it runs (`fanwise.workflow.steps.port.StepPlace`). An exception is the step's failure; `StepFailed`
may carry an output. A package says in its `pyproject.toml`:

    [project.entry-points."fanwise.steps"]
    notify = "my_package.notify:notify"

A project has them in `.fanwise/steps/notify.py`, as the function `notify`. Such a file is code that
comes with a checkout, so it is imported only with `--trust-project`.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fanwise.errors import StepFailed, UsageError
from fanwise.kernel.user_call import perform, perform_anywhere
from fanwise.specs import function
from fanwise.specs.nearest import did_you_mean
from fanwise.system_names import load
from fanwise.workflow.spec import step_types
from fanwise.workflow.spec.steps import CallStep, CustomStep
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.port import Leaf, Resolved, StepPlace

FOLDER = Path(".fanwise") / "steps"
BY_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

Function = Callable[[Mapping[str, Any], StepPlace], Any]


class CallLeaf(Leaf[CallStep]):
    """Calls the function that the file names: JSON goes in and comes out."""

    def resolve(self, step: CallStep, frame: Frame) -> Resolved:
        roots = frame.roots()
        given = {name: value.render(roots) for name, value in step.input.items()}
        return {"call": step.call, "input": given}

    async def perform(self, step: CallStep, resolved: Resolved, place: StepPlace) -> StepResult:
        found = function(step.call, step.where.at("call"))
        work = partial(found, **resolved["input"])
        # Secrets travel by name only, and a function gets their values.
        secret = place.mask.is_in(resolved["input"])
        value = await _end_of(step.call, (perform if secret else perform_anywhere)(work))
        try:
            plain = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            told = f"{step.call} returned what is not JSON: {error}"
            step_ = "Return dicts, lists, texts, numbers, booleans and None; sorted(…) of a set"
            raise StepFailed(f"{told}. {step_}") from error
        return StepResult("completed", plain if isinstance(plain, dict) else {"result": plain})


async def _end_of(name: str, work: Awaitable[Any]) -> Any:
    """What it returns. `sys.exit` is its failure, and not the end of the whole run."""
    try:
        return await work
    except SystemExit as error:
        raise StepFailed(
            f"{name} called sys.exit({error.code!r}); return a value instead"
        ) from None


def call_problem(found: Callable[..., Any], given: Collection[str]) -> str | None:
    """Why a function cannot be called with these keywords; None: it can, or that is not known."""
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):  # some that are written in C
        return None
    kinds = {name: each.kind for name, each in signature.parameters.items()}
    takes = [name for name, kind in kinds.items() if kind in BY_KEYWORD]
    if inspect.Parameter.VAR_KEYWORD not in kinds.values():
        for name in given:
            if name not in takes:
                return f"it takes no {name!r}{did_you_mean(name, takes) or ', and nothing else'}"
    try:
        signature.bind(**dict.fromkeys(given))
    except TypeError as error:
        return f"it cannot be called so: {error}"
    return None


class CustomLeaf(Leaf[CustomStep]):
    """Calls a function that a package or the project provides."""

    def __init__(self, of_project: Mapping[str, Function]) -> None:
        self._of_project = of_project

    def resolve(self, step: CustomStep, frame: Frame) -> Resolved:
        roots = frame.roots()
        return {name: value.render(roots) for name, value in step.fields.items()}

    async def perform(self, step: CustomStep, resolved: Resolved, place: StepPlace) -> StepResult:
        work = self._of_project.get(step.type) or of_package(step.type)
        output = await _end_of(step.type, perform(work, resolved, place))
        if output is not None and not isinstance(output, dict):
            kind = type(output).__name__
            raise StepFailed(f"a step of type {step.type} gave a {kind}, not a dict")
        return StepResult("completed", output or {})


def of_package(name: str) -> Function:
    """The function that a package registers. `UsageError`."""
    (value,) = step_types.registered()[name]
    try:
        found: Function = load(value)
    except Exception as error:
        raise UsageError(
            f"the type of steps {name!r} ({value}) cannot be loaded: {error}"
        ) from error
    return found


def of_project(project: Path) -> dict[str, Function]:
    """The functions in the project's own files: this imports them. `UsageError`."""
    return {file.stem: _imported(file) for file in _files(project)}


def names_of_project(project: Path) -> list[str]:
    """The names that `of_project` would return; this imports nothing."""
    return [file.stem for file in _files(project)]


def _files(project: Path) -> list[Path]:
    return sorted((project / FOLDER).glob("*.py"))


def _imported(file: Path) -> Function:
    name = f"fanwise_project_steps.{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        found: Function = getattr(module, file.stem.replace("-", "_"))
    except Exception as error:
        raise UsageError(f"{file} cannot be used: {type(error).__name__}: {error}") from error
    return found
