"""`expect:` in a file: what its results have to show, so that a script can act on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from fanwise.specs import SpecModel
from fanwise.specs.model import seconds

LATENCY, COST, FAILED, NO_WORSE = "latency_p95", "cost", "failed", "no_worse_than"
RESERVED = (NO_WORSE, COST, LATENCY, FAILED)
"""Every other name is that of a scorer."""


class ExpectationSpec(SpecModel):
    """One expectation: bounds, or a run that this one shall not be worse than."""

    at_least: float | None = None
    at_most: Annotated[float, BeforeValidator(seconds)] | None = None
    """A number; of a latency also `3s`."""
    run: str | None = None
    """`NAME@baseline`, or whatever `fanwise compare` takes."""
    by: float = Field(default=0.0, ge=0)
    """How much worse is still good enough."""
    confidence: float = Field(default=0.95, gt=0, lt=1)
    undecided: Literal["pass", "fail"] = "pass"
    """What the exit code makes of a verdict that is neither proven nor refuted."""
    model: str = "*"
    strategy: str = "*"
    """Which models and strategies it is about; each of them has to meet it."""


def check_expectations(expect: Mapping[str, ExpectationSpec], scorers: Sequence[str]) -> None:
    """`ValueError` for what cannot be judged."""
    for name, each in expect.items():
        wanted = ("run",) if name == NO_WORSE else ("at_most",) if name in RESERVED else (
            "at_least", "at_most")  # fmt: skip
        if name not in RESERVED and name not in scorers:
            known = ", ".join([*scorers, *RESERVED])
            raise ValueError(f"expect: there is no score {name!r}; it can be of: {known}")
        bounds = [
            field for field in ("at_least", "at_most", "run") if getattr(each, field) is not None
        ]
        if not bounds or not set(bounds) <= set(wanted):
            raise ValueError(f"expect: {name} takes {' or '.join(f'`{w}`' for w in wanted)}")
