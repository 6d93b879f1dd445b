"""Strategies that gather samples and then choose: by reward, by vote, by agreement.

Each chain goes on until it has a valid sample, so up to `concurrency_budget` samples are compared.
How a chain repairs an invalid sample is up to another strategy: `Majority(repair=MultiTurn())`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from msgspec.structs import replace

from fanwise.errors import UsageError
from fanwise.sampling.checks.code_checks import (
    CommandCheck,
    PatternCheck,
    RewardCheck,
    SchemaCheck,
    Score,
)
from fanwise.sampling.checks.require import JudgeCheck
from fanwise.sampling.checks.requirement import Requirement
from fanwise.sampling.samples import Sample, best
from fanwise.sampling.strategies.agreement import said, words_in_common
from fanwise.sampling.strategies.strategy import Strategy, Wrapping

Key = Callable[[Sample], Hashable]
Similarity = Callable[[str, str], float]
_SCORELESS = (SchemaCheck, PatternCheck, CommandCheck)


class BestOf(Wrapping):
    """The sample with the highest reward.

    `reward`: a function of the draft, sync or async; without it the scores of the requirements
    count, and judges are asked for one. `at_least`: the first sample that scores this much wins at
    once.
    """

    def __init__(
        self,
        reward: Score | None = None,
        *,
        at_least: float | None = None,
        repair: Strategy | None = None,
    ) -> None:
        super().__init__(repair)
        if reward is None and at_least is not None:
            raise UsageError(f"at_least is {at_least:g} without a reward", "Give the reward too")
        self.gathers = at_least is None
        self._reward = None if reward is None else RewardCheck(reward, at_least, check_only=True)
        if self._reward is not None:
            self.requirements = (*self.requirements, self._reward)

    def prepare(self, requirements: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
        """Without a reward, judges give a score instead of a yes or no."""
        if self._reward is not None:
            return requirements
        if all(isinstance(each, _SCORELESS) for each in requirements):
            raise UsageError("best_of cannot compare the samples", "Give a reward or a judge")
        return tuple(
            replace(each, at_least=0.0)
            if isinstance(each, JudgeCheck) and each.at_least is None
            else each
            for each in requirements
        )

    def select(self, samples: Sequence[Sample]) -> Sample:
        if not samples[0].valid:
            return best(samples)
        if all(verdict.score is None for sample in samples for verdict in sample.verdicts):
            step = "Give a reward, or return Verdict(True, score=…)"
            raise UsageError("best_of got no score from any requirement", step)
        return min(samples, key=lambda sample: (-self._rewarded(sample), sample.id))

    def _rewarded(self, sample: Sample) -> float:
        if self._reward is None:
            return sample.score
        name = self._reward.name
        return next(v.score or 0.0 for v in sample.verdicts if v.requirement == name)


class Majority(Wrapping):
    """The value (without a schema: the text) that most valid samples agree on.

    `key`: what is counted for a sample; default: its value, or its text without regard to case and
    surrounding space. `number`: answers that come to the same number agree.
    """

    gathers = True

    def __init__(self, key: Key | None = None, *, repair: Strategy | None = None) -> None:
        super().__init__(repair)
        self._key = key or said

    def select(self, samples: Sequence[Sample]) -> Sample:
        """The first sample of the largest group; among equal groups, of the first one."""
        if not samples[0].valid:
            return best(samples)
        keys = [self._key(sample) for sample in samples]
        votes = Counter(keys)
        (winner, _) = votes.most_common(1)[0]  # among equal counts, the one seen first
        return samples[keys.index(winner)]

    def is_decided(self, valid: Sequence[Sample], left: int) -> bool:
        """The first is ahead by more votes than are left."""
        counts = [n for _, n in Counter(map(self._key, valid)).most_common(2)]
        return bool(counts) and counts[0] - sum(counts[1:]) > left


class MinimumBayesRisk(Wrapping):
    """The valid sample that is most like all the others.

    `similarity`: of two texts, higher for more alike; default: the F1 score of their words.
    `rouge_l`: that of their longest common sequence of words.
    """

    gathers = True

    def __init__(
        self, similarity: Similarity | None = None, *, repair: Strategy | None = None
    ) -> None:
        super().__init__(repair)
        self._similarity = similarity or words_in_common

    def select(self, samples: Sequence[Sample]) -> Sample:
        if not samples[0].valid:
            return best(samples)
        return min(samples, key=lambda one: (-self._agreement(one, samples), one.id))

    def _agreement(self, one: Sample, samples: Sequence[Sample]) -> float:
        others = (other for other in samples if other is not one)
        return sum(self._similarity(one.text, other.text) for other in others)
