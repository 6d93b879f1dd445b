"""The first of a long answer of the journal, and then no more.

An iterator that is not read to its end holds its snapshot of the file, and a snapshot keeps the
write-ahead log from being shortened. Whoever may stop early takes what he needs, and lets go.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import islice
from typing import TypeVar

R = TypeVar("R")


def take(records: Iterator[R], most: int) -> list[R]:
    """At most so many of them; the iterator is closed."""
    try:
        return list(islice(records, most))
    finally:
        if isinstance(records, Generator):
            records.close()
