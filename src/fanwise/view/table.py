"""Rows with named columns: what `export` writes, whatever the format.

Columns declare the kind of their values, which Parquet needs before the first row. A row may lack
columns, but has no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from fanwise.errors import UsageError

Kind = Literal["text", "integer", "number", "moment", "json"]
"""`moment` is ISO 8601 in UTC; `json` is any plain data, written as JSON in text formats."""
Row = dict[str, Any]


class Table(msgspec.Struct, frozen=True):
    """Rows of one kind, produced while they are read."""

    what: str
    """What the rows are: "items", "cells"."""
    columns: Mapping[str, Kind]
    """All columns, in order."""
    rows: Iterable[Row]


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
