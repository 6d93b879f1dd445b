"""One attempt of a call in a simulation: what it takes and costs, drawn and added up.

Both simulations use it, that of the kernel and that of the ledger alone: so they let the same
calls pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from fanwise.core.outcome import Usage
from fanwise.errors import AttemptTimeout, ModelError, ModelOverloaded, ModelRateLimited
from fanwise.matrix.estimate.demand import Ask
from fanwise.matrix.simulation.profiles import ModelProfile
from fanwise.matrix.simulation.world import SimulatedTotals
from fanwise.models.port import Tokens
from fanwise.models.unconnected import Unconnected

SIMULATED = "simulated"


Problem = Literal["refused", "failed", "too slow"]


class Drawn(NamedTuple):
    """An attempt that is about to be made."""

    seconds: float
    tokens: Tokens
    usage: Usage | None
    """What it spends; None: nobody knows."""
    problem: Problem | None


class Attempts:
    """All attempts of one simulation."""

    def __init__(self, profiles: Mapping[str, ModelProfile], seed: int, drawn: Cache) -> None:
        self._profiles = profiles
        self._seed = seed
        self._drawn = drawn
        self.totals: dict[str, SimulatedTotals] = {name: SimulatedTotals() for name in profiles}

    def make(self, ask: Ask, key: str, number: int, timeout: float | None) -> Drawn:
        """The attempt with this number of the call with this key."""
        place = f"{self._seed} {key} {number}"
        found = self._drawn.get(place)
        if found is None:
            found = self._drawn[place] = self._draw(ask, place, timeout)
        self._count(ask.model.name, found)
        return found

    def _draw(self, ask: Ask, place: str, timeout: float | None) -> Drawn:
        took, output, failure = self._profiles[ask.model.name].draw(place)
        if timeout is not None and took > timeout:
            return Drawn(timeout, Tokens(), None, "too slow")
        if failure is not None:
            return Drawn(took, Tokens(0, 0), Usage(1, 0, 0.0), failure)
        tokens = Tokens(ask.tokens.input, ask.tokens.output if output is None else output)
        usd = ask.usd if output is None else dollars(ask.model, tokens)
        return Drawn(took, tokens, Usage(1, tokens.total or 0, usd), None)

    def _count(self, model: str, drawn: Drawn) -> None:
        total = self.totals[model]
        total.attempts += 1
        total.seconds += drawn.seconds
        total.input_tokens += drawn.tokens.input or 0
        total.output_tokens += drawn.tokens.output or 0
        usd = None if drawn.usage is None else drawn.usage.usd
        if usd is None:
            total.unpriced += 1
        else:
            total.usd += usd


Cache = dict[str, Drawn]


@lru_cache(maxsize=100_000)
def dollars(model: Unconnected, tokens: Tokens) -> float | None:
    """Looked up once for the same tokens: the price list is slow."""
    return model.dollars(tokens)


def error_of(drawn: Drawn, model: Unconnected) -> Exception | None:
    """What the attempt raises; a new one each time, for an error holds on to where it was."""
    if drawn.problem is None:
        return None
    if drawn.problem == "too slow":
        return AttemptTimeout(drawn.seconds)
    kind: type[ModelError] = ModelRateLimited if drawn.problem == "refused" else ModelOverloaded
    return kind(
        f"{model.name}: {SIMULATED}", provider=model.provider, model=model.name,
        input_tokens=0, output_tokens=0, usd=0.0,
    )  # fmt: skip
