"""What a program gives, as a file would have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plain(given: Any) -> Any:
    """Mappings as dicts and sequences as lists."""
    if isinstance(given, Mapping):
        return {key: plain(value) for key, value in given.items()}
    return [plain(each) for each in given] if isinstance(given, list | tuple) else given
