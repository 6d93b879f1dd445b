"""Limits in files: caps, rates, the budget, retries.

They are data here. `make_caps` and `make_budget` make the objects that count: new ones each time,
for those that share such an object share what it counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from fanwise.core.budget import Budget
from fanwise.core.caps import Adaptive, Caps, Limit, Rate, Shared, resource
from fanwise.core.retry import OnError, Retry
from fanwise.specs.model import Pause, SpecModel
from fanwise.specs.place import PlaceSpec

if TYPE_CHECKING:
    from fanwise.kernel.workers import WorkPlace


def _name(name: str) -> str:
    resource(name, 1)  # says which names cannot be
    return name


Name = Annotated[str, AfterValidator(_name)]


class AdaptiveSpec(SpecModel):
    """`{start: 4, least: 1, most: 16}`: a cap that adapts to the provider.

    `{most: 50, shared: team-key}`: one that all processes with the same journal share.
    """

    start: int = Field(default=8, ge=1)
    least: int = Field(default=1, ge=1)
    most: int = Field(default=256, ge=1)
    shared: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one_kind(self) -> AdaptiveSpec:
        if self.shared is not None and self.model_fields_set != {"most", "shared"}:
            raise ValueError("a shared cap has `most`, and neither `start` nor `least`")
        return self

    @model_validator(mode="after")
    def _in_order(self) -> AdaptiveSpec:
        if self.shared is None and not self.least <= self.start <= self.most:
            numbers = f"{self.least}, {self.start} and {self.most}"
            raise ValueError(f"least, start and most must not fall; they are {numbers}")
        return self


CapSpec = Annotated[int, Field(ge=1)] | AdaptiveSpec


class RateSpec(SpecModel):
    """`{rpm: 500, tpm: 200000}`: requests and tokens per minute.

    `{rpm: 500, shared: team-key}`: of all processes with the same journal.
    """

    rpm: float | None = Field(default=None, gt=0)
    tpm: float | None = Field(default=None, gt=0)
    shared: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _something(self) -> RateSpec:
        if self.rpm is None and self.tpm is None:
            raise ValueError("a rate has rpm, tpm or both")
        return self


class BudgetSpec(SpecModel):
    """`{usd: 5, tokens: 1000000, requests: 1000}`: the most that a run may spend.

    `{usd: 50, shared: team}`: of all processes with the same journal, on one day.
    """

    usd: float | None = Field(default=None, gt=0)
    tokens: float | None = Field(default=None, gt=0)
    requests: float | None = Field(default=None, gt=0)
    shared: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _something(self) -> BudgetSpec:
        if self.usd is None and self.tokens is None and self.requests is None:
            raise ValueError("a budget has usd, tokens or requests")
        return self

    def make(self) -> Budget:
        """The budget itself."""
        return Budget(**self.model_dump())


def _limit(cap: CapSpec) -> Limit:
    if isinstance(cap, int):
        return cap
    if cap.shared is not None:
        return Shared(cap.most, cap.shared)
    return Adaptive(cap.start, cap.least, cap.most)


class LimitsSpec(SpecModel):
    """Base class of mappings with `caps`, `rates` and `budget`, and `on`: where attempts run."""

    caps: dict[Name, CapSpec] = Field(default_factory=dict)
    rates: dict[Name, RateSpec] = Field(default_factory=dict)
    budget: BudgetSpec | None = None
    on: PlaceSpec | None = None

    def make_caps(self) -> Caps | None:
        """The caps and rates as one object; None if there are none."""
        limits = self.limits()
        return Caps(limits) if limits else None

    def limits(self, *, alone: bool = False) -> dict[str, list[Limit]]:
        """Caps and rates, by name. `alone`: as if nobody else used the shared ones."""
        limits: dict[str, list[Limit]] = {}
        for name, cap in self.caps.items():
            found = _limit(cap)
            number = found.most if alone and isinstance(found, Shared) else found
            limits.setdefault(name, []).append(number)
        for name, rate in self.rates.items():
            shared = None if alone else rate.shared
            limits.setdefault(name, []).append(Rate(rate.rpm, rate.tpm, shared=shared))
        return limits

    def make_budget(self) -> Budget | None:
        """The budget; None if there is none."""
        return None if self.budget is None else self.budget.make()

    def make_place(self) -> WorkPlace | None:
        """Where attempts run; None: in this process."""
        return None if self.on is None else self.on.place()


class RetrySpec(SpecModel):
    """`3`, or `{times: 3, base: 500ms, most: 1m}`: extra attempts, and the pauses."""

    times: int = Field(ge=0)
    base: Pause = 0.5
    most: Pause = 60.0

    @model_validator(mode="before")
    @classmethod
    def _number_alone(cls, given: Any) -> Any:
        return given if isinstance(given, dict) else {"times": given}

    def retry(self, on: OnError | type[BaseException] | None = None) -> Retry:
        """The `Retry`; `on`: which errors to retry."""
        return Retry(self.times, self.base, self.most, on)
