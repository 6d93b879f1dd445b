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

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from pydantic import Field, field_validator

from fanwise.core.outcome import Usage
from fanwise.errors import UsageError
from fanwise.specs.check import check
from fanwise.specs.document import Document
from fanwise.specs.model import Many, SpecModel
from fanwise.specs.nearest import did_you_mean
from fanwise.specs.read import read

FILE = Path(".fanwise", "integrations.yaml")
"""In the project's folder."""
PLACE = re.compile(r"\{(prompt|model|command|skill|args|value)\}")
WITH_MODEL, WITH_ARGS, WITH_PERMISSIONS = "{with_model}", "{with_args}", "{with_permissions}"
"""Words of an argv that stand for `model`, `command_args` and `permissions`, if wanted."""
ALL_PERMISSIONS = "all-permissions"
"""The option of a step that adds `permissions`."""


class AgentReport(SpecModel):
    """How an agent reports as JSON: one object, or one on each line.

    Every field but `args` is a place in these objects, such as `usage.input_tokens`; where several
    have it, the last one counts.
    """

    args: Many[str]
    """Added to ask for it."""
    text: str
    """What the agent said."""
    usd: str = ""
    input_tokens: str = ""
    output_tokens: str = ""
    cached_tokens: str = ""


class Integration(SpecModel):
    """One agent. In a command's texts `{skill}` is its name with `-` for each `.`."""

    argv: Many[str] = Field(min_length=1)
    """For a prompt; `{prompt}` stands for it."""
    model: Many[str] = ("--model", "{model}")
    """Added when there is a model: at `{with_model}`, else at the end."""
    permissions: Many[str] = ()
    """What lets the agent do anything without asking. Added only if the option `all-permissions`
    is true: at `{with_permissions}`, else after the argv."""
    invoke: str = "/{command} {args}"
    """The prompt that a command step is."""
    command: Many[str] = ()
    """The argv of a command step, for agents that take commands in another way than prompts."""
    command_args: Many[str] = ("{args}",)
    """What stands at `{with_args}` in `command`, if the command has arguments."""
    stdin: Many[str] = ()
    """The argv for a prompt on stdin, for agents that read it there: no prompt is too long for
    that, and none stands in the list of processes."""
    edits: Many[str] = ()
    """Added where the agent shall change files without asking. Only files: what allows more, such
    as any command, is for the user to add."""
    report: AgentReport | None = None
    options: dict[str, Many[str]] = Field(default_factory=dict)
    """Added for a step's option of that name; `{value}` stands for its value. Options that are not
    here are recorded, as spec-kit does with all of them, and not given to the agent."""

    @field_validator("argv")
    @classmethod
    def _has_a_prompt(cls, argv: tuple[str, ...]) -> tuple[str, ...]:
        if not any("{prompt}" in word for word in argv[1:]):
            raise ValueError("no word after the first says where the {prompt} goes")
        return argv


@cache
def known() -> Mapping[str, Integration]:
    """The built-in agents: `agents.yaml`."""
    document = read(Path(__file__).with_name("agents.yaml"))
    names = check(document, _IntegrationsFile).integrations
    return {name: check(document, Integration, "integrations", name) for name in names}


def of_project(folder: Path) -> dict[str, Integration]:
    """The built-in agents and those of the project. `BadSpec`."""
    file = folder / FILE
    return merged(read(file)) if file.exists() else dict(known())


def merged(document: Document) -> dict[str, Integration]:
    """The built-in agents, changed and extended by a file. `BadSpec`."""
    found = dict(known())
    for name in check(document, _IntegrationsFile).integrations:
        if name in known():
            changes = check(document, _Changes, "integrations", name)
            fields = {field: getattr(changes, field) for field in changes.model_fields_set}
            found[name] = known()[name].model_copy(update=fields)
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
    words = [
        _fill(word, {"prompt": _no_option(prompt, word, "{prompt}")}) for word in integration.argv
    ]
    return _completed(words, integration, model, options or {})


def command_argv(
    integration: Integration,
    command: str,
    args: str = "",
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[str]:
    """The agent's command line for one of its commands, as in `speckit.plan`."""
    values = {"command": command, "skill": command.replace(".", "-"), "args": args}
    if not integration.command:
        return argv(integration, _fill(integration.invoke, values).strip(), model, options)
    words = list(integration.command)
    given = [
        _fill(word, {"args": _no_option(args, word, "{args}")}) for word in integration.command_args
    ]
    words = _placed([_fill(word, values) for word in words], WITH_ARGS, given if args else ())
    return _completed(words, integration, model, options or {})


def named(name: str, known: Mapping[str, Integration]) -> Integration:
    """The one of that name. `UsageError` names those that there are."""
    if name not in known:
        step = f"Add it to {FILE}"
        raise UsageError(f"there is no integration {name!r}{did_you_mean(name, known)}", step)
    return known[name]


class _IntegrationsFile(SpecModel):
    integrations: dict[str, Any]


class _Changes(Integration):
    argv: Many[str] = Field(default=(), min_length=1)


def _no_option(text: str, word: str, place: str) -> str:
    return f" {text}" if word.startswith(place) and text.startswith("-") else text


def _placed(words: list[str], place: str, given: Sequence[str]) -> list[str]:
    """The words with others at a place; without that place, at the end."""
    at = words.index(place) if place in words else len(words)
    return [*words[:at], *given, *words[at + 1 :]]


def _completed(
    words: list[str], integration: Integration, model: str | None, options: Mapping[str, Any]
) -> list[str]:
    """With the permissions, the model and the options that are wanted."""
    if (model or "").startswith("-"):
        raise UsageError(f"the model {model!r} would be an option of the agent")
    allowed = integration.permissions if options.get(ALL_PERMISSIONS) is True else ()
    words = _placed(words, WITH_PERMISSIONS, allowed)
    chosen = [_fill(word, {"model": model}) for word in integration.model] if model else []
    words = _placed(words, WITH_MODEL, chosen)
    for name, value in options.items():
        if name in integration.options and value is not None and value is not False:
            text = _text(value)
            if text.startswith("-") and "{value}" in integration.options[name]:
                raise UsageError(f"{name}: {text!r} would be an option of the agent")
            words += [_fill(word, {"value": text}) for word in integration.options[name]]
    return words


def read_report(report: AgentReport, output: str) -> tuple[str | None, Usage]:
    """What an agent said and spent; None, and an unknown usage, where it does not say."""
    objects = list(_objects(output))
    said = _last(objects, report.text)
    tokens = [_last(objects, each) for each in (report.input_tokens, report.output_tokens)]
    sent, made = (int(each) if isinstance(each, int | float) else None for each in tokens)
    cached, usd = _last(objects, report.cached_tokens), _last(objects, report.usd)
    usage = Usage(
        tokens=(sent or 0) + (made or 0),
        usd=float(usd) if isinstance(usd, int | float) else None,
        input_tokens=sent,
        output_tokens=made,
        cached_tokens=int(cached) if isinstance(cached, int | float) else None,
    )
    return (said if isinstance(said, str) else None), usage


def _objects(output: str) -> Iterator[Any]:
    for text in (output, *output.splitlines()):
        if text.lstrip().startswith(("{", "[")):
            with suppress(ValueError, RecursionError):
                yield json.loads(text)


def _last(objects: Sequence[Any], place: str) -> Any:
    """The value at a place in the last object that has it."""
    found = None
    for each in objects if place else ():
        here: Any = each
        for name in place.split("."):
            here = here.get(name) if isinstance(here, dict) else None
        found = found if here is None else here
    return found


def _text(value: Any) -> str:
    plain = isinstance(value, str | bool | int | float)
    return str(value) if plain else msgspec.json.encode(value).decode()


def _fill(text: str, values: Mapping[str, str]) -> str:
    """Fill in the places once: braces in a value stay as they are."""
    return PLACE.sub(lambda found: values.get(found[1], found[0]), text)
