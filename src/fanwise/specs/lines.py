"""Commands and patterns in files: one or several, as people write them."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from pydantic import BeforeValidator, Field


def _several(given: Any) -> Any:
    if isinstance(given, str):
        return (given,)
    return tuple(given) if isinstance(given, list) else given


def _line(given: Any) -> Any:
    """A list of words as the line that a shell reads as these words."""
    if isinstance(given, list) and all(isinstance(each, str) for each in given):
        return shlex.join(given)
    return given


Patterns = Annotated[tuple[str, ...], BeforeValidator(_several)]
"""One pattern, or a list of them."""
Line = Annotated[str, Field(min_length=1), BeforeValidator(_line)]
"""A command as one types it, for a shell; or a list of words, which no shell takes apart."""
