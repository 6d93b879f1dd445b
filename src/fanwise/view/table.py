"""Rows with named columns: what `export` writes, whatever the format.

Columns say what kind of values they have, for Parquet wants to know before the first row. A row
may lack columns, and has no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

Kind = Literal["text", "integer", "number", "moment", "json"]
"""`moment` is ISO 8601 in UTC; `json` any plain data, which formats of text hold as JSON."""
Row = dict[str, Any]


class Table(msgspec.Struct, frozen=True):
    """Rows of one sort, made as they are read."""

    what: str
    """In the plural: "items", "cells"."""
    columns: Mapping[str, Kind]
    """All that a row can have, in order."""
    rows: Iterable[Row]
