"""The outcomes at which a predicate halted a run, so that a resume halts there too.

The recorded outcome shows whether a failure or a success halts. It does not show what a predicate
answered, which may depend on things that the journal does not keep. So the answer is recorded as an
event. It is valid until the item runs again, which is another event, before the item's start.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fanwise.journal.port import EventRecord

HALT, WITHDRAWN = "halt", "halt withdrawn"


class HaltNote(msgspec.Struct, frozen=True):
    """The data of such an event."""

    path: str
    index: int | None = None
    """None: it was told to halt from outside."""
    key: str | None = None
    reason: str = ""


def recorded_halts(events: Iterable[EventRecord]) -> dict[str, set[str]]:
    """By path: the keys of the items at which a predicate halted the fan-out."""
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
