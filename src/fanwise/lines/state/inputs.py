"""The lines of a map, as far as its journal has them."""

from __future__ import annotations

import msgspec

from fanwise.journal.port import Journal

COMPLETE = "input complete"
"""The event that records the end of the input; its data has the number of lines."""


class KnownLines(msgspec.Struct, frozen=True):
    """How many there are, and whether the input was read to its end."""

    count: int
    complete: bool


def known_inputs(journal: Journal, run_id: str) -> KnownLines:
    """What the journal knows of the input."""
    for event in journal.events(run_id, COMPLETE):
        return KnownLines(event.decode(dict[str, int])["lines"], complete=True)
    return KnownLines(sum(1 for _ in journal.inputs(run_id)), complete=False)
