"""What the items of a run do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fanwise.optimize.case import Case
from fanwise.optimize.driver.asking import ask_of
from fanwise.optimize.driver.item import Item
from fanwise.optimize.driver.lab import Lab
from fanwise.optimize.driver.original import Original
from fanwise.optimize.driver.trial import Trial, source_of
from fanwise.optimize.propose.port import Proposals, Unusable


class Work:
    """Does them, in a lab. What each gives is plain data, as the journal keeps it."""

    def __init__(self, case: Case, lab: Lab) -> None:
        self._case = case
        self._lab = lab
        self.original = Original(lab)
        self.unusable: list[Unusable] = []
        """Answers that were no candidates."""
        self._trial = Trial(lab, self.original)

    def learn(self, item: Item, value: Any) -> None:
        """What an item gave, now or in an earlier execution."""
        if item.kind == "baseline":
            self.original.learn(item.stage, value)
        elif item.kind == "propose":
            self.unusable += msgspec.convert(value, Proposals).unusable

    def kept(self, item: Item, value: Any) -> bool:
        """Whether the files that belong to what was recorded are there."""
        return item.kind != "baseline" or self.original.kept(item, value)

    @property
    def notes(self) -> Sequence[str]:
        """What a person should know."""
        return self.original.notes

    async def perform(self, item: Item) -> Any:
        """Any of them."""
        return msgspec.to_builtins(await self._perform(item))

    async def _perform(self, item: Item) -> Any:
        if item.kind == "baseline":
            return await self.original.perform(item)
        if item.kind == "propose":
            return await self._propose(item)
        assert item.candidate is not None
        if item.kind == "prepare":
            return await self._trial.prepare(item.candidate)
        if item.kind == "check":
            return await self._trial.check(item.candidate)
        if item.kind == "benchmark":
            return await self._trial.benchmark(item.candidate)
        if item.kind == "profile":
            return await self._trial.profile(item.candidate)
        return {"place": item.number, "verdict": item.verdict}

    async def _propose(self, item: Item) -> Proposals:
        propose = self._case.spec.candidates.propose
        assert propose is not None
        assert self._case.proposer is not None
        target = self._case.target
        ask = ask_of(
            item,
            target="" if target is None else target.text(),
            source=source_of(self._lab.original, target),
            file="" if target is None else target.read(self._lab.original.root).text,
            profile=str(self.original.known.get("profile", "")),
            n=max(1, propose.n),
        )
        return await self._case.proposer.propose(ask)
