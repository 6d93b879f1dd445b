"""The work of each item: a stage of the original or of a candidate, or a proposal."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.kernel.sent_workspaces import SentRepository
from fanwise.optimize.propose.port import Feedback, ProposalRequest, Proposals
from fanwise.optimize.run.check_away import check_away
from fanwise.optimize.run.original import Original
from fanwise.optimize.run.trial import Trial, source_of
from fanwise.optimize.run.workbench import Workbench
from fanwise.optimize.spec.resolved_spec import ResolvedSpec
from fanwise.optimize.state.item import OptimizeItem


class ItemWork:
    """Performs items on a workbench. Each returns plain data, for the journal."""

    def __init__(
        self, case: ResolvedSpec, workbench: Workbench, sent: SentRepository | None = None
    ) -> None:
        """`sent`: the repository for workers, which then make the checks."""
        self._case = case
        self._workbench = workbench
        self._sent = sent
        self.original = Original(workbench)
        self._trial = Trial(workbench, self.original)

    def learn(self, item: OptimizeItem, value: Any) -> None:
        """Take in the outcome of an item, new or recorded."""
        if item.kind == "baseline":
            self.original.learn(item.stage, value)

    def kept(self, item: OptimizeItem, value: Any) -> bool:
        """Whether the files of a recorded outcome still exist."""
        return item.kind != "baseline" or self.original.kept(item, value)

    async def perform(self, item: OptimizeItem) -> Any:
        return msgspec.to_builtins(await self._perform(item))

    async def _perform(self, item: OptimizeItem) -> Any:
        if item.kind == "baseline":
            return await self.original.perform(item)
        if item.kind == "propose":
            return await self._propose(item)
        assert item.candidate is not None
        if item.kind == "prepare":
            return await self._trial.prepare(item.candidate)
        if item.kind == "check":
            if self._sent is None:
                return await self._trial.check(item.candidate)
            return await check_away(self._sent, self._workbench, self.original, item.candidate)
        if item.kind == "benchmark":
            return await self._trial.benchmark(item.candidate)
        if item.kind == "profile":
            return await self._trial.profile(item.candidate)
        return {"place": item.number, "verdict": item.verdict}

    async def _propose(self, item: OptimizeItem) -> Proposals:
        propose = self._case.spec.candidates.propose
        assert propose is not None
        assert self._case.proposer is not None
        target = self._case.target
        ask = ProposalRequest(
            target="" if target is None else target.text(),
            source=source_of(self._workbench.original, target),
            file="" if target is None else target.read(self._workbench.original.root).text,
            profile=self.original.line_profile,
            number=item.number,
            n=max(1, propose.n),
        )
        if item.verdict is not None:  # made of another one
            told = Feedback(verdict=item.verdict, source=item.source, profile=item.profile)
            ask = replace(ask, feedback=told, n=1, round=item.verdict.candidate.round + 1)
        return await self._case.proposer.propose(ask)
