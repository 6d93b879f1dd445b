"""Cells for the tests of the analysis."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product

from fanwise.matrix.stats.data import Fault, Scored

Score = Callable[[Mapping[str, str]], float | None]


def cell(
    axes: Mapping[str, str],
    score: float | None = None,
    *,
    failed: bool = False,
    usd: float | None = 0.01,
    ran_s: float = 1.0,
    first_token_s: float | None = 0.1,
    scorer: str = "exact",
    fault: Fault = "provider",
) -> Scored:
    return Scored(
        key="/".join(axes.values()),
        axes=dict(axes),
        status="failed" if failed else "done",
        scores={} if failed else {scorer: score},
        ran_s=ran_s,
        first_token_s=None if failed else first_token_s,
        input_tokens=10,
        output_tokens=5,
        usd=usd,
        error="TimeoutError" if failed else None,
        fault=fault if failed else None,
    )


def places(
    *,
    models: Sequence[str] = ("a", "b"),
    strategies: Sequence[str] = ("s",),
    inputs: int = 5,
    repeats: int = 1,
) -> list[dict[str, str]]:
    """The axes of all cells of a matrix."""
    return [
        {"model": model, "strategy": strategy, "input": f"i{number}", "repeat": str(repeat)}
        for repeat, number, strategy, model in product(
            range(1, repeats + 1), range(inputs), strategies, models
        )
    ]


def scored(planned: Iterable[Mapping[str, str]], score: Score) -> list[Scored]:
    """Each place with its score; a score of None is a failed cell."""
    return [
        cell(axes, found, failed=found is None)
        for axes, found in ((axes, score(axes)) for axes in planned)
    ]


def random_cells(
    seed: int, *, models: Sequence[str] = ("a", "b"), strategies: Sequence[str] = ("s",),
    inputs: int = 20, repeats: int = 1, binary: bool = True, failing: float = 0.0,
) -> list[Scored]:  # fmt: skip
    """Scores that inputs have in common, with differences between models; fixed by the seed."""
    chance = random.Random(seed)
    ease = {f"i{number}": chance.random() for number in range(inputs)}

    def score(axes: Mapping[str, str]) -> float | None:
        if chance.random() < failing:
            return None
        right = min(1.0, ease[axes["input"]] + 0.15 * (axes["model"] == models[0]))
        return float(chance.random() < right) if binary else right * chance.random()

    planned = places(models=models, strategies=strategies, inputs=inputs, repeats=repeats)
    return scored(planned, score)
