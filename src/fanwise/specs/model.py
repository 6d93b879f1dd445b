"""`SpecModel`: what all that is written in files derives from.

Strict, because a file is no form: `cap: "8"` is a mistake and not 8. Numbers may be whole where
fractions are allowed; a list stands for `Many`.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, model_validator

T = TypeVar("T")


class SpecModel(BaseModel):
    """A mapping in a file: unknown keys are errors, values are not converted, nothing changes."""

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
        """Remember which keys this mapping may have: an error names the nearest."""
        if isinstance(info.context, dict) and isinstance(data, dict):
            names = {field.alias or name for name, field in cls.model_fields.items()}
            info.context.setdefault("known", {}).setdefault(id(data), set()).update(names)
        return data


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Many = Annotated[tuple[T, ...], BeforeValidator(_tuple)]
"""`Many[str]`: a list in the file, which nobody can change afterwards."""
