"""What came of each item, in the words of the system that made the run.

Only the system knows how its values read; one that has no `tell` is left alone, and so is a run
whose system is not installed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fanwise.cli.say import harmless
from fanwise.errors import UsageError
from fanwise.journal.codec import JSON
from fanwise.journal.port import ItemRecord, Journal, RunRecord
from fanwise.kernel.scope import is_top

if TYPE_CHECKING:
    from fanwise.specs.system import Overview, Tell

MOST = 20
"""Items that are told of, if not all are wanted."""


def told_values(journal: Journal, run: RunRecord, *, fully: bool) -> Iterator[str]:
    """Lines for a person; none where there is nothing to tell."""
    tell: Tell | None = _method(run.kind, "tell")
    if tell is None:
        return
    number = sum(1 for _ in _with_values(journal, run))
    for place, item in enumerate(_with_values(journal, run)):
        if place == MOST and not fully:
            yield f"… and {number - MOST:,} more (all of them: --items)"
            return
        value = JSON.decode(item.value or "null")
        yield from map(harmless, tell(item.key, value, fully=fully or number == 1))


def overview(journal: Journal, run: RunRecord, *, fully: bool) -> list[str] | None:
    """What came of the run as a whole; None: its system has no words for that."""
    made: Overview | None = _method(run.kind, "overview")
    if made is None:
        return None
    return [harmless(line) for line in made(journal, run, fully=fully)]


def _with_values(journal: Journal, run: RunRecord) -> Iterator[ItemRecord]:
    for fan_out in journal.fan_outs(run.id):
        if is_top(fan_out.path):
            yield from (i for i in journal.items(fan_out.id) if i.value is not None)


def _method(kind: str, name: str) -> Any:
    from fanwise.specs import registry

    try:
        return getattr(registry.system(kind), name, None)
    except UsageError:  # the kernel's own kinds are no systems
        return None
