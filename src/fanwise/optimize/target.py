"""The target: the one function or method that candidates make faster."""

from __future__ import annotations

import msgspec


class Target(msgspec.Struct, frozen=True):
    """A function or method of a file of the repository."""

    file: str
    """Relative to the top of the repository, with `/`."""
    name: str
    """`function`, `Class.method` or `Outer.Inner.method`."""
