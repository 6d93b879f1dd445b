"""Seconds as people write them: `30s`, `5m`, `1h30m`, `250ms`, or a number of seconds."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

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
