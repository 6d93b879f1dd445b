"""Text and flags on the command line, taken as they are.

typer gives every value to pydantic, even text where text is wanted and options that nobody gave.
Importing pydantic takes longer than all else that `fanwise runs` does, so these go past it;
numbers, choices and lists do not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

PLAIN = (str, bool)


def take_plain_values_as_they_are(command: Any) -> None:
    """Do so in a command and, if it is a group, in those inside it."""
    for each in (command, *getattr(command, "commands", {}).values()):
        # Not its `params`: `--help` is made when a command is asked for all that it has.
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
