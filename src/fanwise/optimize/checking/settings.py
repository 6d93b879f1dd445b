"""How code that nobody has read is run."""

from __future__ import annotations

import msgspec

from fanwise.processes import PLAIN, Limits


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a candidate may take, and what it finds around it."""

    timeout_s: float = 600.0
    limits: Limits = Limits()
    sandbox: bool = False
    inherit: tuple[str, ...] = PLAIN
    """Names of the variables that pass; the others do not, for there may be keys in them."""
