"""Keeps typer from importing pydantic where it is not needed.

typer passes every value through pydantic, even plain text and options that were not given. That
import takes longer than all of `fanwise runs`, so text, flags and what was not given bypass it;
numbers and choices that were given, and lists, do not.
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
        is_list = getattr(each, "multiple", False) or each.nargs != 1
        if kind is not None and not is_list and "process_value" not in vars(each):
            each.process_value = partial(_process, each, kind, each.process_value)
    return parameters


def _process(
    parameter: Any, kind: Any, checked: Callable[[Any, Any], Any], context: Any, value: Any
) -> Any:
    is_left_out = value is None and not parameter.required
    if not (is_left_out or (kind in PLAIN and isinstance(value, kind))):
        return checked(context, value)
    return value if parameter.callback is None else parameter.callback(context, parameter, value)
