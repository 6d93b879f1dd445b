"""Sampling: generate, validate, repair; the first valid sample wins and nothing stays behind."""

from fanwise.sampling.choose import BestOf, Majority, MinimumBayesRisk
from fanwise.sampling.escalate import Escalate
from fanwise.sampling.hooks import Hooks, LoopStart, Repairing
from fanwise.sampling.repair import Advice, MultiTurn, Repair
from fanwise.sampling.require import command, judge, matches, require, reward, schema
from fanwise.sampling.requirement import Draft, Requirement, Setting, Tier, Verdict
from fanwise.sampling.result import Sample, SampleResult, Totals
from fanwise.sampling.sampler import sample, sample_sync
from fanwise.sampling.strategy import Strategy, Turn, add_to_prompt

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
