"""What came of a run, in the words of the system that made it.

Only the system knows how its values read; one that has neither `told` nor `tell` is left alone, and
so is a run whose system is not installed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fanwise.core.paths import is_top
from fanwise.errors import UsageError
from fanwise.journal.codec import JSON
from fanwise.journal.port import ItemRecord, Journal, RunRecord
from fanwise.system_names import homes

if TYPE_CHECKING:
    from fanwise.specs.system import System, Tell, Told

MOST = 20
"""Items that are told of, if not all are wanted."""


def told_values(journal: Journal, run: RunRecord, *, fully: bool) -> Iterator[str]:
    """Lines for a person; none where there is nothing to tell."""
    system = _system(run.kind)
    told: Told | None = getattr(system, "told", None)
    tell: Tell | None = getattr(system, "tell", None)
    if told is not None:
        yield from told(journal, run, fully=fully)
    elif tell is not None:
        yield from _one_by_one(tell, journal, run, fully=fully)


def tells_all(run: RunRecord) -> bool:
    """Whether nothing is left to say of the run's fan-outs and events."""
    return getattr(_system(run.kind), "tells_all", False)


def _one_by_one(tell: Tell, journal: Journal, run: RunRecord, *, fully: bool) -> Iterator[str]:
    number = sum(1 for _ in _with_values(journal, run))
    for place, item in enumerate(_with_values(journal, run)):
        if place == MOST and not fully:
            yield f"… and {number - MOST:,} more (all of them: --items)"
            return
        value = JSON.decode(item.value or "null")
        yield from tell(item.key, value, fully=fully or number == 1)


def _with_values(journal: Journal, run: RunRecord) -> Iterator[ItemRecord]:
    for fan_out in journal.fan_outs(run.id):
        if is_top(fan_out.path):
            yield from (i for i in journal.items(fan_out.id) if i.value is not None)


def _system(kind: str) -> System | None:
    if not homes(kind):  # a program made the run, or `fanwise map`
        return None
    from fanwise.specs import registry

    try:
        return registry.system(kind)
    except UsageError:  # it cannot be loaded here
        return None
