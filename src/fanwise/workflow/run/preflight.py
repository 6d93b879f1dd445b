"""What is certain to fail, found before anything runs; and what only the run can tell.

Constants are checked wherever they stand. What depends on inputs or on the project is checked where
the steps are certain to come: not in a branch that may not be taken, a fan-out that may have no
items, or a step whose failure the file allows for.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from fanwise.errors import (
    BadExpression,
    BadSpec,
    FanwiseError,
    Problem,
    UnknownModel,
    UsageError,
)
from fanwise.models.names import BUILT_IN, PROVIDERS
from fanwise.processes.shell_line import MARK, place_values
from fanwise.specs import FieldPath, function
from fanwise.specs.nearest import did_you_mean
from fanwise.workflow.expressions import Text, Value, truth
from fanwise.workflow.expressions.kinds import kind_of
from fanwise.workflow.expressions.text import Part
from fanwise.workflow.expressions.tree import Path as NamePath
from fanwise.workflow.expressions.values import (
    BOOLEAN,
    LIST,
    MAPPING,
    NOTHING,
    NUMBER,
    TEXT,
    Impossible,
)
from fanwise.workflow.run.fan_out_steps import cap_of, items_of
from fanwise.workflow.spec import steps as spec
from fanwise.workflow.spec.references import walk
from fanwise.workflow.spec.steps import Step
from fanwise.workflow.spec.workflow_file import LoadedWorkflow, bind_inputs
from fanwise.workflow.steps.agent import Agents, check_model, is_model
from fanwise.workflow.steps.functions import call_problem
from fanwise.workflow.steps.init import PROGRAM
from fanwise.workflow.steps.kinds import Project

Roots = Mapping[str, Any]
RUN_TIME: Mapping[str, tuple[str, ...]] = {
    "items": (LIST,),
    "lines": (TEXT,),
    "max_concurrency": (NUMBER, TEXT),
    "integration": (TEXT, NOTHING),
    "model": (TEXT, NOTHING),
    "cwd": (TEXT, NUMBER, NOTHING),
}
"""Fields that can fail a step by their value, and the kinds that they take."""
INPUT_KINDS = {
    "string": TEXT, "number": NUMBER, "boolean": BOOLEAN, "list": LIST, "object": MAPPING,
}  # fmt: skip
PROCESS = {"stdout": TEXT, "stderr": TEXT, "exit_code": NUMBER}
FAN = {"items": LIST, "results": LIST, "item_count": NUMBER, "max_concurrency": NUMBER}
"""The fields of outputs whose kinds are certain."""


class Preflight:
    """One walk over the steps of a file, and of the files that it includes."""

    def __init__(
        self,
        workflow: LoadedWorkflow,
        project: Project,
        inputs: Roots | None,
    ) -> None:
        """`inputs`: None if they are not known yet."""
        self.agents = Agents(project.folder)
        self.project = project
        self.initialized = False
        """Whether an `init` comes before: it may give the project an agent."""
        self.at_run_time: list[str] = []
        """What cannot be checked before the run, a line for each."""
        roots = {} if inputs is None else {"inputs": inputs}
        self.problems = _FileCheck(self, workflow, roots, "").problems(certain=True)


class _FileCheck:
    def __init__(
        self, found: Preflight, workflow: LoadedWorkflow, roots: Roots, prefix: str
    ) -> None:
        self._found = found
        self._workflow = workflow
        self._roots = roots
        self._prefix = prefix
        self._problems: list[Problem] = []
        self._kinds: dict[tuple[str, ...], str] = {}
        """What is known of the outputs of steps that come before for certain."""
        walked = [*workflow.walk()]
        inner = {
            each.id for fan in walked if isinstance(fan, spec.FanOutStep) for each in walk(fan.step)
        }
        ids = Counter(step.id for step in walked)
        self._seen_by_all = {name for name, times in ids.items() if times == 1} - inner

    def problems(self, *, certain: bool) -> list[Problem]:
        self._steps(self._workflow.steps, certain=certain)
        self._steps(self._workflow.on_end, certain=certain)
        return self._problems

    def _wrong(self, step: Step, place: FieldPath, message: str) -> None:
        problem = self._workflow.document.problem((*step.where.path, *place), message)
        if problem not in self._problems:
            self._problems.append(problem)

    def _later(self, step: Step, message: str) -> None:
        self._found.at_run_time.append(f"{self._prefix}{step.id}: {message}")

    def _steps(self, steps: Iterable[Step], *, certain: bool) -> None:
        for step in steps:
            inside = certain and not step.continue_on_error and self._runs(step)
            self._texts(step, certain=inside)
            match step:
                case spec.FanOutStep() | spec.MapStep():
                    self._fan_out(step, certain=inside)
                case spec.ShellStep() if not self._found.project.compat:
                    self._shell(step, certain=inside)
                case spec.AgentStep():
                    self._agent(step, certain=inside)
                case spec.CallStep():
                    self._call(step)
                case spec.InitStep():
                    self._init(step, certain=inside)
                case spec.WorkflowStep():
                    self._workflow_step(step, certain=inside)
            if isinstance(step, spec.ProcessStep):
                self._folder(step)
            taken = self._taken(step)
            for place, inner in step.inside():
                self._steps([inner], certain=inside and place[:-1] == taken)
            if inside and step.id in self._seen_by_all:
                fans = isinstance(step, spec.FanOutStep | spec.MapStep)
                kinds = FAN if fans else PROCESS if isinstance(step, spec.ProcessStep) else {}
                self._kinds |= {(step.id, "output", name): kind for name, kind in kinds.items()}

    def _runs(self, step: Step) -> bool:
        """Whether its `if` holds for certain."""
        return step.if_ is None or self._holds(step.if_)

    def _taken(self, step: Step) -> FieldPath | None:
        """The field whose steps are executed for certain; None: that is not known."""
        match step:
            case spec.IfStep() if step.condition.is_known(self._roots):
                return ("then",) if self._holds(step.condition) else ("else",)
            case spec.SwitchStep() if step.expression.is_known(self._roots):
                case = step.case(self._value(step.expression))
                return ("default",) if case is None else ("cases", case)
            case spec.DoWhileStep():
                return ("steps",)
            case spec.LoopStep() if step.condition.is_known(self._roots) and self._holds(
                step.condition
            ):
                return ("steps",)
            case spec.FanOutStep() if step.items.is_known(self._roots) and self._value(step.items):
                return ()
        return None

    def _holds(self, condition: Value) -> bool:
        """Whether it is known, and true."""
        return condition.is_known(self._roots) and truth(self._value(condition))

    def _value(self, text: Text | Value) -> Any:
        try:
            return text.render(self._roots)
        except UsageError:  # told already, by `_texts`
            return None

    # -- what can be wrong ----------------------------------------------------------------------

    def _texts(self, step: Step, *, certain: bool) -> None:
        for place, text in step.texts():
            if text.is_known(self._roots):
                if certain or not text.names():
                    self._tried(step, place, lambda text=text: text.render(self._roots))
                continue
            self._check_kinds(step, place, text, certain=certain)
            if place[0] in RUN_TIME and any(path[0] != "inputs" for path in text.names()):
                self._later(step, f"{place[0]} is {text.source}")

    def _check_kinds(
        self, step: Step, place: FieldPath, text: Text | Value, *, certain: bool
    ) -> None:
        """What no value can make right."""
        known = self._kind_at if certain else _any_kind
        for part in text.expressions:
            try:
                found = kind_of(part.tree, known)
            except Impossible as error:
                self._wrong(step, place, str(BadExpression(part.source, str(error))))
                continue
            wanted = RUN_TIME.get(str(place[0]), ()) if part is text.lone else ()
            if found is not None and wanted and found not in wanted:
                told = f"`{part.source}` is {found}, and {' or '.join(wanted[:2])} is needed"
                self._wrong(step, place, told)

    def _kind_at(self, path: tuple[str, ...]) -> str | None:
        root, *rest = path
        if root != "inputs":
            return self._kinds.get(tuple(rest)) if root == "steps" else None
        declared = self._workflow.inputs.get(rest[0]) if len(rest) == 1 else None
        if declared is None or not (declared.required or declared.has_default):
            return None
        return INPUT_KINDS[declared.type]

    def _tried(self, step: Step, place: FieldPath, make: Any) -> None:
        try:
            make()
        except UsageError as error:
            self._wrong(step, place, str(error))

    def _fan_out(self, step: spec.FanOutStep | spec.MapStep, *, certain: bool) -> None:
        width, items = step.max_concurrency, step.items
        if isinstance(width, Text) and self._checks(width, certain=certain):
            self._tried(step, ("max_concurrency",), lambda: cap_of(step, self._roots))
        if items is not None and self._checks(items, certain=certain):
            self._tried(step, ("items",), lambda: items_of(step, items, self._roots))

    def _checks(self, text: Text | Value, *, certain: bool) -> bool:
        return text.is_known(self._roots) and (certain or not text.names())

    def _shell(self, step: spec.ShellStep, *, certain: bool) -> None:
        """Texts that stand where a shell would evaluate them."""
        line = "".join(self._placed(part, certain=certain) for part in step.run.parts)
        self._tried(step, ("run",), lambda: place_values(line))

    def _placed(self, part: str | Part, *, certain: bool) -> str:
        """A mark for what is no number for certain; else a number, which may stand anywhere."""
        if isinstance(part, str):
            return part
        tree = part.tree
        if isinstance(tree, NamePath) and tree.root == "inputs" and len(tree.parts) == 1:
            declared = self._workflow.inputs.get(str(tree.parts[0]))
            if certain and declared is not None and declared.type == "string":
                return MARK
        try:
            found = kind_of(tree, self._kind_at if certain else _any_kind)
        except Impossible:
            found = None  # told already
        return "0" if part.is_raw or found in (None, NUMBER, BOOLEAN) else MARK

    def _folder(self, step: spec.ProcessStep) -> None:
        if step.cwd is not None and step.cwd.is_known(self._roots):
            folder = self._found.project.folder / str(self._value(step.cwd) or "")
            if not folder.is_dir():
                self._later(step, f"the folder {folder} is not there now")

    def _agent(self, step: spec.AgentStep, *, certain: bool) -> None:
        header = self._workflow.header
        texts = step.model or header.model, step.integration or header.integration
        model, name = (
            self._value(text) if text is not None and text.is_known(self._roots) else text
            for text in texts
        )
        if isinstance(step, spec.PromptStep) and isinstance(model, str) and is_model(model):
            return self._model(step, model)
        if isinstance(name, Text) or (
            isinstance(model, Text) and isinstance(step, spec.PromptStep)
        ):
            return None  # they are not known
        place: FieldPath = () if step.integration is None else ("integration",)
        literal = texts[1] is not None and not texts[1].names()
        try:
            agent = self._found.agents.named(self._found.agents.meant(name))
        except UsageError as error:
            if literal or (certain and not self._found.initialized):
                self._wrong(step, place, f"{_no_provider(model)}{error}")
            else:
                self._later(step, str(error))
            return None
        fixed = texts[0] is not None and not texts[0].names()
        if isinstance(model, str) and model.startswith("-") and (certain or fixed):
            place = () if step.model is None else ("model",)
            self._wrong(step, place, f"the model {model!r} would be an option of the agent")
        commands = isinstance(step, spec.CommandStep) and agent.command
        program = (commands or agent.argv)[0]
        if "PATH" not in step.env and shutil.which(program) is None:
            self._later(step, f"needs the program {program!r}, which is not installed now")
        return None

    def _model(self, step: spec.AgentStep, model: str) -> None:
        options = {n: self._value(v) for n, v in step.options.items() if v.is_known(self._roots)}
        try:
            check_model(model, {**(self._workflow.header.options or {}), **options})
        except UnknownModel as error:
            self._wrong(step, () if step.model is None else ("model",), str(error))
        except FanwiseError as error:
            self._later(step, str(error))

    def _call(self, step: spec.CallStep) -> None:
        try:
            found = function(step.call, step.where.at("call"))
        except BadSpec as error:
            self._problems += error.problems
            return
        if problem := call_problem(found, step.input):
            self._wrong(step, ("input",), f"{step.call}: {problem}")

    def _init(self, step: spec.InitStep, *, certain: bool) -> None:
        self._found.initialized = True
        if shutil.which(PROGRAM) is not None:
            return
        problem = f"needs the program {PROGRAM!r} (pip install specify-cli), which is not installed"
        if certain:
            self._wrong(step, ("type",), problem)
        else:
            self._later(step, problem)

    def _workflow_step(self, step: spec.WorkflowStep, *, certain: bool) -> None:
        roots: dict[str, Any] = {}
        if all(value.is_known(self._roots) for value in step.input.values()):
            given = {name: self._value(value) for name, value in step.input.items()}
            try:
                roots["inputs"] = bind_inputs(step.target, given)
            except UsageError as error:
                if certain or not any(value.names() for value in step.input.values()):
                    self._wrong(step, ("input",), str(error))
        inner = _FileCheck(self._found, step.target, roots, f"{self._prefix}{step.id}:")
        for problem in inner.problems(certain=certain):
            self._wrong(step, ("workflow",), problem.at(step.target.document.name))


def _any_kind(path: tuple[str, ...]) -> None:
    """Nothing is known of the value at a path."""


def _no_provider(model: Any) -> str:
    """A model that looks as if it had a provider, where there is no agent to give it to."""
    provider, sign, _ = str(model).partition(":") if isinstance(model, str) else ("", "", "")
    near = did_you_mean(provider, [*PROVIDERS, *BUILT_IN], otherwise_all=False)
    return f"{provider!r} in `model` is no provider{near or '.'} And " if sign else ""
