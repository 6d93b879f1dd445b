"""Sampling: generate, validate, repair; the first valid sample wins and nothing stays behind."""

from typing import TYPE_CHECKING

from fanwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from fanwise.sampling.api import sample, sample_sync
    from fanwise.sampling.checks.require import command, judge, matches, require, reward, schema
    from fanwise.sampling.checks.requirement import Draft, Requirement, Setting, Tier, Verdict
    from fanwise.sampling.run.hooks import Hooks, LoopStart, Repairing
    from fanwise.sampling.samples import Sample
    from fanwise.sampling.state.result import SampleResult, Totals
    from fanwise.sampling.strategies.agreement import number, rouge_l
    from fanwise.sampling.strategies.budget_forcing import BudgetForcing
    from fanwise.sampling.strategies.choose import BestOf, Majority, MinimumBayesRisk
    from fanwise.sampling.strategies.escalate import Escalate
    from fanwise.sampling.strategies.repair import MultiTurn, Repair
    from fanwise.sampling.strategies.strategy import Strategy, Turn, add_to_prompt

__all__ = [
    "BestOf",
    "BudgetForcing",
    "Draft",
    "Escalate",
    "Hooks",
    "LoopStart",
    "Majority",
    "MinimumBayesRisk",
    "MultiTurn",
    "Repair",
    "Repairing",
    "Requirement",
    "Sample",
    "SampleResult",
    "Setting",
    "Strategy",
    "Tier",
    "Totals",
    "Turn",
    "Verdict",
    "add_to_prompt",
    "command",
    "judge",
    "matches",
    "number",
    "require",
    "reward",
    "rouge_l",
    "sample",
    "sample_sync",
    "schema",
]

_HOMES = {
    "api": ("sample", "sample_sync"),
    "checks.require": ("command", "judge", "matches", "require", "reward", "schema"),
    "checks.requirement": ("Draft", "Requirement", "Setting", "Tier", "Verdict"),
    "run.hooks": ("Hooks", "LoopStart", "Repairing"),
    "samples": ("Sample",),
    "state.result": ("SampleResult", "Totals"),
    "strategies.agreement": ("number", "rouge_l"),
    "strategies.budget_forcing": ("BudgetForcing",),
    "strategies.choose": ("BestOf", "Majority", "MinimumBayesRisk"),
    "strategies.escalate": ("Escalate",),
    "strategies.repair": ("MultiTurn", "Repair"),
    "strategies.strategy": ("Strategy", "Turn", "add_to_prompt"),
}

if not TYPE_CHECKING:  # else every misspelt name would be an `object` to mypy
    __getattr__ = lazy_names(__name__, _HOMES)
