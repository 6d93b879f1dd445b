"""What a matrix would ask and cost: `fanwise check`.

All of it is an estimate by the rules of `demand.py`, which are said with it. What has no known
price is named, and is never taken for 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import msgspec

from fanwise.core.counts import many
from fanwise.errors import BadSpec, Problem
from fanwise.matrix.cells.cell import NO_MODEL, Cell
from fanwise.matrix.estimate.demand import BYTES_A_TOKEN, OUTPUT_TOKENS, Ask, CellDemand, demand_of
from fanwise.matrix.spec.compile import Compiled, compile_, connected, make_parts
from fanwise.matrix.spec.matrix_spec import AXES, MatrixSpec
from fanwise.specs import Document, InputsSpec, check
from fanwise.specs.inputs import Inputs
from fanwise.specs.system import Preview

MOST_VALUES = 8
"""Of an axis that are shown."""
RULES = (
    f"input: a token for every {BYTES_A_TOKEN} bytes of the rendered prompts and schemas",
    f"output: max_tokens, without it {OUTPUT_TOKENS}; so the dollars are those of long answers",
    "requests: without retries and fallbacks; sample: all samples that it may make; call: one",
)


class CallSum(msgspec.Struct):
    cells: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    """Of those whose price is known."""
    unpriced: set[str] = msgspec.field(default_factory=set)
    """Models whose price is unknown."""

    def add(self, ask: Ask, times: int) -> None:
        """More calls, all alike."""
        self.requests += times
        self.input_tokens += times * (ask.tokens.input or 0)
        self.output_tokens += times * (ask.tokens.output or 0)
        if ask.usd is None:
            self.unpriced.add(ask.model.name)
        else:
            self.usd += times * ask.usd

    def to_json(self) -> dict[str, Any]:
        """`usd` is null where a price is unknown; `usd_known` is the part that is known."""
        return {
            "cells": self.cells,
            "requests": self.requests,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "usd": None if self.unpriced else self.usd,
            "usd_known": self.usd,
            "unpriced": sorted(self.unpriced),
        }

    @property
    def dollars(self) -> str:
        known = f"${self.usd:.4g}"
        if not self.unpriced:
            return known
        return f"{known} and what is unknown" if self.usd else "unknown"


class CostEstimate(msgspec.Struct, frozen=True):
    total: CallSum
    providers: dict[str, CallSum]
    """A judge's calls count for its own provider; cells for that of their model."""

    @staticmethod
    def of(cells: Sequence[Cell], demands: Sequence[CellDemand]) -> CostEstimate:
        """Added up: `demands` are those of the cells."""
        providers = {
            name: CallSum(cells) for name, cells in Counter(each.provider for each in cells).items()
        }
        total = CallSum(len(cells))
        for demand, times in Counter(demands).items():
            for ask in demand.asks:
                total.add(ask, times)
                providers.setdefault(ask.model.provider, CallSum()).add(ask, times)
        return CostEstimate(total, providers)


def preview(document: Document, key: str) -> Preview:
    """The matrix that stands there, counted; with all that is missing before it can run."""
    spec = check(document, MatrixSpec, key)
    where = document.at(key)
    inputs, problems = _inputs(spec.inputs, document, key)
    if inputs is None:
        raise BadSpec(document.name, [*problems, *_missing_keys(spec, document, key)])
    try:
        compiled = compile_(spec, inputs, where, connected=False)
    except BadSpec as error:
        missing = _missing_keys(spec, document, key)
        raise BadSpec(document.name, dict.fromkeys([*error.problems, *missing])) from None
    try:
        make_parts(spec, inputs, where)
    except BadSpec as error:
        problems = error.problems
    return _preview(compiled, problems, document.name)


def _inputs(spec: InputsSpec, document: Document, key: str) -> tuple[Inputs | None, list[Problem]]:
    where = document.at(key, "inputs")
    try:
        return spec.load(where), []
    except BadSpec as error:
        if error.file == document.name:
            return None, error.problems
        # Of a file beside this one: told with its own name, at the place that names it here.
        told = [where.bad(each.at(error.file)).problems for each in error.problems]
        return None, [problem for problems in told for problem in problems]


def _missing_keys(spec: MatrixSpec, document: Document, key: str) -> list[Problem]:
    """Of a file that has worse problems: what can be told of its models all the same."""
    found: list[Problem] = []
    places: list[tuple[Any, tuple[str | int, ...]]] = [
        *((each, ("models", n)) for n, each in enumerate(spec.models)),
        *((each.model, ("score", n, "model")) for n, each in enumerate(spec.score) if each.model),
    ]
    for each, path in places:
        try:
            connected(each.spec(), document.at(key, *path))
        except BadSpec as error:
            found += error.problems
    return found


def _preview(compiled: Compiled, problems: Sequence[Problem], file: str) -> Preview:
    estimate = CostEstimate.of(compiled.cells, demand_of(compiled))
    cells, limits = compiled.cells, compiled.spec.make_caps()
    budget = compiled.spec.make_budget()
    by_axis = {
        axis: {
            str(value): number for value, number in Counter(map(attrgetter(axis), cells)).items()
        }
        for axis in AXES
    }
    return Preview(
        compiled.spec.title(file),
        len(compiled.cells),
        {} if limits is None else limits.current,
        {} if budget is None else budget.limits,
        [*_counted(by_axis), *_estimated(estimate), *_budgeted(compiled, estimate)],
        {
            "cells": estimate.total.cells,
            "by_axis": by_axis,
            "estimate": {
                **estimate.total.to_json(),
                "by_provider": {name: s.to_json() for name, s in estimate.providers.items()},
                "rules": list(RULES),
            },
        },
        problems,
        unit="cell",
    )


def _counted(by_axis: dict[str, dict[str, int]]) -> list[str]:
    lines = []
    for axis, counts in by_axis.items():
        values = {name: number for name, number in counts.items() if name != NO_MODEL} or counts
        shown = list(values.items())[:MOST_VALUES]
        even = len(values) > 1 and len(set(values.values())) == 1
        named = ", ".join(value if even else f"{value} {number}" for value, number in shown)
        more = ", …" if len(values) > MOST_VALUES else ""
        each = f", {many(next(iter(values.values())), 'cell')} each" if even else ""
        lines.append(f"{axis}: {len(values)} ({named}{more}){each}")
    return lines


def _estimated(estimate: CostEstimate) -> list[str]:
    lines = []
    for name, each in [*estimate.providers.items(), ("in all", estimate.total)]:
        if name == NO_MODEL:
            lines.append(f"no model: {many(each.cells, 'cell')}")
            continue
        tokens = f"{each.input_tokens} tokens in, {each.output_tokens} out"
        requests = f"at most {many(each.requests, 'request')}"
        lines.append(
            f"{name}: {many(each.cells, 'cell')}, {requests}, about {tokens}, {each.dollars}"
        )
    unpriced = [
        f"the price of {model} is unknown: give `price: {{input: …, output: …}}`"
        for model in sorted(estimate.total.unpriced)
    ]
    return [*lines, *unpriced, *(f"({rule})" for rule in RULES)]


def _budgeted(compiled: Compiled, estimate: CostEstimate) -> list[str]:
    budget, total = compiled.spec.budget, estimate.total
    if budget is None:
        return []
    lines = []
    needs = {
        "requests": total.requests,
        "tokens": total.input_tokens + total.output_tokens,
        "usd": total.usd,
    }
    for kind, needed in needs.items():
        most = getattr(budget, kind)
        if most is not None and needed > most:
            lines.append(f"the budget of {most:g} {kind} may not be enough: about {needed:g}")
    if budget.usd is not None and total.unpriced:
        lines.append("the budget of dollars refuses calls whose price is unknown")
    return lines
