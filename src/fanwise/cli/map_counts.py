"""How far a map came, and why not further: in lines, as its user counts."""

from __future__ import annotations

from collections import Counter

import msgspec

from fanwise.cli.map_spec import MapSpec
from fanwise.cli.resume_hint import resume_command
from fanwise.core.counts import Counts, many
from fanwise.journal.port import Journal
from fanwise.view.inputs import line_name


class MapState(msgspec.Struct, frozen=True):
    """What is known when all has ended."""

    known: int
    """Items that were read: lines, or several together."""
    complete: bool
    """Whether the input was read to its end."""
    told: dict[str, int]
    """Outcomes that count, by status."""
    halted_by: int | None
    """The item whose failure halted it."""
    halted_after: bool
    """The number of ends came that `--halt` named."""
    from_outside: bool
    """Somebody halted or cancelled it."""


def counts_of(
    spec: MapSpec, state: MapState, journal: Journal, run_id: str, where: str | None
) -> Counts:
    """For `Run.conclude`."""
    unit = "line" if spec.lines == 1 else "command"
    total = state.known if state.complete else None
    halted, go_on, enough = "", "", False
    again = resume_command(run_id, where, ["--retry-failed"])
    if state.halted_by is not None and state.halted_by + 1 != total:
        name = line_name(state.halted_by, spec.lines)
        halted = f"at {name}: {_rest(state, journal, run_id, unit)}"
        go_on = f"{again} (runs {name} again, then the rest)"
    elif state.halted_after and spec.halting.what == "fail":
        halted = f"{spec.halting.words}: {_rest(state, journal, run_id, unit)}"
        go_on = f"{again} (runs what failed again, then the rest)"
    elif state.halted_after:
        enough = True
    elif total is None and not state.from_outside:
        halted = f"the input was not read to its end; known: {many(state.known, unit)}"
        go_on = f"{resume_command(run_id, where)} --input FILE"
    told = state.told
    return Counts(unit, told["done"], told["failed"], total, halted, go_on, enough)


def _rest(state: MapState, journal: Journal, run_id: str, unit: str) -> str:
    """What became of the lines that do not count."""
    counts: Counter[str] = Counter()
    for fan_out in journal.fan_outs(run_id):
        counts.update(journal.counts(fan_out.id))
    ended = counts["done"] + counts["failed"]
    parts = {
        "not started": state.known - ended - counts["cancelled"] - counts["started"],
        "cancelled": counts["cancelled"],
        "finished too, not printed": ended - state.told["done"] - state.told["failed"],
    }
    text = ", ".join(f"{many(n, unit)} {what}" for what, n in parts.items() if n > 0)
    if not state.complete:
        text += ", and the input was not read to its end"
    return text or "all lines had been started"
