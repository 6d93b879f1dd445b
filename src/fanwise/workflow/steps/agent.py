"""`command` and `prompt`: an agent's command line, or (`model: provider:name`) a model directly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fanwise.errors import StepFailed
from fanwise.models import Options, Request, ask, connect
from fanwise.models.names import BUILT_IN, PROVIDERS
from fanwise.models.port import Message
from fanwise.workflow.engine.frame import Frame
from fanwise.workflow.engine.result import Result
from fanwise.workflow.step_specs import AgentStep, CommandStep, PromptStep
from fanwise.workflow.steps.port import Place, Resolved


class AgentCommand:
    """Runs a command of an agent's."""

    bounds_itself = True

    def __init__(self, project: Path) -> None:
        self._project = project

    def resolve(self, step: CommandStep, frame: Frame) -> Resolved:
        """The command, its input, and who runs it."""
        roots = frame.roots()
        given = {name: value.render(roots) for name, value in step.input.items()}
        return {"command": str(step.command.render(roots)), "input": given, **_who(step, frame)}

    async def perform(self, step: CommandStep, resolved: Resolved, place: Place) -> Result:
        """Run it."""
        raise StepFailed("agents cannot be run yet")

    def needs(self, step: CommandStep, resolved: Resolved, place: Place) -> Mapping[str, int]:
        """None of its own."""
        return {}


class AgentPrompt:
    """Gives a prompt to an agent, or to a model."""

    bounds_itself = True

    def __init__(self, project: Path) -> None:
        self._project = project

    def resolve(self, step: PromptStep, frame: Frame) -> Resolved:
        """The prompt, and who gets it."""
        return {"prompt": str(step.prompt.render(frame.roots())), **_who(step, frame)}

    async def perform(self, step: PromptStep, resolved: Resolved, place: Place) -> Result:
        """Run it, or ask the model."""
        if is_model(resolved["model"]):
            return Result("completed", await _asked(step, resolved))
        raise StepFailed("agents cannot be run yet")

    def needs(self, step: PromptStep, resolved: Resolved, place: Place) -> Mapping[str, int]:
        """None of its own: the call to a model has those of its provider."""
        return {}


def is_model(name: str | None) -> bool:
    """Whether it names a model with its provider: `openai:gpt-5-mini`."""
    provider, sign, _ = (name or "").partition(":")
    return bool(sign) and (provider in PROVIDERS or provider in BUILT_IN)


async def _asked(step: PromptStep, resolved: Resolved) -> dict[str, Any]:
    known = set(Options.__struct_fields__)
    given = {name: value for name, value in resolved["options"].items() if name in known}
    request = Request((Message("user", resolved["prompt"]),), Options(**given))
    model = connect(resolved["model"])
    reply = await ask(model, request, timeout=step.timeout)
    return {
        **resolved,
        "exit_code": 0,
        "stdout": reply.text,
        "stderr": "",
        "reply": reply.to_json(),
    }


def _who(step: AgentStep, frame: Frame) -> dict[str, Any]:
    """The step's own word, or else the workflow's."""
    roots, home = frame.roots(), frame.home
    integration = None if step.integration is None else step.integration.render(roots)
    model = None if step.model is None else step.model.render(roots)
    options = {name: value.render(roots) for name, value in step.options.items()}
    return {
        "integration": integration or home.integration,
        "model": model or home.model,
        "options": {**home.options, **options},
    }
