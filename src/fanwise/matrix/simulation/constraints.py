"""The caps and rates of a matrix, one by one: how much each is used, and what if it were another.

A provider that no cap bounds has one all the same: the driver works on so many of its cells at
once. So it is a constraint too, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from fanwise.core.rate import Bucket
from fanwise.matrix.cells.cell import NO_MODEL
from fanwise.matrix.simulation.plan import SimulatedTotals
from fanwise.matrix.spec.compile import Compiled
from fanwise.matrix.spec.matrix_spec import MatrixSpec
from fanwise.matrix.state.queue_limits import UNCAPPED
from fanwise.models.port import cap_names
from fanwise.models.unconnected import Unconnected
from fanwise.specs import AdaptiveSpec, RateSpec

MINUTE_S = 60.0


class Constraint(msgspec.Struct, frozen=True):
    kind: Literal["cap", "queue", "rpm", "tpm", "budget"]
    name: str
    """The cap's; of a budget: usd, tokens or requests."""
    most: float

    def __str__(self) -> str:
        if self.kind == "queue":
            return f"{self.name}: no cap, {self.most:g} cells at once"
        return self._limit(self.most)

    def _limit(self, most: float) -> str:
        if self.kind == "budget":
            return f"budget: {most:g} {self.name}"
        limit = f"{most:g} {self.kind}" if self.kind in ("rpm", "tpm") else f"cap {most:g}"
        return f"{self.name}: {limit}"

    def at(self, factor: float) -> float:
        """That many times as much; a cap is whole, and at least 1."""
        scaled = self.most * factor
        return max(1, round(scaled)) if self.kind in ("cap", "queue") else scaled

    def change(self, factor: float) -> str:
        return self._limit(self.at(factor))

    def scaled(self, spec: MatrixSpec, factor: float) -> MatrixSpec:
        """The matrix with another limit."""
        if self.kind == "budget":
            assert spec.budget is not None
            budget = spec.budget.model_copy(update={self.name: self.at(factor)})
            return spec.model_copy(update={"budget": budget})
        if self.kind in ("rpm", "tpm"):
            rate = spec.rates[self.name].model_copy(update={self.kind: self.at(factor)})
            return spec.model_copy(update={"rates": {**spec.rates, self.name: rate}})
        most = int(self.at(factor))
        cap: Any = spec.caps.get(self.name)
        if isinstance(cap, AdaptiveSpec) and cap.shared is None:
            least, start = min(cap.least, most), max(1, min(most, round(cap.start * factor)))
            cap = AdaptiveSpec(least=min(least, start), start=start, most=most)
        else:
            cap = most
        return spec.model_copy(update={"caps": {**spec.caps, self.name: cap}})

    def least_s(self, load: Load) -> float:
        """No schedule is faster than this lets it be."""
        if self.kind in ("cap", "queue"):
            return load.seconds / self.most
        if self.kind == "budget":
            return 0.0
        amount = load.requests if self.kind == "rpm" else load.tokens
        make = Bucket.of_requests if self.kind == "rpm" else Bucket.of_tokens
        bucket = make(self.most, MINUTE_S)
        return max(0.0, (amount - bucket.burst) / bucket.refill)

    def used(self, load: Load, seconds: float) -> float:
        """The part of it that was in use, on average; of a budget, what was spent."""
        if self.kind == "budget":
            return float(getattr(load, self.name)) / self.most
        if not seconds:
            return 0.0
        if self.kind in ("cap", "queue"):
            return load.seconds / (self.most * seconds)
        amount = load.requests if self.kind == "rpm" else load.tokens
        return amount / (self.most / MINUTE_S * seconds)


class Load(msgspec.Struct):
    """What had to go through a constraint."""

    seconds: float = 0.0
    requests: int = 0
    tokens: int = 0
    usd: float = 0.0


def load_on(
    constraint: Constraint, models: Iterable[Unconnected], totals: Mapping[str, SimulatedTotals]
) -> Load:
    """What the models that need this cap came to; of a budget, all models."""
    load = Load()
    for model in models:
        if constraint.kind == "budget" or constraint.name in cap_names(model):
            each = totals[model.name]
            load.seconds += each.seconds
            load.requests += each.attempts
            load.tokens += each.input_tokens + each.output_tokens
            load.usd += each.usd
    return load


def constraints_of(compiled: Compiled, models: Iterable[Unconnected]) -> list[Constraint]:
    spec = compiled.spec
    found = [
        Constraint("cap", name, cap if isinstance(cap, int) else cap.most)
        for name, cap in spec.caps.items()
    ]
    for name, rate in spec.rates.items():
        found += _rates(name, rate)
    asked = {cell.provider for cell in compiled.cells} - {NO_MODEL}
    bounded = {model.provider for model in models if any(n in spec.caps for n in cap_names(model))}
    found += [Constraint("queue", name, UNCAPPED) for name in sorted(asked - bounded)]
    budget = {} if spec.budget is None else spec.budget.model_dump(exclude_none=True)
    return [*found, *(Constraint("budget", name, most) for name, most in budget.items())]


def _rates(name: str, rate: RateSpec) -> list[Constraint]:
    found = []
    if rate.rpm is not None:
        found.append(Constraint("rpm", name, rate.rpm))
    if rate.tpm is not None:
        found.append(Constraint("tpm", name, rate.tpm))
    return found
