"""A workflow file that can be run, or a run of one that can be resumed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from fanwise.core.budget import Budget
from fanwise.core.caps import Caps
from fanwise.errors import BadSpec, Problem, UsageError
from fanwise.kernel.run import Run
from fanwise.kernel.run_inside import RunInside
from fanwise.kernel.scope import item_of
from fanwise.kernel.workers import WorkPlace
from fanwise.processes.mask import MASK, Masker, masked_screens
from fanwise.specs import Document, End
from fanwise.specs.nearest import did_you_mean
from fanwise.specs.system import Assumed, Opening
from fanwise.view.progress import TERMINAL
from fanwise.workflow.run.at_the_end import WorkflowExecution
from fanwise.workflow.run.interpreter import Interpreter, home_of
from fanwise.workflow.run.leaves import Leaves
from fanwise.workflow.run.options import RunOptions, pairs
from fanwise.workflow.run.preflight import Preflight
from fanwise.workflow.run.simulation import WorkflowSimulation
from fanwise.workflow.spec.overlays import digests_of, read_composed, with_overlays
from fanwise.workflow.spec.secrets import read_secrets
from fanwise.workflow.spec.workflow_file import (
    LoadedWorkflow,
    Read,
    bind_inputs,
    load,
    path_of,
)
from fanwise.workflow.state.frame import Frame, Layer
from fanwise.workflow.state.history import PAUSED, ExecutionInputs, opened, paused_gate
from fanwise.workflow.state.run_state import StepState
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.functions import names_of_project, of_project
from fanwise.workflow.steps.gate import Ask, ask, ask_secret, is_interactive
from fanwise.workflow.steps.kinds import Project, kinds
from fanwise.workflow.views.text import Ending, dry_run_lines

RUN_ID = "SPECKIT_WORKFLOW_RUN_ID"
"""As in spec-kit, the environment may name the run."""


class RunnableWorkflow:
    """A file that can be run. The constructor checks all of it."""

    def __init__(
        self,
        workflow: LoadedWorkflow,
        project: Project,
        asked: RunOptions,
        *,
        before: Mapping[str, Any] | None = None,
        digests: Mapping[str, str] | None = None,
        ask: Ask | None = None,
    ) -> None:
        asked.check(workflow)
        self.workflow = workflow
        self.title = workflow.header.name
        self.folder = project.folder
        """Where its commands run."""
        self.total = None
        """Unknown: it depends on the results of the steps."""
        self.opening = Opening(run_id=os.environ.get(RUN_ID, "").strip() or None)
        self._project = project
        self._asked = asked
        self._before = before
        """The inputs that the run began with; None: it begins now."""
        self._digests = _digests(workflow) if digests is None else digests
        """Of its files, by their paths, as they were when the run began."""
        self._ask = ask
        names = [name for name, spec in workflow.inputs.items() if spec.secret]
        given = asked.inputs_of(names)
        self._given_secrets = {name: given.pop(name) for name in names if name in given}
        self._new_inputs = given
        self._hidden = dict.fromkeys(names, MASK)
        if before is not None:
            _ = self._secrets  # asked for again, before anything begins
        if self._new_inputs:
            _ = self.inputs  # what is wrong with them is said before anything begins
        self._at_run_time = self._preflight(self.inputs if self._new_inputs else None)

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """The inputs, checked against their declarations. `UsageError`."""
        known = {**(self._before or {}), **self._known_inputs(), **self._hidden}
        return bind_inputs(self.workflow, known, self._asked.names)

    @cached_property
    def _secrets(self) -> dict[str, str]:
        """The values of the secrets, which are masked in `inputs`. `UsageError`."""
        typed = not isinstance(self._asked.input, Mapping)
        asks = ask_secret if self._ask is ask else None
        return read_secrets(self._hidden, self._given_secrets, typed=typed, ask=asks)

    def _known_inputs(self) -> dict[str, Any]:
        """Those that were given; leniently, of them those that are declared."""
        if not self._asked.lenient:
            return self._new_inputs
        declared = self.workflow.inputs
        return {name: value for name, value in self._new_inputs.items() if name in declared}

    def _preflight(self, inputs: Mapping[str, Any] | None) -> list[str]:
        """What only the run can tell. `BadSpec` for what is certain to fail in a new run."""
        if self._before is not None:
            return []
        found = Preflight(self.workflow, self._project, inputs)
        if found.problems:
            raise BadSpec(self.workflow.document.name, found.problems)
        return found.at_run_time

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The files as they are now, and the inputs. `BadSpec` if the run is certain to fail."""
        self._preflight(self.inputs)
        _ = self._secrets
        document = self.workflow.document
        own = str(path_of(document))
        files = {path: each for path, each in self.workflow.files().items() if path != own}
        return {
            **document.keep(),
            "digests": self._digests,
            "files": {path: each.keep() for path, each in files.items()},
            "inputs": self.inputs,
            "project": str(self._project.folder),
            "lenient": self._asked.lenient,
            "compat": self._asked.compat,
        }

    @cached_property
    def caps(self) -> Caps | None:
        """Those of the files, and the terminal's, if there is somebody to be asked."""
        limits = self.workflow.caps_and_rates()
        if self._ask is not None:
            limits[TERMINAL] = [1]
        return Caps(limits) if limits else None

    @cached_property
    def budget(self) -> Budget | None:
        return self.workflow.file.make_budget()

    @property
    def on(self) -> WorkPlace | None:
        return self.workflow.file.make_place()

    def describe(self) -> Sequence[str]:
        """Each step, with the values that are known in advance."""
        known = self.inputs if self._new_inputs or self._before is not None else None
        later = [f"  {line}" for line in self._at_run_time]
        head = ["not checked until the run comes there:"] if later else []
        return [*dry_run_lines(self.workflow, known), *head, *later]

    async def execute(self, run: Run) -> End:
        ending = await self.ended(run)
        end = ending.end(self.notes)
        # Trust is not kept: who resumes gives it anew.
        trust = ["--trust-project"] if self._asked.trust_project else []
        return msgspec.structs.replace(end, resume_with=[*end.resume_with, *trust])

    @property
    def notes(self) -> list[str]:
        """Warnings about the files and inputs."""
        return [*self.workflow.warnings, *self._unknown(), *self._changed()]

    async def ended(self, run: Run) -> Ending:
        """Execute it, and let the run say what it came to, unless it is a part of another run."""
        if item_of(run) is not None:
            return await self.ending(RunInside(fresh=False))
        ending = await self.ending(run)
        stop = ending.stop
        if ending.interrupted:
            run.end_as("halted")
        elif stop is None:
            run.end_as("done")  # a fan-out that a failure had halted was a step that may fail
        elif stop.status == "paused":
            run.end_as("paused")
        else:
            aborted = "aborted, " if stop.status == "aborted" else ""
            run.end_as("failed", f"{aborted}{stop.at}: {stop.error}")
        return ending

    async def ending(self, run: Run) -> Ending:
        """Execute the steps; returns how the execution ended."""
        given = self._given(run)
        # A part notes nothing, but its executions are told apart, and the latest is the last.
        first = int(run.wall() * 1000) if isinstance(run, RunInside) else 0
        history = await opened(run, given, first)
        workflow = self.workflow
        known = {**(self._before or self.inputs), **history.inputs, **self._secrets}
        inputs = bind_inputs(workflow, known)
        mask = run.hide = Masker(self._secrets.values())
        leaf_kinds = kinds(self._project, history, self._ask)
        leaves = Leaves(run, leaf_kinds, self._asked.retry, history.twice)
        stop_after = self._asked.stop_after
        engine = Interpreter(run, workflow, self._project, history, leaves, stop_after=stop_after)
        home = home_of(workflow, inputs, history.given_in, mask)
        frame = Frame(
            home, run.id, Layer(), path=str, bare=str, states={}, moment=(history.execution,)
        )
        execution = WorkflowExecution(engine, workflow, frame)
        with masked_screens(mask):
            stop = await execution.stop()
        gate = _gate(stop, frame.states)
        if stop is not None and stop.status == "paused":
            where = None if gate is None else str(gate["step_id"])
            run.note(PAUSED, {"at": stop.at, "gate": where})
        return Ending(
            run.id,
            workflow.header.id,
            stop,
            engine.position,
            frame.states,
            gate,
            execution.interrupted,
            workflow.steps[engine.position].id,
            tuple(leaves.twice),
            (*_not_taken(given.answers.keys() - history.taken, frame.states), *execution.notes),
        )

    def _given(self, run: Run) -> ExecutionInputs:
        journal = run.journal
        waiting = None if journal is None else paused_gate(journal.events(run.id))
        answers = self._asked.answers(self.workflow, waiting)
        changed = self._known_inputs() if self._before is not None else {}
        inputs = {name: self.inputs[name] for name in changed}
        return ExecutionInputs(inputs, answers, self._asked.start)

    def _unknown(self) -> list[str]:
        """Notes on undeclared inputs."""
        declared, known = self.workflow.inputs, self._known_inputs()
        return [
            f"there is no input {name!r}{did_you_mean(name, declared)}; it was left out"
            for name in self._new_inputs
            if name not in known
        ]

    def _changed(self) -> list[str]:
        """The run has its own copy of its files; that one is another by now is said."""
        if self._before is None:
            return []
        found = ((path, _state(Path(path), digest)) for path, digest in self._digests.items())
        return [f"{path} {state}; the run used its own copy" for path, state in found if state]


def _digests(workflow: LoadedWorkflow) -> dict[str, str]:
    found: dict[str, str] = {}
    for path, document in workflow.files().items():
        found |= {path: document.digest, **digests_of(document)}
    return found


def _state(file: Path, digest: str) -> str | None:
    """How a file has changed; None if it has not."""
    try:
        now = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return "is gone"
    return None if now == digest else "has changed since the run began"


def _gate(stop: StepResult | None, steps: Mapping[str, StepState]) -> dict[str, Any] | None:
    """The gate that waits, as spec-kit describes it."""
    state = None if stop is None or stop.status != "paused" else steps.get(stop.at or "")
    if state is None or state.type != "gate" or state.status != "paused":
        return None
    names = ("message", "options", "show_file", "choice")
    return {"step_id": state.path, **{name: state.output.get(name) for name in names}}


def _not_taken(paths: Collection[str], steps: Mapping[str, StepState]) -> Iterator[str]:
    """Notes on the answers to these gates; a gate that was decided before stays decided."""
    for path in sorted(paths):
        if path not in steps or steps[path].output.get("choice") is None:
            yield f"the answer to {path} was not used: no gate asked there"


def plan(
    document: Document, asked: RunOptions, *, asks: bool = True, ask: Ask | None = None
) -> RunnableWorkflow:
    """A file, checked completely. `ask`: called at gates; `asks`: else at the terminal."""
    project = Path.cwd() if asked.project is None else Path(asked.project)
    ask = _ask() if ask is None and asks else ask
    return _made(with_overlays(document), project, asked, read_composed, ask=ask)


def simulation(
    document: Document, assumed: Assumed, given: tuple[str, ...], items: tuple[str, ...]
) -> WorkflowSimulation:
    """A file as it is simulated: no program, agent or secret has to be there. `BadSpec`."""
    document, project = with_overlays(document), Path.cwd()
    workflow = load(document, types=names_of_project(project))
    counts = {}
    for name, count in pairs("--items", items).items():
        if not count.isdecimal():
            raise UsageError(f"--items {name}={count} is no number")
        counts[name] = int(count)
    inputs = None
    if given or not any(
        each.required and not each.has_default for each in workflow.inputs.values()
    ):
        hidden = {name: MASK for name, each in workflow.inputs.items() if each.secret}
        inputs = bind_inputs(workflow, RunOptions(input=given).inputs_of() | hidden)
    return WorkflowSimulation(workflow, inputs, assumed.latency, counts, assumed.recorded or {})


def again(spec: Mapping[str, Any], asked: RunOptions) -> RunnableWorkflow:
    """A run to resume, from the spec that its journal kept."""
    asked = msgspec.structs.replace(asked, lenient=spec["lenient"], compat=spec["compat"])
    copies = {path: Document.again(kept) for path, kept in spec["files"].items()}

    def copy_of(path: Path) -> Document:
        if str(path) in copies:
            return copies[str(path)]
        raise BadSpec(str(path), [Problem(None, None, "", "the run has no copy of it")])

    kept = {"before": spec["inputs"], "digests": spec["digests"]}
    project = Path(spec["project"])
    return _made(Document.again(spec), project, asked, copy_of, ask=_ask(), **kept)


def _made(
    document: Document, project: Path, asked: RunOptions, read: Read, **more: Any
) -> RunnableWorkflow:
    types = of_project(project) if asked.trust_project else {}
    untrusted = names_of_project(project)
    workflow = load(document, lenient=asked.lenient, types=types, untrusted=untrusted, read=read)
    where = Project(project, asked.compat is not None, types, asked.workspace)
    return RunnableWorkflow(workflow, where, asked, **more)


def _ask() -> Ask | None:
    return ask if is_interactive() else None
