"""What the journal keeps of steps that are not items: an if, a loop, a fan-out."""

from __future__ import annotations

import msgspec

STEP = "step"
"""The kind of event that holds a `StepNote`."""


class StepNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """How such a step ended."""

    path: str
    type: str
    status: str
    at: float
    """When it began."""
    inside: str = ""
    error: str | None = None
