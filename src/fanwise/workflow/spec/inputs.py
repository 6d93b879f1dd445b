"""The inputs of a workflow: what it declares, and what somebody gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from fanwise.specs import Many, SpecModel
from fanwise.specs.check import shown
from fanwise.workflow.expressions.values import MOST_NUMBER, read_json
from fanwise.workflow.spec.fields import Flag

TRUE, FALSE = ("true", "1", "yes"), ("false", "0", "no")
AUTO = "auto"
"""What an input `integration` may be by default, whatever its `enum` says: the project's own."""


class InputSpec(SpecModel):
    """`inputs.<name>`."""

    type: Literal["string", "number", "boolean", "list", "object"] = "string"
    required: Flag = False
    default: Any = None
    enum: Many[Any] | None = Field(default=None, min_length=1)
    prompt: str | None = None
    secret: Flag = False

    @field_validator("type", mode="before")
    @classmethod
    def _nothing_given(cls, given: Any) -> Any:
        return "string" if given is None else given

    @model_validator(mode="after")
    def _whole(self) -> InputSpec:
        if self.secret and (self.type != "string" or self.has_default or self.enum is not None):
            raise ValueError("a secret is a string without `default` and `enum`")
        for value in self.enum or ():
            self._of_type(value, "a value of `enum`")
        if self.has_default:
            self.bind_default()
        return self

    @property
    def has_default(self) -> bool:
        return "default" in self.model_fields_set and self.default is not None

    def bind_default(self) -> Any:
        """The default, as a value. `ValueError`."""
        return self.bind(self.default, "the default")

    def bind(self, given: Any, what: str = "it") -> Any:
        """Convert and check a value. `ValueError`."""
        value = self._of_type(given, what)
        if self.enum is not None and not value == self.default == AUTO:
            allowed = [self._of_type(each, "a value of `enum`") for each in self.enum]
            if value not in allowed:
                raise ValueError(
                    f"{what} must be one of {', '.join(map(shown, allowed))}, not {shown(value)}"
                )
        return value

    def _of_type(self, given: Any, what: str) -> Any:
        convert, wanted = _TYPES[self.type]
        value = convert(given)
        if value is None:
            raise ValueError(f"{what} must be {wanted}, not {shown(given)}")
        try:
            (value if isinstance(value, str) else "").encode()
        except UnicodeEncodeError:  # bytes that are not UTF-8 arrive as halves of surrogate pairs
            raise ValueError(f"{what} must be text in UTF-8") from None
        return value


def _string(given: Any) -> str | None:
    return given if isinstance(given, str) else None


def _number(given: Any) -> int | float | None:
    """Int when whole, whatever it is written as; None for what JSON cannot hold."""
    if isinstance(given, str):
        given = _read(given.strip())
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        return None
    fits = abs(given) <= MOST_NUMBER
    if isinstance(given, int):
        return given if fits else None
    return int(given) if fits and given.is_integer() else given


def _read(text: str) -> int | float | None:
    if not text.isascii() or "_" in text or len(text) > 300:
        return None
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return None


def _boolean(given: Any) -> bool | None:
    if isinstance(given, bool):
        return given
    word = str(given).strip().lower() if isinstance(given, str | int) else ""
    return True if word in TRUE else False if word in FALSE else None


def _json(kind: type[Any], given: Any) -> Any:
    """The value itself, or the JSON in a text, if it is of that kind; else None."""
    try:
        found = read_json(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, kind) else None


_TYPES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "string": (_string, "text"),
    "number": (_number, "a number"),
    "boolean": (_boolean, "true or false"),
    "list": (partial(_json, list), "a list, or JSON of one"),
    "object": (partial(_json, dict), "a mapping, or JSON of one"),
}
"""How a value is converted (None: it cannot be), and what is wanted."""
