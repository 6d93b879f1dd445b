"""Agents' command lines: how each is given a prompt, or a command, and a model.

An agent is data: an argv with places in it. A project adds agents, or changes single fields of
those known here, in `.fanwise/integrations.yaml`:

    integrations:
      claude: {argv: [claude, -p, "{prompt}", --permission-mode, acceptEdits]}
      ours: {argv: [our-agent, --task, "{prompt}"], model: [--with, "{model}"]}

Nothing here goes through a shell. A prompt that begins with `-` gets a space before it, so that no
agent takes it for an option.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from fanwise.errors import UsageError
from fanwise.specs import Document, Many, SpecModel, check, read
from fanwise.specs.nearest import did_you_mean
from fanwise.workflow.expressions.values import shown

FILE = Path(".fanwise", "integrations.yaml")
"""In the project's folder."""
PLACE = re.compile(r"\{(prompt|model|command|skill|args|value)\}")


class Integration(SpecModel):
    """One agent. In a command's texts `{skill}` is its name with `-` for each `.`."""

    argv: Many[str] = Field(min_length=1)
    """For a prompt; `{prompt}` stands for it."""
    model: Many[str] = ("--model", "{model}")
    """Added when there is a model."""
    invoke: str = "/{command} {args}"
    """The prompt that a command step is."""
    command: Many[str] = ()
    """Added for a command step."""
    options: dict[str, Many[str]] = Field(default_factory=dict)
    """Added for a step's option of that name; `{value}` stands for its value. Options that are not
    here are recorded, as spec-kit does with all of them, and not given to the agent."""

    @field_validator("argv")
    @classmethod
    def _has_a_prompt(cls, argv: tuple[str, ...]) -> tuple[str, ...]:
        if not any("{prompt}" in word for word in argv[1:]):
            raise ValueError("no word after the first says where the {prompt} goes")
        return argv


def _agent(*argv: str, **fields: Any) -> Integration:
    return Integration(argv=argv, **fields)


SKILL = "/{skill} {args}"
SHORT = ("-m", "{model}")
KNOWN: dict[str, Integration] = {
    "amp": _agent("amp", "--execute", "{prompt}", model=()),
    "auggie": _agent("auggie", "--print", "{prompt}"),
    "claude": _agent(
        "claude",
        "-p",
        "{prompt}",
        invoke=SKILL,
        options={
            "max-turns": ("--max-turns", "{value}"),
            "permission-mode": ("--permission-mode", "{value}"),
        },
    ),
    "codex": _agent("codex", "exec", "{prompt}", invoke=SKILL),
    "copilot": _agent(
        "copilot",
        "-p",
        "{prompt}",
        "--allow-all-tools",
        invoke="{args}",
        command=("--agent", "{command}"),
    ),
    "cursor-agent": _agent("cursor-agent", "-p", "--trust", "{prompt}", invoke=SKILL),
    "droid": _agent("droid", "exec", "{prompt}", invoke=SKILL),
    "gemini": _agent("gemini", "-p", "{prompt}", model=SHORT),
    "goose": _agent("goose", "run", "-t", "{prompt}"),
    "opencode": _agent(
        "opencode",
        "run",
        "{prompt}",
        model=SHORT,
        invoke="{args}",
        command=("--command", "{command}"),
    ),
    "qwen": _agent("qwen", "-p", "{prompt}", model=SHORT),
}


def of_project(folder: Path) -> dict[str, Integration]:
    """The built-in agents and those of the project. `BadSpec`."""
    file = folder / FILE
    return merged(read(file)) if file.exists() else dict(KNOWN)


def merged(document: Document) -> dict[str, Integration]:
    """The built-in agents, changed and extended by a file. `BadSpec`."""
    found = dict(KNOWN)
    for name in check(document, _File).integrations:
        if name in KNOWN:
            changes = check(document, _Changes, "integrations", name)
            fields = {field: getattr(changes, field) for field in changes.model_fields_set}
            found[name] = KNOWN[name].model_copy(update=fields)
        else:
            found[name] = check(document, Integration, "integrations", name)
    return found


def argv(
    integration: Integration,
    prompt: str,
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[str]:
    """The agent's command line for a prompt."""
    words = [_fill(word, {"prompt": _no_option(prompt, word)}) for word in integration.argv]
    return words + _added(integration, model, options)


def command_argv(
    integration: Integration,
    command: str,
    args: str = "",
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[str]:
    """The agent's command line for one of its commands, as in `speckit.plan`."""
    values = {"command": command, "skill": command.replace(".", "-"), "args": args}
    prompt = _fill(integration.invoke, values).strip()
    made = argv(integration, prompt, model, options)
    return [*made, *(_fill(word, values) for word in integration.command)]


def named(name: str, known: Mapping[str, Integration]) -> Integration:
    """The one of that name. `UsageError` names those that there are."""
    if name not in known:
        step = f"Add it to {FILE}"
        raise UsageError(f"there is no integration {name!r}{did_you_mean(name, known)}", step)
    return known[name]


class _File(SpecModel):
    integrations: dict[str, Any]


class _Changes(Integration):
    argv: Many[str] = Field(default=(), min_length=1)


def _no_option(prompt: str, word: str) -> str:
    return f" {prompt}" if word.startswith("{prompt}") and prompt.startswith("-") else prompt


def _added(
    integration: Integration, model: str | None, options: Mapping[str, Any] | None
) -> list[str]:
    words: list[str] = []
    if model:
        if model.startswith("-"):
            raise UsageError(f"the model {model!r} would be an option of the agent")
        words += [_fill(word, {"model": model}) for word in integration.model]
    for name, value in (options or {}).items():
        if name in integration.options and value is not None and value is not False:
            words += [_fill(word, {"value": shown(value)}) for word in integration.options[name]]
    return words


def _fill(text: str, values: Mapping[str, str]) -> str:
    """Fill in the places once: braces in a value stay as they are."""
    return PLACE.sub(lambda found: values.get(found[1], found[0]), text)
