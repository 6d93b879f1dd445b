"""Inputs declared `secret: true`: where their values come from, and how they are kept out of sight.

A secret is never part of what is recorded: its value is masked in everything that steps give, and
a resume asks for it again. It is no part of a digest either, so a new token repeats no work.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any

from fanwise.errors import UsageError

VARIABLE = "FANWISE_SECRET_"
"""What the environment variables of secrets begin with; then comes the name, in capitals."""
MOST_BYTES = 64 * 1024

AskSecret = Callable[[str], str | None]
"""Asks somebody for the secret of this name; None: nobody is there."""


def read_secrets(
    names: Collection[str], given: Mapping[str, Any], *, typed: bool, ask: AskSecret | None
) -> dict[str, str]:
    """The value of each secret. `UsageError` if there is none.

    `typed`: what is given comes from a command line, and so says only where the value is:
    `env:VARIABLE` or `fd:NUMBER`.
    """
    return {name: _secret(name, given.get(name), typed, ask) for name in names}


def _secret(name: str, given: Any, typed: bool, ask: AskSecret | None) -> str:
    value: Any = given
    if given is None:
        value = os.environ.get(f"{VARIABLE}{name.upper().replace('-', '_')}")
        if value is None and ask is not None:
            value = ask(name)
    elif typed:
        value = _named(name, str(given))
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"the secret {name!r} is missing", _ways(name))
    return value


def _named(name: str, given: str) -> str | None:
    kind, _, where = given.partition(":")
    if kind == "env":
        return os.environ.get(where)
    if kind == "fd" and where.isdecimal():
        try:
            with open(int(where), "rb", closefd=False) as opened:
                return opened.read(MOST_BYTES).decode().removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the secret {name!r} cannot be read from {given}: {error}") from error
    # What was typed is in the history of the shell by now; it is not repeated here.
    raise UsageError(f"the input {name!r} is a secret, and is not typed", _ways(name))


def inherited() -> list[str] | None:
    """The variables that programs of steps inherit: no secrets. None: all."""
    names = [name for name in os.environ if not name.startswith(VARIABLE)]
    return None if len(names) == len(os.environ) else [glob.escape(name) for name in names]


def _ways(name: str) -> str:
    variable = f"{VARIABLE}{name.upper().replace('-', '_')}"
    return f"Set {variable}, or give --input {name}=env:VARIABLE or --input {name}=fd:NUMBER"
