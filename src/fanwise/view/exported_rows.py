"""The rows of a file that `fanwise export` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from fanwise.errors import UsageError


def exported_rows(path: Path) -> list[dict[str, Any]]:
    """In order. `UsageError`."""
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    try:
        return [decode(line) for line in path.read_bytes().splitlines() if line]
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        step = "Write it with: fanwise export RUN --output FILE.jsonl"
        raise UsageError(f"{path} is not JSON lines: {error}", step) from error
