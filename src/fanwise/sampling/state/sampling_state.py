"""All that is known while samples are made: the loop, the samples, and what chains died of. Pure.

A sample is two items, its draft (the model's call) and its check, because they are two things to
lose: a draft that is complete is paid for, and stays in the result and in the journal whatever
becomes of its check. A chain has one of them in flight at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from fanwise.core.outcome import Attempt, Outcome
from fanwise.errors import ModelError, UsageError
from fanwise.models.port import Message, Reply
from fanwise.sampling.checks.requirement import Verdict
from fanwise.sampling.samples import Sample
from fanwise.sampling.state.loop import Loop, SampleSlot, Winner
from fanwise.sampling.strategies.strategy import Strategy, Turn


class SampleItem(msgspec.Struct, frozen=True):
    """One item: the draft or the check of a sample."""

    kind: Literal["draft", "check"]
    slot: SampleSlot

    @property
    def key(self) -> str:
        """Its identity across resumes."""
        return f"{self.slot.chain}.{self.slot.iteration} {self.kind}"


class HookFailed(Exception):
    """A hook raised inside an item. Its error is the caller's, and ends all chains."""


class SamplingState:
    """`begin`, then `take` the outcome of each item that it gave, until it is `over`."""

    def __init__(
        self,
        first: Turn,
        strategy: Strategy,
        *,
        loop_budget: int,
        concurrency_budget: int,
        winner: Winner,
    ) -> None:
        self.first = first
        """What every chain asks first."""
        self.samples: dict[int, Sample] = {}
        """By id."""
        self.attempts: list[Attempt] = []
        self.checking: dict[int, list[Verdict]] = {}
        """The verdicts so far, by id, of samples that are being checked."""
        self._strategy = strategy
        self._loop = Loop(loop_budget, concurrency_budget, winner=winner, gathers=strategy.gathers)
        self._histories: list[list[Sample]] = [[] for _ in range(concurrency_budget)]
        self._rescued: dict[tuple[int, int], Turn] = {}
        """What a chain that would have died of an error asks, by the order of its next slot."""
        self._by_text: dict[str, Sample] = {}
        """Samples that were checked: the verdicts on a text hold whenever a model says it."""
        self._errors: list[tuple[int, BaseException]] = []

    @property
    def over(self) -> bool:
        """Whether a sample has won, or a vote is decided, or there is none left to make."""
        return self._loop.over or self._is_decided()

    @property
    def errors(self) -> tuple[BaseException, ...]:
        return tuple(error for _, error in sorted(self._errors, key=lambda each: each[0]))

    def begin(self) -> list[SampleItem]:
        return _drafts(self._loop.begin())

    def take(self, item: SampleItem, outcome: Outcome[Any]) -> list[SampleItem]:
        """After a draft its check, after a check the next draft of that chain."""
        self.attempts += outcome.attempts
        if outcome.error is not None:
            return _drafts(self._failed(item, outcome.error))
        if item.kind == "draft":
            self._drafted(item.slot, outcome)
            return [SampleItem("check", item.slot)]
        sample = self._checked(item.slot, outcome)
        return _drafts(
            self._loop.valid(item.slot) if sample.valid else self._loop.invalid(item.slot)
        )

    def take_late(self, item: SampleItem, outcome: Outcome[Any]) -> None:
        """It ended after the winner, or was cancelled. What was paid for is kept."""
        self.attempts += outcome.attempts
        if outcome.error is not None:  # also what it raised while it was cancelled
            self._failed(item, outcome.error)
        elif outcome.ok and item.kind == "draft":
            self._drafted(item.slot, outcome)
        elif outcome.ok:
            self._checked(item.slot, outcome)

    def fail(self, error: BaseException) -> None:
        """Record an error that ended all chains, unless one of them has won."""
        if self._loop.winner is None:
            self._errors.append((len(self._histories), error))

    def next_turn(self, slot: SampleSlot) -> Turn | None:
        """What its chain asks, if that is known; None: the strategy has to repair its history."""
        rescued = self._rescued.get(slot.order)
        return rescued or (None if self._histories[slot.chain] else self.first)

    def history(self, slot: SampleSlot) -> Sequence[Sample]:
        """The samples that its chain has made, none of them valid."""
        return tuple(self._histories[slot.chain])

    def twin(self, sample: Sample) -> Sample | None:
        return self._by_text.get(sample.text)

    def chosen(self) -> Sample:
        """The winner, or what the strategy selects: of the valid samples, or of all."""
        winner = self._loop.winner
        if winner is not None:
            return self.samples[winner.id]
        made = [self.samples[id_] for id_ in sorted(self.samples)]
        choice = [sample for sample in made if sample.valid] or made
        selected = self._strategy.select(choice)
        if not any(selected is each for each in choice):
            raise UsageError(
                f"{type(self._strategy).__name__}.select returned {selected!r}",
                "Return one of the samples that it was given",
            )
        return selected

    # -- inside ---------------------------------------------------------------------------------

    def _is_decided(self) -> bool:
        """A vote whose result must not depend on speed is always completed."""
        if not self._strategy.gathers or self._loop.is_ordered:
            return False
        valid = [self.samples[id_] for id_ in sorted(self.samples) if self.samples[id_].valid]
        return self._strategy.is_decided(valid, self._loop.left)

    def _failed(self, item: SampleItem, error: BaseException) -> list[SampleSlot]:
        """An error ends a chain, unless the strategy knows how to go on."""
        slot = item.slot
        if isinstance(error, HookFailed) and error.__cause__ is not None:
            raise error.__cause__
        if isinstance(error, UsageError) and self._loop.winner is None:
            raise error  # the caller's mistake: no sample can succeed
        error.add_note(f"chain {slot.chain}, iteration {slot.iteration}")
        self._errors.append((slot.chain, error))
        if item.kind == "check":
            # What was checked before it failed counts when the best failure is chosen.
            verdicts = tuple(self.checking.pop(slot.id, ()))
            self.samples[slot.id] = replace(self.samples[slot.id], verdicts=verdicts)
        elif isinstance(error, ModelError | TimeoutError):
            before = self._rescued.get(slot.order)
            turn = self._strategy.rescue(self.first, error, self.history(slot), before)
            if turn is not None:
                self._rescued[slot.iteration + 1, slot.chain] = turn
                return self._loop.invalid(slot)
        return self._loop.died(slot)

    def _drafted(self, slot: SampleSlot, outcome: Outcome[Any]) -> None:
        value: dict[str, Any] = outcome.unwrap()
        calls = [attempt for attempt in outcome.attempts if attempt.call is not None]
        self.samples[slot.id] = Sample(
            id=slot.id,
            chain=slot.chain,
            iteration=slot.iteration,
            model=value["model"],
            seed=value["seed"],
            messages=msgspec.convert(value["messages"], tuple[Message, ...]),
            reply=Reply.from_json(value["reply"]),
            queued_s=None if outcome.recorded else sum(call.queued_s for call in calls),
            backoff_s=None if outcome.recorded else sum(call.backoff_s for call in calls),
        )

    def _checked(self, slot: SampleSlot, outcome: Outcome[Any]) -> Sample:
        value: dict[str, Any] = outcome.unwrap()
        sample = self.samples[slot.id] = replace(
            self.samples[slot.id],
            verdicts=msgspec.convert(value["verdicts"], tuple[Verdict, ...]),
            same_as=value["same_as"],
            checked=True,
            checked_s=None if outcome.recorded else outcome.ran_s,
        )
        self._histories[slot.chain].append(sample)
        self._by_text.setdefault(sample.text, sample)
        self.checking.pop(slot.id, None)
        return sample


def _drafts(slots: Sequence[SampleSlot]) -> list[SampleItem]:
    return [SampleItem("draft", slot) for slot in slots]
