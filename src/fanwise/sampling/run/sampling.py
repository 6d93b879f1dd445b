"""Performs what the loop decides: drafts and checks as items of one fan-out.

A sample is two items, its draft (the model's call) and its check, because they are two things to
lose: a draft that is complete is paid for, and stays in the result and in the journal whatever
becomes of its check. A chain has one of them at a time, so `concurrency_budget` is the cap.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from fanwise.core.budget import Budget
from fanwise.core.caps import Caps
from fanwise.core.outcome import Attempt, Outcome
from fanwise.core.retry import Retry
from fanwise.errors import BadOutput, DeadlinePassed, ModelError, UsageError
from fanwise.kernel.feed import Feed
from fanwise.kernel.stream import Stream, fan_out_stream
from fanwise.models.ask import ask
from fanwise.models.port import Message, Reply, Tokens
from fanwise.sampling.checks.requirement import (
    Draft,
    Requirement,
    Setting,
    Tier,
    Verdict,
    in_checking_order,
)
from fanwise.sampling.run.hooks import Hooks, LoopStart, Repairing, tell
from fanwise.sampling.samples import Sample
from fanwise.sampling.state.loop import Loop, Place, Winner
from fanwise.sampling.state.result import SampleResult, total
from fanwise.sampling.strategies.strategy import Strategy, Turn
from fanwise.sampling.views.progress_bar import Bar


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """All that a loop is made of, checked."""

    turn: Turn
    """The first question of every chain."""
    requirements: tuple[Requirement, ...]
    strategy: Strategy
    loop_budget: int
    concurrency_budget: int
    winner: Winner
    seed: int
    retry: Retry
    timeout: float | None
    deadline: float | None
    check_all: bool
    validation_context: tuple[Message, ...]
    hooks: Hooks
    caps: Caps | None
    budget: Budget | None
    progress: bool
    anew: bool = False
    """What was recorded of the samples does not count: none was valid, and all are made anew."""


class Step(msgspec.Struct, frozen=True):
    """One item: the draft or the check of a sample."""

    kind: Literal["draft", "check"]
    place: Place

    @property
    def key(self) -> str:
        """Its identity across resumes."""
        return f"{self.place.chain}.{self.place.iteration} {self.kind}"


class HookFailed(Exception):
    """A hook raised inside an item: its error is the caller's, not the chain's."""


async def run_loop(setup: Setup) -> SampleResult:
    """From the first question to the sample that is chosen."""
    start = LoopStart(setup.turn.request, setup.loop_budget, setup.concurrency_budget)
    await tell(setup.hooks.start, start)
    budgets = {"loop_budget": start.loop_budget, "concurrency_budget": start.concurrency_budget}
    result = await Driver(replace(setup, **budgets)).run()
    await tell(setup.hooks.end, result)
    return result


class Driver:
    """One loop at work."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._loop = Loop(
            setup.loop_budget,
            setup.concurrency_budget,
            winner=setup.winner,
            gathers=setup.strategy.gathers,
        )
        self._samples: dict[int, Sample] = {}
        self._histories: list[list[Sample]] = [[] for _ in range(setup.concurrency_budget)]
        self._errors: list[tuple[int, BaseException]] = []
        self._attempts: list[Attempt] = []
        self._judged: dict[str, Sample] = {}
        """Samples by their text: the verdicts on one are those on its twins."""
        self._partial: dict[int, list[Verdict]] = {}
        """Verdicts on samples whose check has not ended."""
        self._rescued: dict[int, Turn] = {}
        """What a chain asks next that would have died of an error."""
        self._steps: list[Step] = []
        """What was fed, by its index."""
        self._feed: Feed[Step] = Feed()

    async def run(self) -> SampleResult:
        """Until a sample has won, or there is none left to make."""
        clock = asyncio.get_running_loop().time
        began = clock()
        stream: Stream[Any] = fan_out_stream(
            self._perform,
            self._feed,
            cap=self._setup.concurrency_budget,
            key=lambda step: step.key,
            caps=self._setup.caps,
            budget=self._setup.budget,
            name="samples",
            reuse=(lambda _, __: False) if self._setup.anew else None,
        )
        with Bar(self._setup) as bar:
            try:
                async with asyncio.timeout(self._setup.deadline) as limit, stream:
                    await self._read(stream, bar)
            except TimeoutError:
                if not limit.expired() or self._setup.deadline is None:
                    raise
                if self._loop.winner is None:  # else it only took long to cancel the rest
                    passed = DeadlinePassed(self._setup.deadline)
                    self._errors.append((len(self._histories), passed))
        for outcome in stream.unread:
            await self._late(outcome)
        return self._result(clock() - began)

    async def _read(self, stream: Stream[Any], bar: Bar) -> None:
        self._draft(self._loop.begin())
        async for outcome in stream:
            await self._take(outcome)
            bar.show(self._samples.values())
            if self._loop.winner is not None:
                return  # leaving the stream cancels the rest, and waits for it
            if self._loop.over:
                self._feed.close()

    def _draft(self, places: Sequence[Place]) -> None:
        self._add(Step("draft", place) for place in places)

    def _add(self, steps: Any) -> None:
        fresh = list(steps)
        self._steps += fresh
        self._feed.add(*fresh)

    # -- what came back -------------------------------------------------------------------------

    async def _take(self, outcome: Outcome[Any]) -> None:
        step = self._steps[outcome.index]
        self._attempts += outcome.attempts
        if outcome.error is not None:
            self._draft(self._ended(step, outcome.error))
        elif step.kind == "draft":
            self._keep(step.place, outcome)
            self._add([Step("check", step.place)])
        else:
            sample = self._checked(step.place, outcome)
            await tell(self._setup.hooks.iteration, sample)
            told = self._loop.valid if sample.valid else self._loop.invalid
            self._draft(told(step.place))

    async def _late(self, outcome: Outcome[Any]) -> None:
        """It ended beside the winner: kept, for it was paid for."""
        step = self._steps[outcome.index]
        self._attempts += outcome.attempts
        if outcome.error is not None:  # also what it raised while it was cancelled
            self._ended(step, outcome.error)
        elif outcome.status == "done" and step.kind == "draft":
            self._keep(step.place, outcome)
        elif outcome.status == "done":
            await tell(self._setup.hooks.iteration, self._checked(step.place, outcome))

    def _ended(self, step: Step, error: BaseException) -> list[Place]:
        """An error ended a chain, unless the strategy knows how to go on."""
        place = step.place
        if isinstance(error, HookFailed) and error.__cause__ is not None:
            raise error.__cause__
        if isinstance(error, UsageError) and self._loop.winner is None:
            raise error  # the caller's mistake: no sample can go well
        error.add_note(f"chain {place.chain}, iteration {place.iteration}")
        self._errors.append((place.chain, error))
        if step.kind == "check":
            self._keep_partial(place)
        elif isinstance(error, ModelError):
            following = self._setup.strategy.rescue(self._setup.turn, error)
            if following is not None:
                self._rescued[place.chain] = following
                return self._loop.invalid(place)
        return self._loop.died(place)

    def _keep_partial(self, place: Place) -> None:
        """What was checked before a check failed counts when the best failure is chosen."""
        sample = self._samples[place.id]
        verdicts = tuple(self._partial.pop(place.id, ()))
        self._samples[place.id] = replace(sample, verdicts=verdicts)

    def _keep(self, place: Place, outcome: Outcome[Any]) -> None:
        calls = [attempt for attempt in outcome.attempts if attempt.call is not None]
        self._samples[place.id] = Sample(
            id=place.id,
            chain=place.chain,
            iteration=place.iteration,
            queued_s=None if outcome.recorded else sum(call.queued_s for call in calls),
            backoff_s=None if outcome.recorded else sum(call.backoff_s for call in calls),
            **_decoded(outcome.unwrap()),
        )

    def _checked(self, place: Place, outcome: Outcome[Any]) -> Sample:
        value: dict[str, Any] = outcome.unwrap()
        sample = self._samples[place.id] = replace(
            self._samples[place.id],
            verdicts=msgspec.convert(value["verdicts"], tuple[Verdict, ...]),
            same_as=value["same_as"],
            checked=True,
            checked_s=None if outcome.recorded else outcome.ran_s,
        )
        self._histories[place.chain].append(sample)
        self._judged.setdefault(sample.text, sample)
        self._partial.pop(place.id, None)
        return sample

    # -- the items ------------------------------------------------------------------------------

    async def _perform(self, step: Step) -> dict[str, Any]:
        if step.kind == "draft":
            return await self._make_draft(step.place)
        return await self._check(self._samples[step.place.id])

    async def _make_draft(self, place: Place) -> dict[str, Any]:
        turn = await self._turn(place)
        seed = seed_of(self._setup.seed, place)
        request = replace(turn.request, seed=seed)
        try:
            reply = await ask(
                turn.model, request, retry=self._setup.retry, timeout=self._setup.timeout
            )
        except BadOutput as bad:
            # It came and was paid for; that it does not match is for its check to say.
            reply = _reply_of(bad)
        return {
            "model": turn.model.name,
            "seed": seed,
            "messages": msgspec.to_builtins(request.messages),
            "reply": reply.to_json(),
        }

    async def _turn(self, place: Place) -> Turn:
        if place.chain in self._rescued:
            return self._rescued.pop(place.chain)
        history = self._histories[place.chain]
        if not history:
            return self._setup.turn
        found = self._setup.strategy.repair(self._setup.turn, tuple(history))
        told = await found if inspect.isawaitable(found) else found
        turn = told if isinstance(told, Turn) else replace(self._setup.turn, request=told)
        try:
            await tell(self._setup.hooks.repair, Repairing(history[-1], turn))
        except Exception as error:
            raise HookFailed from error
        return turn

    async def _check(self, sample: Sample) -> dict[str, Any]:
        twin = self._judged.get(sample.text)
        if twin is not None:
            return {"verdicts": msgspec.to_builtins(twin.verdicts), "same_as": twin.id}
        verdicts = await self._verdicts(sample)
        return {"verdicts": msgspec.to_builtins(verdicts), "same_as": None}

    async def _verdicts(self, sample: Sample) -> list[Verdict]:
        draft = Draft(sample.reply, sample.messages, self._setup.validation_context)
        setting = Setting(
            self._setup.turn.model,
            self._setup.turn.request.options,
            replace(self._setup.turn.request, seed=sample.seed),
            self._setup.retry,
            self._setup.timeout,
        )
        verdicts = self._partial[sample.id] = []
        for requirement in in_checking_order(self._setup.requirements):
            failed = not all(verdict.passed for verdict in verdicts)
            if failed and requirement.tier is Tier.MODEL and not self._setup.check_all:
                break  # a model's judgement costs money, and cannot save it any more
            verdicts.append(await requirement.check(draft, setting))
        return verdicts

    # -- the end --------------------------------------------------------------------------------

    def _result(self, elapsed_s: float) -> SampleResult:
        samples = tuple(self._samples[id_] for id_ in sorted(self._samples))
        errors = tuple(error for _, error in sorted(self._errors, key=lambda each: each[0]))
        if not samples:
            what = f"all {self._setup.concurrency_budget} chains failed, and there is no sample"
            raise BaseExceptionGroup(what, errors)
        chosen = self._chosen(samples)
        work_s = sum(each.reply.ran_s + (each.checked_s or 0.0) for each in samples)
        return SampleResult(
            success=chosen.valid,
            sample=chosen,
            samples=samples,
            errors=errors,
            seed=self._setup.seed,
            loop_budget=self._setup.loop_budget,
            concurrency_budget=self._setup.concurrency_budget,
            totals=total(self._attempts, len(samples), elapsed_s, work_s),
        )

    def _chosen(self, samples: tuple[Sample, ...]) -> Sample:
        winner = self._loop.winner
        if winner is not None:
            return self._samples[winner.id]
        choice = [each for each in samples if each.valid] or list(samples)
        chosen = self._setup.strategy.select(choice)
        if not any(chosen is each for each in choice):
            raise UsageError(
                f"{type(self._setup.strategy).__name__}.select gave {chosen!r}",
                "Return one of the samples that it was given",
            )
        return chosen


def seed_of(seed: int, place: Place) -> int:
    """A seed for each sample, the same on every run: 31 bits, for some providers take no more."""
    digest = hashlib.sha256(f"{seed} {place.chain} {place.iteration}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def _decoded(value: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": value["model"],
        "seed": value["seed"],
        "messages": msgspec.convert(value["messages"], tuple[Message, ...]),
        "reply": Reply.from_json(value["reply"]),
    }


def _reply_of(bad: BadOutput) -> Reply:
    return Reply(
        bad.text,
        bad.model,
        usage=Tokens(bad.input_tokens, bad.output_tokens, bad.cached_tokens),
        usd=bad.usd,
        first_token_s=bad.first_token_s,
        ran_s=bad.ran_s,
        finish_reason=bad.finish_reason,
    )
