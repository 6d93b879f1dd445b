"""How many items a run will have, as far as its journal knows."""

from __future__ import annotations

import msgspec

from fanwise.core.counts import COUNTED, Counts
from fanwise.journal.port import Journal

COMPLETE = "input complete"
"""The kind of the event that says so; its data has the number of lines."""
PLANNED = "planned"
"""The kind of the event that says how many items a run will have; its data has the number."""


class Inputs(msgspec.Struct, frozen=True):
    """How many there are, and whether the input was read to its end."""

    count: int
    complete: bool


def line_name(index: int, together: int = 1) -> str:
    """What people call an item of a map: a line, or a command that is given several."""
    return f"{'line' if together == 1 else 'command'} {index + 1}"


def known_inputs(journal: Journal, run_id: str) -> Inputs:
    """What the journal knows of the run's input."""
    for event in journal.events(run_id, COMPLETE):
        return Inputs(event.decode(dict[str, int])["lines"], complete=True)
    return Inputs(sum(1 for _ in journal.inputs(run_id)), complete=False)


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
