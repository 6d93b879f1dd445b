"""The strategies by their names in files and on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from fanwise.errors import UsageError
from fanwise.sampling.strategies.budget_forcing import BudgetForcing
from fanwise.sampling.strategies.choose import BestOf, Majority, MinimumBayesRisk
from fanwise.sampling.strategies.repair import MultiTurn, Repair
from fanwise.sampling.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Callable[..., Strategy]] = {
    "rejection": Strategy,
    "repair": Repair,
    "multi_turn": MultiTurn,
    "best_of": BestOf,
    "budget_forcing": BudgetForcing,
    "majority": Majority,
    "minimum_bayes_risk": MinimumBayesRisk,
}
"""`Escalate` is not among them: it needs a model to escalate to."""


def as_strategy(given: Strategy | str) -> Strategy:
    if isinstance(given, Strategy):
        return given
    if isinstance(given, str) and given in STRATEGIES:
        return STRATEGIES[given]()
    if not isinstance(given, str):
        raise UsageError(f"the strategy is {given!r}", "Give a Strategy, or the name of one")
    if given == "escalate":
        raise UsageError("escalate needs a model", 'Give Escalate("openai:gpt-5")')
    close = get_close_matches(given.replace("-", "_").lower(), STRATEGIES, n=1)
    step = f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(STRATEGIES)}"
    raise UsageError(f"there is no strategy {given!r}", step)
