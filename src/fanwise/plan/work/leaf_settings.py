"""How leaves are worked on: what is the same for all of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from fanwise.plan.work.signatures import Declarations


class LeafSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the plan says, and what the split knows."""

    kept: Path
    """The folder for what is too big for the journal: edits of leaves that were given up."""
    imports: Mapping[str, tuple[str, ...]] = {}
    """Of each file, those that it imports."""
    shared: tuple[str, ...] = ()
    """Patterns of files that every leaf may change, relative to the folder of the plan."""
    retry: int = 1
    """Further tries after the first."""
    timeout: float | None = None
    """Seconds, for the work of each try and for each verification."""
    verify: str | None = None
    """A line for the shell; see `verify.py` for what it may name."""
    tests: tuple[str, ...] = ()
    """Patterns of test files; none: by the customs of each language."""
    sandbox: bool = True
    """Around the verification, where there is one."""
    env: tuple[str, ...] = ()
    """Variables that the verification needs, beside those that carry no secrets."""
    declarations: Declarations = msgspec.field(default_factory=Declarations)
    """What files declare, as far as it was read."""
    context_tokens: int = 4_000
    """The most that the prompt shows of what the files import."""
