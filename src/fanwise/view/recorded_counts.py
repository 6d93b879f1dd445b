"""What a run recorded about its size: how many items it planned, and how far it came."""

from __future__ import annotations

from fanwise.core.counts import COUNTED, Counts
from fanwise.journal.port import Journal

PLANNED = "planned"
"""The kind of the event that says how many items a run will have; its data has the number."""


def planned_items(journal: Journal, run_id: str) -> int | None:
    """How many items the run said that it would have; None: it did not say."""
    for event in journal.events(run_id, PLANNED):
        return event.decode(dict[str, int])["items"]
    return None


def counts_at_the_end(journal: Journal, run_id: str) -> Counts | None:
    """How far the run said that it came, in the unit of its user; None: it did not say."""
    last = None
    for last in journal.events(run_id, COUNTED):  # noqa: B007 - the last one holds
        pass
    return None if last is None else last.decode(Counts)
