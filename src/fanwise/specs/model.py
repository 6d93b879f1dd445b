"""`SpecModel`: the base class of everything that can be written in a file.

It is strict: `cap: "8"` is an error, not 8. Whole numbers are accepted where fractions are
allowed, and lists for `Many`.
"""

from __future__ import annotations

import re
import shlex
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

T = TypeVar("T")


class SpecModel(BaseModel):
    """A mapping in a file: unknown keys are errors, values are not converted, fields are frozen."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _note_known_keys(cls, data: Any, info: ValidationInfo) -> Any:
        """Remember the keys of this mapping, so that an error can suggest the nearest one."""
        if isinstance(info.context, dict) and isinstance(data, dict):
            names = {field.alias or name for name, field in cls.model_fields.items()}
            info.context.setdefault("known", {}).setdefault(id(data), set()).update(names)
        return data


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Many = Annotated[tuple[T, ...], BeforeValidator(_tuple)]
"""`Many[str]`: a list in the file, kept as a tuple."""


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


# Seconds as people write them: `30s`, `5m`, `1h30m`, `250ms`, or a number of seconds.
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d)\s*")


def seconds(given: Any) -> Any:
    """Convert text to seconds; other values stay as they are. `ValueError`."""
    if not isinstance(given, str):
        return given
    parts = PART.findall(given)
    if not parts or PART.sub("", given).strip():
        raise ValueError(
            f"{given!r} is not a duration; write 30s, 5m, 1h30m or a number of seconds"
        )
    return sum(float(number) * UNITS[unit] for number, unit in parts)


Duration = Annotated[float, Field(gt=0), BeforeValidator(seconds)]
"""Seconds, more than 0."""
Pause = Annotated[float, Field(ge=0), BeforeValidator(seconds)]
"""Seconds, 0 or more."""


BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(B|kB|MB|GB|KiB|MiB|GiB)")


def _bytes(given: Any) -> Any:
    """Text as a number of bytes; what is not text stays as it is. `ValueError`."""
    if not isinstance(given, str):
        return given
    found = SIZE.fullmatch(given.strip())
    if found is None:
        raise ValueError(f"{given!r} is no size; write 512MB, 2GB or a number of bytes")
    return int(float(found[1]) * BYTES[found[2]])


Size = Annotated[int, Field(gt=0), BeforeValidator(_bytes)]
"""Bytes, more than 0: `512MB`, `2GiB` or a number."""
