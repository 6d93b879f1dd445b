"""Keeps typer from importing pydantic where it is not needed.

typer passes every value through pydantic, even plain text and options that were not given. That
import takes longer than all of `fanwise runs`, so text and flags bypass it; numbers, choices and
lists do not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

PLAIN = (str, bool)


def skip_pydantic(command: Any) -> None:
    """Patch a command, and the commands inside it if it is a group."""
    for each in (command, *getattr(command, "commands", {}).values()):
        # Not `params`: `--help` is only added by `get_params`.
        each.get_params = partial(_parameters, each.get_params)


def _parameters(found: Callable[[Any], list[Any]], context: Any) -> list[Any]:
    parameters = found(context)
    for each in parameters:
        # Versions of typer that do not use pydantic have no descriptor.
        kind = getattr(getattr(each, "type_descriptor", None), "annotation", None)
        if kind in PLAIN and "process_value" not in vars(each):
            each.process_value = partial(_process, each, kind, each.process_value)
    return parameters


def _process(
    parameter: Any, kind: type, checked: Callable[[Any, Any], Any], context: Any, value: Any
) -> Any:
    is_left_out = value is None and not parameter.required
    if not (is_left_out or isinstance(value, kind)):
        return checked(context, value)
    return value if parameter.callback is None else parameter.callback(context, parameter, value)
