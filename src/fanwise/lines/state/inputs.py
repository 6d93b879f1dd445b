"""The lines of a map, as far as its journal has them."""

from __future__ import annotations

import msgspec

from fanwise.journal.port import Journal

COMPLETE = "input complete"
"""The event that records the end of the input; its data has the number of lines."""
EDITED = "input edited"
"""The event that records that an edited input is read instead of the earlier one."""


class KnownLines(msgspec.Struct, frozen=True):
    """How many there are, and whether the input was read to its end."""

    count: int
    complete: bool


def lines_are(index: int, together: int, of: str = "") -> str:
    """The beginning of a sentence about the lines of an item, which has `together` of them."""
    first = index * together + 1
    if together == 1:
        return f"line {first}{of} is"
    return f"lines {first} to {first + together - 1}{of} are"


def known_inputs(journal: Journal, run_id: str) -> KnownLines:
    """What the journal knows of the input."""
    count = None
    for event in journal.events(run_id):
        if event.kind == COMPLETE:
            count = event.decode(dict[str, int])["lines"]
        elif event.kind == EDITED:
            count = None
    if count is not None:
        return KnownLines(count, complete=True)
    return KnownLines(sum(1 for _ in journal.inputs(run_id)), complete=False)
