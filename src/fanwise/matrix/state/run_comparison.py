"""Runs of a matrix compared: cells matched by input and repeat, whatever else was changed.

A side is a run, or a file that was exported earlier: either way its rows are those of `export`.
Models and strategies that both sides have are matched by name. If one side has a single one that
the other has not, and the other likewise, the one became the other. Inputs have to be the same: one
that only one side has, or whose fields differ, is listed and not compared. Controls have no model,
so they answer alike on both sides: they would hide a difference, and are listed too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fanwise.errors import UsageError
from fanwise.matrix.cells.cell import NO_MODEL
from fanwise.matrix.stats.compare import Contrast, contrast, corrected
from fanwise.matrix.stats.data import DEFAULTS, AnalysisOptions, CellCalls, Scored
from fanwise.matrix.stats.summary import GroupSummary, summarize

EXPORT = "Write it with: fanwise export RUN --output FILE.jsonl"
NEEDED = {"cell", "model", "strategy", "input", "repeat", "status"}
UNKNOWN_IF_NONE = ("first_token_s", "input_tokens", "output_tokens", "usd")
"""Columns in which null is not the same as a file without them."""
CONTROLS = "controls"
"""Not compared, and nothing is lost by it."""
RUN = "run"
"""The axis whose values are the sides."""
Row = Mapping[str, Any]
Place = tuple[str, str, str, int]
"""Model, strategy, input and repeat; as the first side calls them."""


class Side(msgspec.Struct, frozen=True):
    """One of the runs that are compared."""

    name: str
    rows: Sequence[Row]
    """As `export` writes them."""
    file: Mapping[str, Any] | None = None
    """What the run's file says; None: unknown."""

    @property
    def scorers(self) -> list[str]:
        """In the order of the matrix."""
        columns = self.rows[0] if self.rows else {}
        return [name[len("score_") :] for name in columns if name.startswith("score_")]


class RowPair(msgspec.Struct, frozen=True):
    """The same question to both sides."""

    before: Row
    after: Row

    def change(self, scorer: str) -> float | None:
        """After minus before; None: a score is missing."""
        one, two = (row.get(f"score_{scorer}") for row in (self.before, self.after))
        return None if one is None or two is None else float(two - one)


class SideComparison(msgspec.Struct, frozen=True):
    """A side compared with the first one."""

    before: Side
    after: Side
    renamed: dict[str, dict[str, str]]
    """By axis: what a value of the first side became."""
    pairs: list[RowPair]
    contrasts: list[Contrast]
    """After minus before, for each scorer that both have; corrected together."""
    summaries: list[GroupSummary]
    """Of the matched cells: before, after."""
    unmatched: dict[str, list[str]]
    """What is not compared, by why: values of axes, inputs and scorers of one side."""

    def flipped(self, scorer: str) -> list[RowPair]:
        """The pairs whose score changed, what got worse most first."""
        changed = [(each.change(scorer), each) for each in self.pairs]
        found = [(change, each) for change, each in changed if change]
        return [each for _, each in sorted(found, key=lambda each: each[0])]


def compare_sides(before: Side, after: Side, options: AnalysisOptions = DEFAULTS) -> SideComparison:
    """What changed from one side to the other. `UsageError` if they share no cell."""
    for side in (before, after):
        if not side.rows or not all(row.keys() >= NEEDED for row in side.rows):
            raise UsageError(f"{side.name} does not have the cells of a matrix", EXPORT)
    unmatched: dict[str, list[str]] = {}
    before, after = (_without_controls(side, unmatched) for side in (before, after))
    renamed = {axis: _renamed(axis, before, after, unmatched) for axis in ("model", "strategy")}
    inputs = _same_inputs(before, after, unmatched)
    ours = {_place(row, renamed): row for row in before.rows if row["input"] in inputs}
    theirs = {_place(row, {}): row for row in after.rows if row["input"] in inputs}
    shared = [place for place in ours if place in theirs]
    if not shared:
        raise UsageError(
            f"{before.name} and {after.name} have no cell in common",
            "Compare runs whose inputs have the same ids and fields",
        )
    alone = len(ours) + len(theirs) - 2 * len(shared)
    if alone:
        unmatched["cells of one side only"] = [str(alone)]
    pairs = [RowPair(ours[place], theirs[place]) for place in shared]
    scorers = [name for name in before.scorers if name in after.scorers]
    _list(unmatched, "scores of one side only", set(before.scorers) ^ set(after.scorers))
    cells = [
        _scored(row, place, name, scorers)
        for place, pair in zip(shared, pairs, strict=True)
        for name, row in ((after.name, pair.after), (before.name, pair.before))
    ]
    found = [contrast(cells, RUN, (after.name, before.name), name, options) for name in scorers]
    groups = {
        each.axes[RUN]: each for each in summarize(cells, by=[(RUN,)], options=options).groups
    }
    summaries = [groups[before.name], groups[after.name]]
    return SideComparison(before, after, renamed, pairs, corrected(found), summaries, unmatched)


def _without_controls(side: Side, unmatched: dict[str, list[str]]) -> Side:
    asked = [row for row in side.rows if row["model"] != NO_MODEL]
    if not asked or len(asked) == len(side.rows):
        return side
    controls = {row["strategy"] for row in side.rows if row["model"] == NO_MODEL}
    _list(unmatched, CONTROLS, controls.union(unmatched.get(CONTROLS, ())))
    return msgspec.structs.replace(side, rows=asked)


def _renamed(
    axis: str, before: Side, after: Side, unmatched: dict[str, list[str]]
) -> dict[str, str]:
    """The name that each value has on the other side."""
    old, new = (
        list(dict.fromkeys(str(row[axis]) for row in side.rows)) for side in (before, after)
    )
    gone, come = [each for each in old if each not in new], [e for e in new if e not in old]
    found = {each: each for each in old if each in new}
    if len(gone) == len(come) == 1:
        return {**found, gone[0]: come[0]}
    plural = "strategies" if axis == "strategy" else f"{axis}s"
    _list(unmatched, f"{plural} only in {before.name}", gone)
    _list(unmatched, f"{plural} only in {after.name}", come)
    return found


def _same_inputs(before: Side, after: Side, unmatched: dict[str, list[str]]) -> set[str]:
    ours, theirs = ({str(r["input"]): r.get("input_data") for r in s.rows} for s in (before, after))
    _list(unmatched, f"inputs only in {before.name}", ours.keys() - theirs.keys())
    _list(unmatched, f"inputs only in {after.name}", theirs.keys() - ours.keys())
    both = ours.keys() & theirs.keys()
    other = {each for each in both if ours[each] != theirs[each]}
    _list(unmatched, "inputs with other fields", other)
    return both - other


def _list(unmatched: dict[str, list[str]], why: str, names: Any) -> None:
    if names:
        unmatched[why] = sorted(names)


def _place(row: Row, renamed: Mapping[str, Mapping[str, str]]) -> Place:
    model, strategy = (
        renamed[axis].get(row[axis], f"only before: {row[axis]}") if axis in renamed else row[axis]
        for axis in ("model", "strategy")
    )
    return model, strategy, row["input"], int(row["repeat"])


def _scored(row: Row, place: Place, side: str, scorers: Sequence[str]) -> Scored:
    model, strategy, given, repeat = place
    axes = {RUN: side, "model": model, "strategy": strategy, "input": given, "repeat": str(repeat)}
    measures = {
        name: row[name]
        for name in CellCalls.__struct_fields__
        if row.get(name) is not None or (name in row and name in UNKNOWN_IF_NONE)
    }
    scores = {name: row.get(f"score_{name}") for name in scorers}
    error, fault = row.get("error"), row.get("fault")
    if row["status"] == "failed" and None in scores.values():
        fault = "provider"  # its side counts such failures as missing, and so does the comparison
    return Scored(f"{side} {row['cell']}", axes, row["status"], scores, error, fault, **measures)
