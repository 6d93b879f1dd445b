"""The items of a run as its system lists them: a page at a time, with columns of its own.

A system reads as many of its items as a page needs. What is rare may be far away: a search ends
after `SEARCH_S`, and says from where it goes on, so that no page takes longer.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

SEARCH_S = 0.2


class ItemsWanted(msgspec.Struct, frozen=True):
    """Which items are wanted; empty: all."""

    status: str = ""
    text: str = ""
    """In what is shown of them, in upper or lower case."""
    ran_s: float = 0.0
    """They ran at least that long."""
    chosen: Mapping[str, str] = {}
    """By column: the value that it has."""
    score: str = ""
    """A scorer whose score is at most `at_most`."""
    at_most: float = 0.0


class ListedItem(NamedTuple):
    """One row."""

    key: str
    """Of the item that its name leads to."""
    status: str
    columns: Sequence[str]
    ran_s: float | None
    text: str
    """Its answer or error."""


class ListedItems(msgspec.Struct, frozen=True):
    """A page of them."""

    path: str
    """The fan-out that the keys are of."""
    columns: Sequence[str]
    choices: Mapping[str, Sequence[str]]
    """By column: values that can be chosen."""
    scores: Sequence[str]
    statuses: Sequence[str]
    items: Sequence[ListedItem]
    next: int | None
    """Where the next page begins; None: there is none."""
    searched: int
    """How many were looked at."""


class SearchClock:
    """Says when a search has taken long enough."""

    def __init__(self) -> None:
        self._until = time.monotonic() + SEARCH_S

    @property
    def is_up(self) -> bool:
        return time.monotonic() > self._until
