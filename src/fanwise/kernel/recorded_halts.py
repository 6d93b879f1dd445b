"""At which outcomes a run was halted by a predicate, so that a resume halts there too.

That a failure or a success halts can be told from the recorded outcome. What a predicate would say
to it cannot: it may look at what no journal keeps. So its answer is an event of the run. It holds
until the item is run again; that it is, is an event before its start.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fanwise.journal.port import EventRecord

HALT, WITHDRAWN = "halt", "halt withdrawn"


class HaltNote(msgspec.Struct, frozen=True):
    """What an event says: the fan-out, the item, and why."""

    path: str
    index: int | None = None
    """None: an order from outside."""
    key: str | None = None
    reason: str = ""


def recorded_halts(events: Iterable[EventRecord]) -> dict[str, set[str]]:
    """By path: the keys of items whose outcomes halted their fan-out by a predicate."""
    found: dict[str, set[str]] = {}
    for event in events:
        if event.kind in (HALT, WITHDRAWN):
            note = event.decode(HaltNote)
            keys = found.setdefault(note.path, set())
            if event.kind == WITHDRAWN:
                keys.discard(note.key or "")
            elif note.reason == "when" and note.key is not None:
                keys.add(note.key)
    return found
