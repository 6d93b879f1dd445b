"""Parquet: a table with types, for pandas, DuckDB and others. Needs `fanwise[parquet]`."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from fanwise.errors import MissingExtra
from fanwise.view.table import Kind, Table
from fanwise.view.text_file import cannot_write

ROWS_AT_ONCE = 1_000


def write_parquet(output: Path, table: Table) -> int:
    """Write the table and return its number of rows. JSON becomes text, times have a time zone."""
    pyarrow, parquet = _pyarrow()
    schema = pyarrow.schema([(name, _type(pyarrow, kind)) for name, kind in table.columns.items()])
    rows, number = iter(table.rows), 0
    try:
        with parquet.ParquetWriter(output, schema, compression="zstd") as writer:
            while page := list(islice(rows, ROWS_AT_ONCE)):
                columns = {
                    name: [_value(row.get(name), kind) for row in page]
                    for name, kind in table.columns.items()
                }
                writer.write_table(pyarrow.table(columns, schema=schema))
                number += len(page)
    except OSError as error:
        raise cannot_write(str(output), error) from error
    return number


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra("Parquet", "parquet") from error
    return pyarrow, parquet


def _type(pyarrow: Any, kind: Kind) -> Any:
    types = {
        "text": pyarrow.string(),
        "json": pyarrow.string(),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "moment": pyarrow.timestamp("ms", tz="UTC"),
    }
    return types[kind]


def _value(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind == "json":
        return msgspec.json.encode(value).decode()
    if kind == "moment":
        return datetime.fromisoformat(value)
    if kind == "text":
        # Lone surrogates cannot be encoded as UTF-8.
        return value.encode("utf-8", "backslashreplace").decode()
    return int(value) if kind == "integer" else value
