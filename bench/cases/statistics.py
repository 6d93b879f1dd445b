"""How often the intervals of paired comparisons hold the truth, by simulation.

Null matrices (no difference) and shifted ones (a true difference of 0.2), of several shapes. Inputs
differ in how hard they are. A 95 % interval must hold the truth in 94 to 96 of 100 matrices (the
share that is measured may be off by chance). The interval and the p-value must agree in every
matrix: it excludes 0 exactly where p < 0.05.
"""

from __future__ import annotations

import random

from bench.harness import Row
from fanwise.matrix.stats.compare import contrast
from fanwise.matrix.stats.data import Scored

MATRICES = 2_000
SHIFT = 0.2
LEAST, MOST = 0.94, 0.96
CHANCE = 0.0098
"""Of 2,000 draws: two standard errors of a share of 0.95. So much may be measured off the bound."""
SHAPES = [(10, 3, True), (40, 1, True), (40, 3, True), (40, 3, False), (100, 5, True)]
"""Inputs, repeats, and whether scores are right or wrong."""


def measure() -> list[Row]:
    """Each shape without and with a difference."""
    return [row for shape in SHAPES for shift in (0.0, SHIFT) for row in _rows(*shape, shift)]


def _rows(inputs: int, repeats: int, binary: bool, shift: float) -> list[Row]:
    held, contradictions = coverage(inputs, repeats, binary, shift, MATRICES)
    kind = "right or wrong" if binary else "graded"
    name = f"{inputs} inputs x {repeats}, {kind}, difference {shift:g}"
    ok = LEAST - CHANCE <= held <= MOST + CHANCE
    bound = f"{LEAST:g} to {MOST:g}"
    return [
        Row(f"statistics: {name}: interval holds the truth", f"{held:.1%}", "", held, bound, ok),
        Row(f"statistics: {name}: interval and p contradict", str(contradictions), "", None, "0",
            contradictions == 0),
    ]  # fmt: skip


def coverage(
    inputs: int, repeats: int, binary: bool, shift: float, matrices: int
) -> tuple[float, int]:
    """The share of intervals that hold the difference, and how many contradict their p-value."""
    chance = random.Random(f"{inputs} {repeats} {binary} {shift}")
    held = contradictions = 0
    for _ in range(matrices):
        cells = _matrix(chance, inputs, repeats, binary, shift)
        found = contrast(cells, "model", ("a", "b"), "exact")
        low, high = found.difference.low, found.difference.high
        assert found.p is not None
        if low is None or high is None:
            held += 1
            continue
        held += low <= shift <= high
        contradictions += (low > 0 or high < 0) != (found.p < 0.05)
    return held / matrices, contradictions


def _matrix(
    chance: random.Random, inputs: int, repeats: int, binary: bool, shift: float
) -> list[Scored]:
    cells = []
    for number in range(inputs):
        ease = chance.uniform(0.0, 1.0 - shift)
        for model, level in (("a", ease + shift), ("b", ease)):
            for repeat in range(repeats):
                score = float(chance.random() < level) if binary else chance.gauss(level, 0.1)
                axes = {"model": model, "input": str(number), "repeat": str(repeat)}
                cells.append(Scored(f"{model}{number}.{repeat}", axes, "done", {"exact": score}))
    return cells
