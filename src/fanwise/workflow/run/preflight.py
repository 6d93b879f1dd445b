"""What is certain to fail, found before anything runs; and what only the run can tell.

Constants are checked wherever they stand. What depends on inputs or on the project is checked where
the steps are certain to come: not in a branch that may not be taken, a fan-out that may have no
items, or a step whose failure the file allows for.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from fanwise.errors import BadSpec, Problem, UsageError
from fanwise.processes.shell_line import MARK, place_values
from fanwise.specs import FieldPath, function
from fanwise.workflow.expressions import Text, Value, truth
from fanwise.workflow.expressions.text import Part
from fanwise.workflow.expressions.tree import Path as NamePath
from fanwise.workflow.run.fan_out_steps import cap_of, items_of
from fanwise.workflow.spec import steps as spec
from fanwise.workflow.spec.steps import Step
from fanwise.workflow.spec.workflow_file import LoadedWorkflow, bind_inputs
from fanwise.workflow.steps.agent import Agents, is_model
from fanwise.workflow.steps.init import PROGRAM

Roots = Mapping[str, Any]
RUN_TIME = ("items", "lines", "max_concurrency", "integration", "model")
"""Fields that can fail a step by their value."""


class Preflight:
    """One walk over the steps of a file, and of the files that it includes."""

    def __init__(
        self,
        workflow: LoadedWorkflow,
        agents: Agents,
        inputs: Roots | None,
        *,
        compat: bool = False,
    ) -> None:
        """`inputs`: None if they are not known yet. `compat`: values become part of the line."""
        self._agents = agents
        self.compat = compat
        self.initialized = False
        """Whether an `init` comes before: it may give the project an agent."""
        self.at_run_time: list[str] = []
        """What cannot be checked before the run, a line for each."""
        roots = {} if inputs is None else {"inputs": inputs}
        self.problems = _FileCheck(self, workflow, roots, "").problems(certain=True)

    def agent_problem(self, name: Any) -> str | None:
        """Why nobody can be given a prompt; None: the agent is known."""
        try:
            self._agents.named(self._agents.meant(name))
        except UsageError as error:
            return str(error)
        return None


class _FileCheck:
    def __init__(
        self, found: Preflight, workflow: LoadedWorkflow, roots: Roots, prefix: str
    ) -> None:
        self._found = found
        self._workflow = workflow
        self._roots = roots
        self._prefix = prefix
        self._problems: list[Problem] = []

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
                case spec.ShellStep() if not self._found.compat:
                    self._shell(step, certain=inside)
                case spec.AgentStep():
                    self._agent(step, certain=inside)
                case spec.CallStep():
                    self._call(step)
                case spec.InitStep():
                    self._init(step, certain=inside)
                case spec.WorkflowStep():
                    self._workflow_step(step, certain=inside)
            taken = self._taken(step)
            for place, inner in step.inside():
                self._steps([inner], certain=inside and place[:-1] == taken)

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
            elif place[0] in RUN_TIME and any(path[0] != "inputs" for path in text.names()):
                self._later(step, f"{place[0]} is {text.source}")

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
        """A mark for what is text for certain; else a number, which may stand anywhere."""
        if isinstance(part, str):
            return part
        tree = part.tree
        if isinstance(tree, NamePath) and tree.root == "inputs" and len(tree.parts) == 1:
            declared = self._workflow.inputs.get(str(tree.parts[0]))
            if certain and declared is not None and declared.type == "string":
                return MARK
        return "0"

    def _agent(self, step: spec.AgentStep, *, certain: bool) -> None:
        header = self._workflow.header
        model = step.model or header.model
        if isinstance(step, spec.PromptStep) and model is not None:
            if not model.is_known(self._roots):
                return
            if isinstance(name := self._value(model), str) and is_model(name):
                return
        text = step.integration or header.integration
        if text is not None and not text.is_known(self._roots):
            return
        problem = self._found.agent_problem(None if text is None else self._value(text))
        if problem is None:
            return
        literal = text is not None and not text.names()
        if literal or (certain and not self._found.initialized):
            self._wrong(step, () if step.integration is None else ("integration",), problem)
        else:
            self._later(step, problem)

    def _call(self, step: spec.CallStep) -> None:
        try:
            function(step.call, step.where.at("call"))
        except BadSpec as error:
            self._problems += error.problems

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
