"""How far a map came, and why no further: in lines, as users count."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from fanwise.core.counts import Counts, many
from fanwise.errors import RecordedError
from fanwise.journal.codec import JSON
from fanwise.journal.port import Journal, RunRecord
from fanwise.view.resume_command import resume_command

if TYPE_CHECKING:  # `fanwise runs` imports this module
    from fanwise.core.outcome import Outcome
    from fanwise.processes import CommandResult


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


MOST = 10
"""How many failures are kept; `fanwise show` lists all of them."""


class Failure(msgspec.Struct, frozen=True, order=True):
    """An item that failed."""

    index: int
    why: str


class Tally:
    """Outcomes counted as they come, in bounded memory: how many, and the first in item order."""

    def __init__(self) -> None:
        self.counts = {"done": 0, "failed": 0, "cancelled": 0}
        self.failures: list[Failure] = []
        self.twice: list[int] = []
        self.ran_twice = 0
        """How many may have run twice."""

    def add(self, outcome: Outcome[CommandResult]) -> None:
        if outcome.status in self.counts:
            self.counts[outcome.status] += 1
        if outcome.status == "failed":
            insort(self.failures, Failure(outcome.index, _why(outcome)))
            del self.failures[MOST:]
        if outcome.may_have_run_twice and outcome.status != "skipped":
            self.ran_twice += 1
            insort(self.twice, outcome.index)
            del self.twice[MOST:]

    def end_at(self, index: int) -> None:
        """Count what a loop would have run: the lines up to this one, which failed."""
        self.counts = {"done": index, "failed": 1, "cancelled": 0}
        self.failures = [each for each in self.failures if each.index <= index]


def _why(outcome: Outcome[CommandResult]) -> str:
    """The first line of the error: it has the exit code and the last line of stderr."""
    error = outcome.error
    text = error.text if isinstance(error, RecordedError) else str(error)
    return text.splitlines()[0] if text else type(error).__name__


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
    return KnownLines(journal.input_count(run_id), complete=False)
