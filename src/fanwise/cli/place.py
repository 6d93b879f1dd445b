"""`--on`: where the attempts of a run are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fanwise.errors import UsageError

if TYPE_CHECKING:
    from fanwise.cluster import Ray

STAYS_HERE = {"plan", "optimize"}
"""Systems whose work is in workspaces of this machine."""


def place_of(on: str | None, kind: str) -> Ray | None:
    """What `--on` names. Refused before anything starts where a system cannot use it."""
    if on is None:
        return None
    if kind in STAYS_HERE:
        raise UsageError(
            f"{kind} works in workspaces of this machine, and cannot run on {on}", "Leave --on out"
        )
    from fanwise.cluster import Ray

    if on == "ray":
        return Ray()
    if on == "auto" or on.startswith("ray://"):
        return Ray(on)
    raise UsageError(f"--on is {on!r}", "Write ray, auto or ray://HOST:PORT")
