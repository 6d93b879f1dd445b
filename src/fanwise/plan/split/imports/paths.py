"""What paths have in common. Pure."""

from __future__ import annotations


def shared(one: str, other: str) -> int:
    """How many folders two paths have in common."""
    count = 0
    for a, b in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if a != b:
            break
        count += 1
    return count
