"""A short digest of plain data: equal data, equal digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec


def digest(*parts: Any) -> str:
    # `json` and not msgspec: file names need not be valid Unicode, and msgspec requires that.
    text = json.dumps(msgspec.to_builtins(parts), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]
