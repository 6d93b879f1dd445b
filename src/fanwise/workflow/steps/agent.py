"""`command` and `prompt`: an agent's command line, or (`model: provider:name`) a model directly.

What the agent prints is the step's output: stdout and stderr, as of a shell step.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from fanwise.errors import StepFailed, UsageError
from fanwise.models import Options, Request, ask, connect
from fanwise.models.clients import check_ready
from fanwise.models.names import BUILT_IN, PROVIDERS, Spec, as_spec, split
from fanwise.models.port import Message
from fanwise.specs.agents import Integration, argv, command_argv, named, of_project
from fanwise.workflow.expressions.values import kind, shown
from fanwise.workflow.spec.inputs import AUTO
from fanwise.workflow.spec.steps import AgentStep, CommandStep, PromptStep
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.child import run_child, surroundings
from fanwise.workflow.steps.port import Leaf, Resolved, StepPlace

SPEC_KIT_FILE = Path(".specify") / "integration.json"
"""Where spec-kit keeps which agent a project uses."""
NOT_FOUND = 127


class Agents:
    """Those that the project knows; its files are read once, and only if a step needs them."""

    def __init__(self, project: Path) -> None:
        self._project = project

    def named(self, name: str) -> Integration:
        """The agent with this name. `UsageError`."""
        return named(name, self._known)

    def meant(self, name: Any) -> str:
        """The name itself; for none, and for `auto`, that of the project. `UsageError`."""
        found = self._default if name in (None, "", AUTO) else str(name)
        if found is None:
            raise UsageError(
                "no agent is named",
                "Write `integration: NAME` in the step or under `workflow:`, or run `specify init`",
            )
        return found

    @cached_property
    def _known(self) -> dict[str, Integration]:
        return of_project(self._project)

    @cached_property
    def _default(self) -> str | None:
        """The agent that spec-kit keeps for the project."""
        try:
            kept = json.loads((self._project / SPEC_KIT_FILE).read_text(encoding="utf-8"))
            found = kept.get("default_integration") or kept.get("integration")
        except (OSError, ValueError, AttributeError):
            found = None
        return str(found) if found else None


class AgentLeaf(Leaf[AgentStep]):
    """Runs a command of an agent, or gives a prompt to an agent or to a model."""

    bounds_itself = True

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    def resolve(self, step: AgentStep, frame: Frame) -> Resolved:
        """The command with its input, or the prompt, and who gets it.

        How that agent is called is no part of it: another option in the project's file does not
        make finished work undone.
        """
        roots, who = frame.roots(), _who(step, frame, self._agents)
        if isinstance(step, PromptStep):
            return {"prompt": step.prompt.text(roots), **who}
        assert isinstance(step, CommandStep)
        given = {name: value.render(roots) for name, value in step.input.items()}
        return {"command": step.command.text(roots), "input": given, **who}

    async def perform(self, step: AgentStep, resolved: Resolved, place: StepPlace) -> StepResult:
        """Run the agent, or ask the model. `UsageError` if it is unknown."""
        how = resolved["model"], resolved["options"]
        if isinstance(step, PromptStep) and is_model(resolved["model"]):
            return StepResult("completed", await _asked(step, resolved, place))
        agent = self._agents.named(resolved["integration"])
        if isinstance(step, PromptStep):
            return await _run(step, argv(agent, resolved["prompt"], *how), resolved, place)
        args = shown(resolved["input"].get("args"))
        words = command_argv(agent, resolved["command"], args, *how)
        return await _run(step, words, resolved, place)


async def _run(
    step: AgentStep, words: list[str], resolved: Resolved, place: StepPlace
) -> StepResult:
    try:
        output = await run_child(*words, place=place, timeout=step.timeout, around=resolved)
    except StepFailed as error:
        output = {**resolved, **(error.result or {}), "dispatched": True}
        if output.get("exit_code") != NOT_FOUND:
            raise StepFailed(error.message, output) from error
        output["dispatched"] = False
        raise StepFailed(
            f"the integration {resolved['integration']!r} needs the program {words[0]!r}, "
            f"which is not installed: {error.message}",
            output,
        ) from error
    return StepResult("completed", {**resolved, **output, "dispatched": True})


def is_model(name: str | None) -> bool:
    """Whether it names a model with its provider: `openai:gpt-5-mini`."""
    provider, sign, _ = (name or "").partition(":")
    return bool(sign) and (provider in PROVIDERS or provider in BUILT_IN)


def _spec(model: str, options: Mapping[str, Any]) -> Spec:
    given = {name: options[name] for name in Spec.__struct_fields__ if name in options}
    return as_spec({**given, "name": model})


def check_model(model: str, options: Mapping[str, Any]) -> None:
    """`UnknownModel`; `ModelNotReady` if its key or file is not there."""
    spec = _spec(model, options)
    if split(model)[0] in PROVIDERS:
        check_ready(spec)
    else:
        connect(spec)


async def _asked(step: PromptStep, resolved: Resolved, place: StepPlace) -> dict[str, Any]:
    options = resolved["options"]
    if place.mask.is_in(resolved):  # a reply may repeat the secret, and a cache would keep it
        options = {**options, "cache": None}
    given = {name: options[name] for name in Options.__struct_fields__ if name in options}
    request = Request((Message("user", resolved["prompt"]),), Options(**given))
    model = connect(_spec(resolved["model"], options))
    reply = await ask(model, request, timeout=step.timeout)
    return {
        **resolved,
        "exit_code": 0,
        "stdout": reply.text,
        "stderr": "",
        "reply": reply.to_json(),
    }


def _who(step: AgentStep, frame: Frame, agents: Agents) -> dict[str, Any]:
    """The step's own word, or else the workflow's, or else the project's."""
    roots, home = frame.roots(), frame.home
    integration = None if step.integration is None else step.integration.render(roots)
    model = None if step.model is None else step.model.render(roots)
    options = {name: value.render(roots) for name, value in step.options.items()}
    name = _name("integration", integration or home.integration)
    model = _name("model", model or home.model)
    asks_model = isinstance(step, PromptStep) and is_model(model)
    return {
        "integration": name if asks_model else agents.meant(name),
        "model": model,
        "options": {**home.options, **options},
        **surroundings(step, roots),
    }


def _name(of: str, value: Any) -> str | None:
    """A name that an expression may have computed. `UsageError`."""
    if value is None or isinstance(value, str):
        return value
    raise UsageError(f"the {of} is {kind(value)}, not a name: {shown(value)}")
