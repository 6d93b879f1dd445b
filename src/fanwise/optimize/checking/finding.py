"""What one stage found about a candidate."""

from __future__ import annotations

from typing import Literal

import msgspec

Stage = Literal["apply", "compile", "test", "differential"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A stage of correctness, passed or not. JSON-able."""

    stage: Stage
    ok: bool
    reason: str = ""
    """In one line; empty if there is nothing to say."""
    detail: str = ""
    """What a person, or whoever repairs it, needs to see; bounded."""
    seconds: float = 0.0
