"""The smallest call in which a candidate differs from the original."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["value", "exception", "arguments", "stdout", "generator", "globals", "ended"]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One call, and what both did. JSON-able; texts are bounded."""

    kind: Kind
    """What differs first; `ended`: the process did not survive the call."""
    call: str
    """As Python."""
    expected: str
    """What the original does."""
    got: str
    test: str
    """A ready test that passes on the original and fails on the candidate."""
