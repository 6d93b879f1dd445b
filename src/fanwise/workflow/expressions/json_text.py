"""JSON that others wrote, as a value that can be kept, told and given on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def read_json(
    text: str,
    *,
    parse_int: Callable[[str], Any] | None = None,
    parse_float: Callable[[str], Any] | None = None,
) -> Any:
    """The value. `ValueError`, also for half a character, which no UTF-8 can say."""
    value = json.loads(
        text, parse_int=parse_int, parse_float=parse_float, parse_constant=_no_constant
    )
    if "\\u" in text or not text.isascii():  # else there can be none
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it has half of a surrogate pair, which is no character") from None
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
