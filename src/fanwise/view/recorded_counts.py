"""What a run recorded about its size: how many items it planned, and how far it came."""

from __future__ import annotations

from fanwise.core.counts import COUNTED, Counts
from fanwise.journal.port import Journal

PLANNED = "planned"
"""The event that records how many items a run will have."""


def planned_items(journal: Journal, run_id: str) -> int | None:
    """How many items the run planned to have; None: it did not say."""
    for event in journal.events(run_id, PLANNED):
        return event.decode(dict[str, int])["items"]
    return None


def counts_at_the_end(journal: Journal, run_id: str) -> Counts | None:
    """How far the run came, in its users' unit, as it recorded at its end; None: it did not."""
    last = None
    for last in journal.events(run_id, COUNTED):  # noqa: B007 - the last one holds
        pass
    return None if last is None else last.decode(Counts)
