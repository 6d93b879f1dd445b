"""One JSON document with a long list in it, written as it is read: a run may not fit in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import msgspec


def print_document(head: dict[str, Any], name: str, rows: Iterable[Any]) -> None:
    """`{…head, name: [row, …]}` on stdout, a row a line."""
    out = sys.stdout.buffer
    out.write(msgspec.json.encode(head)[:-1])
    out.write(b', "%s": [' % name.encode())
    for number, row in enumerate(rows):
        out.write(b",\n  " if number else b"\n  ")
        out.write(msgspec.json.encode(row))
    out.write(b"\n]}\n")
    out.flush()
