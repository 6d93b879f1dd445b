"""The smallest call in which a candidate differs.

Of all that differ the one with the least to read is taken, with the calls before it in the same
process if it differs only after them. Then smaller ones are made, beside the original, and tried
on both sides, as long as there is time.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec

from fanwise.kernel.confined.settings import Settings
from fanwise.kernel.in_thread import in_thread
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.baseline import Baseline
from fanwise.optimize.differential.child_program import Where, run_program, site_of
from fanwise.optimize.differential.compare import Difference, Differs, Kind, compare
from fanwise.optimize.differential.describe import describe_step
from fanwise.optimize.differential.equal import Tolerance
from fanwise.optimize.differential.observe import Observations, observe
from fanwise.optimize.differential.plan import CallPlan, read_rows, rows_to_lines, write_plan

BUDGET_S = 20.0
"""Seconds to spend on shrinking."""
_TRIED = 3
"""How many differing calls are tried on their own."""
_CALL = 2000
Rows = list[dict[str, Any]]


class BothSides(msgspec.Struct, frozen=True, kw_only=True):
    """Both sides, and what is compared."""

    original: Where
    candidate: Where
    target: Target
    baseline: Baseline
    settings: Settings
    tolerance: Tolerance
    hash_seed: int
    scratch: Path
    """A temporary folder."""

    async def program(self, name: str, plan: CallPlan, **more: object) -> bytes:
        """The output of a child program, run on the original."""
        recording = self.baseline.recording
        how = recording.how(site_of(self.original).root, self.target.file, self.target.name)
        result = await run_program(
            self.original, name, {**how, "plan": plan.file, **more}, self.settings,
            python=recording.python, hash_seed=self.hash_seed,
            readable=(recording.folder, str(self.scratch)), timeout=60.0,
        )  # fmt: skip
        return result.stdout.data if result.ok else b""

    async def observe(self, where: Where, plan: CallPlan) -> Observations:
        """Make the calls of a plan on one side."""
        seconds = {entry.id: 3.0 for entry in plan.entries}
        return await observe(
            where, self.target, self.baseline.recording, plan, self.settings,
            hash_seed=self.hash_seed, seconds=seconds, ends=10, budget_s=BUDGET_S,
            readable=(str(self.scratch),), names=self.baseline.passes[0].names,
        )  # fmt: skip

    async def differing(self, plan: CallPlan) -> list[Differs]:
        """The planned calls in which the two sides differ."""
        ours = await self.observe(self.original, plan)
        theirs = await self.observe(self.candidate, plan)
        known = [entry for entry in plan.entries if entry.id in theirs.seen]
        return compare(known, ours, theirs, self.tolerance)


class KnownFailures:
    """The smallest calls of earlier candidates: many fail alike, and shrinking is slow."""

    def __init__(self) -> None:
        self.rows: list[Rows] = []


async def smallest(
    pair: BothSides, differing: list[Differs], known: KnownFailures, *, budget_s: float = BUDGET_S
) -> Difference:
    """Shrink the difference, and write the call down; one that is known is shrunk once."""
    kinds = {each.kind for each in differing}
    for rows in known.rows:
        again = await pair.differing(await _plan(pair, [rows]))
        if again and again[0].kind in kinds:
            return await _written(pair, rows, again[0])
    until = time.monotonic() + budget_s
    rows, differs = await _start(pair, differing)
    size: int | None = None
    while time.monotonic() < until:
        found = await _smaller(pair, rows, differs.kind, size)
        if found is None:
            break
        rows, differs, size = found
    known.rows.append(rows)
    return await _written(pair, rows, differs)


async def _start(pair: BothSides, differing: list[Differs]) -> tuple[Rows, Differs]:
    """One that differs by itself; else one with all that came before it in its process."""
    plan = pair.baseline.plan
    order = sorted(differing, key=_readable)
    for differs in order[:_TRIED]:
        rows = await in_thread(read_rows, plan, [differs.entry.id])
        again = await pair.differing(await _plan(pair, [rows]))
        if again:
            return rows, again[0]
    first = min(differing, key=lambda each: each.entry.id)
    made = set(pair.baseline.made)
    group = [e.id for e in plan.entries if e.group == first.entry.group and e.id in made]
    rows = await in_thread(read_rows, plan, [each for each in group if each <= first.entry.id])
    return rows, first


def _readable(differs: Differs) -> tuple[bool, bool, bool, int]:
    entry = differs.entry
    hidden = differs.kind in ("globals", "ended")
    return hidden, entry.script != "once", entry.label != "as recorded", entry.id


async def _smaller(
    pair: BothSides, rows: Rows, kind: Kind, size: int | None
) -> tuple[Rows, Differs, int] | None:
    """The smallest of the smaller ones that still differ, in something that can be seen as well."""
    lines = await pair.program("shrink", await _plan(pair, [rows]))
    plan = await in_thread(write_plan, pair.scratch / "smaller.jsonl", lines)
    found = [
        each
        for each in await pair.differing(plan)
        if each.kind == kind or each.kind not in ("globals", "ended")
    ]
    best = min(found, key=lambda each: each.entry.size, default=None)
    if best is None or (size is not None and best.entry.size >= size):
        return None
    group = [each.id for each in plan.entries if each.group == best.entry.group]
    kept = [each for each in group if each <= best.entry.id]
    return await in_thread(read_rows, plan, kept), best, best.entry.size


async def _plan(pair: BothSides, groups: list[Rows]) -> CallPlan:
    rows = [
        {**row, "group": number, "id": 1000 * number + place}
        for number, group in enumerate(groups, start=1)
        for place, row in enumerate(group)
    ]
    return await in_thread(write_plan, pair.scratch / "tried.jsonl", rows_to_lines(rows))


class _WrittenCall(msgspec.Struct):
    call: str = ""


async def _written(pair: BothSides, rows: Rows, differs: Differs) -> Difference:
    lines = await pair.program("write_call", await _plan(pair, [rows]))
    text = _WrittenCall()
    if lines:
        text = msgspec.json.decode(lines.splitlines()[-1], type=_WrittenCall)
    return Difference(
        kind=differs.kind,
        call=(text.call or f"{pair.target.name}(…): {differs.entry.label}")[:_CALL],
        expected=describe_step(differs.expected, differs.kind),
        got=differs.ended or describe_step(differs.got, differs.kind),
    )
