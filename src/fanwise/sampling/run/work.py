"""What the items do: ask a model for a draft, and check it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.errors import BadOutput
from fanwise.models.ask import ask
from fanwise.models.port import Reply, Tokens
from fanwise.sampling.checks.code_checks import SchemaCheck
from fanwise.sampling.checks.requirement import (
    Draft,
    Requirement,
    Setting,
    Tier,
    Verdict,
    in_checking_order,
)
from fanwise.sampling.run.hooks import Repairing, call_hook
from fanwise.sampling.run.setup import SampleSetup
from fanwise.sampling.samples import Sample
from fanwise.sampling.state.loop import SampleSlot
from fanwise.sampling.state.sampling_state import HookFailed, SampleItem, SamplingState
from fanwise.sampling.strategies.strategy import Turn, next_turn


class SampleWork:
    """Performs the items of one sampling. What they return is plain data, for the journal."""

    def __init__(self, setup: SampleSetup, state: SamplingState) -> None:
        self._setup = setup
        self._state = state

    async def __call__(self, item: SampleItem) -> dict[str, Any]:
        if item.kind == "draft":
            return await self._draft(item.slot)
        return await self._check(self._state.samples[item.slot.id])

    async def _draft(self, slot: SampleSlot) -> dict[str, Any]:
        turn = self._state.next_turn(slot) or await self._repair(slot)
        turn = await self._hook(self._setup.hooks.asking, turn) or turn
        request = replace(turn.request, seed=seed_of(self._setup.seed, slot))
        within = partial(ask, retry=self._setup.retry, timeout=self._setup.timeout)
        try:
            reply = await self._setup.strategy.reply(replace(turn, request=request), within)
        except BadOutput as bad:
            reply = _reply_of(bad)  # it was paid for; the check says that it does not match
        await self._hook(self._setup.hooks.replied, reply)
        return {
            "model": turn.model.name,
            "seed": request.seed,
            "messages": msgspec.to_builtins(request.messages),
            "reply": reply.to_json(),
        }

    async def _repair(self, slot: SampleSlot) -> Turn:
        history = self._state.history(slot)
        turn = await next_turn(self._setup.strategy, self._state.first, history)
        await self._hook(self._setup.hooks.repair, Repairing(history[-1], turn))
        return turn

    async def _hook(self, hook: Callable[[Any], Any] | None, argument: Any) -> Any:
        try:
            return await call_hook(hook, argument)
        except Exception as error:
            raise HookFailed from error

    async def _check(self, sample: Sample) -> dict[str, Any]:
        twin = self._state.twin(sample)
        known = {} if twin is None else {each.requirement: each for each in twin.verdicts}
        if twin is not None and all(map(_is_pure, self._setup.requirements)):
            verdicts = list(twin.verdicts)
        else:
            verdicts = await self._verdicts(sample, known)
        same_as = None if twin is None else twin.id
        return {"verdicts": msgspec.to_builtins(verdicts), "same_as": same_as}

    async def _verdicts(self, sample: Sample, known: Mapping[str, Verdict]) -> list[Verdict]:
        """`known`: those on an equal text, for requirements that need not be asked again."""
        setup, first = self._setup, self._state.first
        draft = Draft(sample.reply, sample.messages, setup.validation_context)
        request = replace(first.request, seed=sample.seed)
        setting = Setting(first.model, request.options, request, setup.retry, setup.timeout)
        verdicts = self._state.checking[sample.id] = []
        has_value = True
        for requirement in in_checking_order(setup.requirements):
            failed = not all(verdict.passed for verdict in verdicts)
            if failed and requirement.tier is Tier.MODEL and not setup.check_all:
                break  # a judge costs money, and could not save the sample any more
            if getattr(requirement, "needs_value", False) and not has_value:
                continue  # the schema says what is wrong; this would only stumble over it
            schema = isinstance(requirement, SchemaCheck)
            if requirement.name in known and _is_pure(requirement) and not schema:
                verdict = known[requirement.name]
            else:
                verdict = await requirement.check(draft, setting)
            has_value = has_value and (verdict.passed or not schema)
            verdicts.append(verdict)
        return verdicts


def _is_pure(requirement: Requirement) -> bool:
    return bool(getattr(requirement, "pure", True))


def seed_of(seed: int, slot: SampleSlot) -> int:
    """A seed for each sample, the same on every run: 31 bits, as some providers take no more."""
    digest = hashlib.sha256(f"{seed} {slot.chain} {slot.iteration}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


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
