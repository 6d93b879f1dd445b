"""A matrix from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from fanwise.core.budget import Budget
from fanwise.core.caps import Caps
from fanwise.kernel.run import Run
from fanwise.matrix.cells import values_by_axis
from fanwise.matrix.compiled import Compiled, compile_
from fanwise.matrix.driver import Driver, caps_for
from fanwise.matrix.estimate import preview
from fanwise.matrix.results import CellResult, digest
from fanwise.matrix.simulation.report import end_of
from fanwise.matrix.simulation.simulate import simulate
from fanwise.matrix.spec import MatrixSpec
from fanwise.matrix.tables import summary_lines
from fanwise.specs import Document, End, Plan, check
from fanwise.specs.inputs import Inputs
from fanwise.specs.system import Assumed, Preview

KEY = "matrix"


class MatrixPlan:
    """A file that can be run. Making one checks all of it."""

    def __init__(self, document: Document, inputs: Inputs | None = None) -> None:
        self._document = document
        where = document.at(KEY)
        spec = check(document, MatrixSpec, KEY)
        self._inputs = spec.axes.input.load(where.at("axes", "input")) if inputs is None else inputs
        self.compiled: Compiled = compile_(spec, self._inputs, where)

    @property
    def title(self) -> str:
        """The name in the file."""
        return self.compiled.spec.name

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The whole file, and its inputs as they were."""
        return {**self._document.keep(), "inputs": self._inputs.keep()}

    @cached_property
    def caps(self) -> Caps | None:
        """Those of the file, and the room of each provider."""
        return caps_for(self.compiled)

    @cached_property
    def budget(self) -> Budget | None:
        """That of the file."""
        return self.compiled.spec.make_budget()

    @property
    def total(self) -> int:
        """How many items: each cell's steps, and its scores."""
        steps = self.compiled.steps
        scores = len(self.compiled.scorers)
        return sum(len(steps[cell.strategy]) + scores for cell in self.compiled.cells)

    def describe(self) -> Sequence[str]:
        """What would run."""
        cells = self.compiled.cells
        lines = [f"{len(cells)} cells"]
        for axis, values in values_by_axis(cells).items():
            named = ", ".join(values[:8]) + (", …" if len(values) > 8 else "")
            lines.append(f"{axis}: {len(values)} ({named})")
        return lines

    async def execute(self, run: Run) -> End:
        """All cells, and what they come to."""
        driver = Driver(self.compiled)
        await driver.run(self.compiled.cells, run, None)
        found = [driver.results[c.key] for c in self.compiled.cells if c.key in driver.results]
        return _end(found, len(self.compiled.cells))


def _end(found: Sequence[CellResult], wanted: int) -> End:
    failed = [each for each in found if each.status == "failed"]
    unscored = [each for each in found if any(s.error for s in each.scores.values())]
    notes = []
    if failed:
        notes.append(f"{len(failed)} of {wanted} cells failed; the first: {failed[0].error}")
    if unscored:
        notes.append(f"{len(unscored)} answers could not be scored by all scorers")
    document = {"digest": digest(found), "cells": [each.to_json() for each in found]}
    code = 1 if failed or unscored or len(found) < wanted else 0
    return End(document, summary_lines(found), notes, code)


class MatrixSystem:
    """`matrix:` in a file."""

    name = KEY

    def plan(self, document: Document) -> Plan:
        """A file, checked completely."""
        return MatrixPlan(document)

    def preview(self, document: Document) -> Preview:
        """What it would ask and cost, and all that is missing."""
        return preview(document, KEY)

    def simulate(self, document: Document, assumed: Assumed) -> End:
        """How long, how much, and what binds."""
        return end_of(simulate(document, KEY, assumed))

    def again(self, spec: Mapping[str, Any]) -> Plan:
        """What the journal kept of it."""
        return MatrixPlan(Document.again(spec), Inputs.again(spec["inputs"]))


SYSTEM = MatrixSystem()
