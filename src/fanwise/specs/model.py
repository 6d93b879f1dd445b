"""`SpecModel`: the base class of everything that can be written in a file.

It is strict: `cap: "8"` is an error, not 8. Whole numbers are accepted where fractions are
allowed, and lists for `Many`.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, model_validator

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
