"""Read the first few records of a long result, then close it.

An iterator that is not read to its end keeps its snapshot of the file, and a snapshot keeps the
write-ahead log from shrinking.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import islice
from typing import TypeVar

R = TypeVar("R")


def take(records: Iterator[R], most: int) -> list[R]:
    """At most `most` records. Closes the iterator."""
    try:
        return list(islice(records, most))
    finally:
        if isinstance(records, Generator):
            records.close()
