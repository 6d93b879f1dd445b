"""The output of a program as the journal keeps it: its end, as text, with secrets masked."""

from __future__ import annotations

import os
from collections.abc import Mapping

from fanwise.processes import CommandResult
from fanwise.specs.secrets import is_secret_variable

MOST = 4_000
"""Characters that are kept."""
MASK = "•••"
SHORTEST = 6
"""Shorter values are not masked: they occur in ordinary words."""


def output_of(result: CommandResult) -> str:
    parts = (tail(each.text, MOST // 2) for each in (result.stdout, result.stderr))
    return "\n".join(filter(None, parts))


def tail(text: str, most: int = MOST) -> str:
    """The end of a text, with secrets masked, in a form that every database accepts."""
    shown = mask_secrets(text).replace("\0", "\N{SYMBOL FOR NULL}").strip()
    shown = shown.encode("utf-8", "replace").decode()
    if len(shown) <= most:
        return shown
    cut = len(shown) - most
    return f"… {cut:,} characters left out …\n{shown[-most:]}"


def mask_secrets(text: str, variables: Mapping[str, str] | None = None) -> str:
    """The text without the values of variables whose names say that they are secrets."""
    found = os.environ if variables is None else variables
    secrets = {
        value.strip()
        for name, value in found.items()
        if len(value.strip()) >= SHORTEST and is_secret_variable(name)
    }
    for value in sorted(secrets, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text
