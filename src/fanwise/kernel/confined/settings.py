"""How code that nobody has read is run."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fanwise.processes import PLAIN, Limits

MB = 1 << 20
LIMITS = Limits(memory=4096 * MB, processes=256, file_size=256 * MB, output=64 * MB)
"""What tests do not need more of, and a mistake soon would."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a candidate may take, and what it finds around it."""

    timeout_s: float = 600.0
    limits: Limits = LIMITS
    sandbox: bool = True
    """No network, nothing writable but the workspace; where there is none, a warning says so."""
    inherit: tuple[str, ...] = PLAIN
    """Names of the variables that pass; the others do not, for there may be keys in them."""
    env: Mapping[str, str] = {}
    """Variables that tests need, beside those."""
