"""What the tasks of a run do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fanwise.optimize.case import Case
from fanwise.optimize.driver.asking import ask_of
from fanwise.optimize.driver.lab import Lab
from fanwise.optimize.driver.original import Original
from fanwise.optimize.driver.task import Task
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

    def learn(self, task: Task, value: Any) -> None:
        """What a task gave, now or in an earlier execution."""
        if task.kind == "baseline":
            self.original.learn(task.stage, value)
        elif task.kind == "propose":
            self.unusable += msgspec.convert(value, Proposals).unusable

    def kept(self, task: Task, value: Any) -> bool:
        """Whether the files that belong to what was recorded are there."""
        return task.kind != "baseline" or self.original.kept(task, value)

    @property
    def notes(self) -> Sequence[str]:
        """What a person should know."""
        return [*self.original.notes, *self._lab.notes]

    async def perform(self, task: Task) -> Any:
        """Any of them."""
        return msgspec.to_builtins(await self._perform(task))

    async def _perform(self, task: Task) -> Any:
        if task.kind == "baseline":
            return await self.original.perform(task)
        if task.kind == "propose":
            return await self._propose(task)
        assert task.candidate is not None
        if task.kind == "prepare":
            return await self._trial.prepare(task.candidate)
        if task.kind == "check":
            return await self._trial.check(task.candidate)
        if task.kind == "benchmark":
            return await self._trial.benchmark(task.candidate)
        if task.kind == "profile":
            return await self._trial.profile(task.candidate)
        return {"place": task.number, "verdict": task.verdict}

    async def _propose(self, task: Task) -> Proposals:
        propose = self._case.spec.candidates.propose
        assert propose is not None
        assert self._case.proposer is not None
        target = self._case.target
        ask = ask_of(
            task,
            target="" if target is None else target.text(),
            source=source_of(self._lab.original, target),
            file="" if target is None else target.read(self._lab.original.root).text,
            profile=str(self.original.known.get("profile", "")),
            n=max(1, propose.n),
        )
        return await self._case.proposer.propose(ask)
