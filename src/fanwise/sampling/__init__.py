"""Sampling: generate, validate, repair; the first valid sample wins and nothing stays behind."""

from fanwise.sampling.api import sample, sample_sync
from fanwise.sampling.checks.require import command, judge, matches, require, reward, schema
from fanwise.sampling.checks.requirement import Draft, Requirement, Setting, Tier, Verdict
from fanwise.sampling.run.hooks import Hooks, LoopStart, Repairing
from fanwise.sampling.samples import Sample
from fanwise.sampling.state.result import SampleResult, Totals
from fanwise.sampling.strategies.choose import BestOf, Majority, MinimumBayesRisk
from fanwise.sampling.strategies.escalate import Escalate
from fanwise.sampling.strategies.repair import Advice, MultiTurn, Repair
from fanwise.sampling.strategies.strategy import Strategy, Turn, add_to_prompt

__all__ = [
    "Advice",
    "BestOf",
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
    "require",
    "reward",
    "sample",
    "sample_sync",
    "schema",
]
