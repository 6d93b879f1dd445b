"""Commands and patterns in files: one, or a list."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from pydantic import BeforeValidator, Field


def _several(given: Any) -> Any:
    if isinstance(given, str):
        return (given,)
    return tuple(given) if isinstance(given, list) else given


def _line(given: Any) -> Any:
    """A list of words, quoted as a line for a shell."""
    if isinstance(given, list) and all(isinstance(each, str) for each in given):
        return shlex.join(given)
    return given


Patterns = Annotated[tuple[str, ...], BeforeValidator(_several)]
"""One pattern, or a list of them."""
Line = Annotated[str, Field(min_length=1), BeforeValidator(_line)]
"""A command line for a shell, or a list of words that no shell interprets."""
