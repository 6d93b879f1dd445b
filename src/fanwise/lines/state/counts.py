"""How far a map came, and why no further: in lines, as users count."""

from __future__ import annotations

from collections import Counter

import msgspec

from fanwise.core.counts import Counts, many
from fanwise.journal.codec import JSON
from fanwise.journal.port import Journal, RunRecord
from fanwise.lines.state.inputs import KnownLines, known_inputs
from fanwise.view.resume_command import resume_command


class MapEnd(msgspec.Struct, frozen=True):
    """What is known when an execution has ended."""

    inputs: KnownLines
    outcomes: dict[str, int]
    """Outcomes that count, by status."""
    together: int
    """How many lines each command gets."""
    halted_by: int | None
    """The item whose failure halted it."""
    halted_after: str
    """What halted it, if it was a number of ends that `--halt` named: `after 3 failures`."""
    wanted: bool
    """It was a number of successes or ends, so the rest is not wanted."""
    from_outside: bool
    """It was halted or cancelled from outside."""


def unit_of(together: int) -> str:
    """What is counted: lines, or commands that get several lines each."""
    return "line" if together == 1 else "command"


def count_now(journal: Journal, run: RunRecord) -> Counts:
    """The progress of a run that is going on, or was killed."""
    items = _items(journal, run.id)
    inputs = known_inputs(journal, run.id)
    unit = unit_of(JSON.decode(run.spec).get("lines", 1))
    return Counts(unit, items["done"], items["failed"], inputs.count if inputs.complete else None)


def final_counts(end: MapEnd, journal: Journal, run_id: str, where: str | None) -> Counts:
    """The counts of an execution that has ended; `where`: the journal as the user named it."""
    unit = unit_of(end.together)
    total = end.inputs.count if end.inputs.complete else None
    ended = end.outcomes["done"] + end.outcomes["failed"]
    halted, go_on, enough = "", "", False
    again = resume_command(run_id, where, ["--retry-failed"])
    if end.halted_by is not None and end.halted_by + 1 != total:
        name = f"{unit} {end.halted_by + 1}"
        halted = f"at {name}: {_rest(end, journal, run_id, unit)}"
        go_on = f"{again} (runs {name} again, then the rest)"
    elif end.halted_after and not (end.wanted or ended == total):
        halted = f"{end.halted_after}: {_rest(end, journal, run_id, unit)}"
        go_on = f"{again} (runs failed {unit}s again, then the rest)"
    elif end.halted_after:
        enough = True
    elif total is None and not end.from_outside:
        read = many(end.inputs.count, unit)
        halted = f"the input was not read to its end; {read} known"
        go_on = f"{resume_command(run_id, where)} --input FILE"
    return Counts(unit, end.outcomes["done"], end.outcomes["failed"], total, halted, go_on, enough)


def _rest(end: MapEnd, journal: Journal, run_id: str, unit: str) -> str:
    """What became of the lines that do not count."""
    counts = _items(journal, run_id)
    ended = counts["done"] + counts["failed"]
    parts = {
        "not started": end.inputs.count - ended - counts["cancelled"] - counts["started"],
        "cancelled": counts["cancelled"],
        "finished too, but not printed": ended - end.outcomes["done"] - end.outcomes["failed"],
    }
    text = ", ".join(f"{many(n, unit)} {what}" for what, n in parts.items() if n > 0)
    if not end.inputs.complete:
        text += ", and the input was not read to its end"
    return text or f"all {unit}s had been started"


def _items(journal: Journal, run_id: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for fan_out in journal.fan_outs(run_id):
        counts.update(journal.counts(fan_out.id))
    return counts
