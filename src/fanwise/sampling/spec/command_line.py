"""`fanwise sample`: a prompt and options become the fields of a file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from fanwise.core.caps import whole
from fanwise.errors import UsageError
from fanwise.specs import read

MOST_TITLE = 60
AS_THEY_ARE = ("model", "strategy", "winner", "deadline", "record")
"""Options that have the name of their field."""


def fields_of(prompt: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What stands under `sample:`, from the options that were given. `UsageError`."""
    fields: dict[str, Any] = {
        "name": " ".join(prompt.split())[:MOST_TITLE],
        "prompt": prompt,
        "requirements": _requirements(given),
        "seed": given.get("seed", 0),
        "options": {name: given[name] for name in ("temperature", "max_tokens") if name in given},
        **{name: given[name] for name in AS_THEY_ARE if name in given},
    }
    for option, field in (("loop", "loop_budget"), ("wide", "concurrency_budget")):
        if option in given:
            fields[field] = whole(f"--{option}", given[option])
    if "schema" in given:
        fields["schema"] = read(given["schema"]).data
    if "usd" in given:
        fields["budget"] = {"usd": given["usd"]}
    return fields


def _requirements(given: Mapping[str, Any]) -> list[Any]:
    requirements: list[Any] = []
    requirements += [{"regex": each, "check_only": True} for each in given.get("regex", ())]
    for line in given.get("command", ()):
        requirements.append({"command": _words(line), "check_only": True})
    return [*requirements, *given.get("require", ())]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"--command {line!r} cannot be read: {error}") from None
