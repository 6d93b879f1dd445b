"""A value as text, where it stands among other text.

As spec-kit has it for nothing (an empty text), numbers and booleans (`True`, `False`: shell tests
in existing files compare with these). Lists and mappings are JSON; there they are Python's own
notation, which nothing else can read.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fanwise.workflow.expressions.impossible import Impossible, within_size


def shown(value: Any) -> str:
    """The value as text. `Impossible`."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return str(value)
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Impossible(f"a {type(value).__name__} cannot be written as text: {error}") from None
    within_size(len(text))
    return text
