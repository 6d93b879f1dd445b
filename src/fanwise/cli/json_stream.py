"""A JSON document with a long list, written row by row: a run may not fit into memory."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import msgspec

from fanwise.cli.streams import write_json


def print_document(head: dict[str, Any], name: str, rows: Iterable[Any]) -> None:
    """Print `{…head, name: [row, …]}`, one row per line."""
    write_json(msgspec.json.encode(head)[:-1])
    write_json(b', "%s": [' % name.encode())
    for number, row in enumerate(rows):
        write_json(b",\n  " if number else b"\n  ")
        write_json(msgspec.json.encode(row))
    write_json(b"\n]}\n")
    sys.stdout.flush()
