"""What counts as true, for a condition."""

from __future__ import annotations

from typing import Any


def truth(value: Any) -> bool:
    """As spec-kit has it: the texts `true` and `false` (any case, spaces around) are what they say.

    So the output of `echo false` is false. Every other text is true unless it is empty, `0` and
    `no` too; numbers, lists and mappings are true unless they are zero or empty; nothing is false.
    """
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("true", "false"):
            return word == "true"
    return bool(value)
