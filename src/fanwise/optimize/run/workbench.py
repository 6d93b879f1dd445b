"""Where candidates are tried: workspaces, the original's own one, and how code is run there.

The original has a workspace of its own for the whole run. Before anything is measured it is given
back and taken anew: then nobody else is in a workspace, and whatever a candidate may have done to
it is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fanwise.kernel.confined.settings import LIMITS, Settings
from fanwise.kernel.in_thread import in_thread, threads_here
from fanwise.kernel.threads import EndedAnyway
from fanwise.kernel.workspaces import workspace
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.candidates.placement import Placement, put
from fanwise.optimize.checking.static_checks import Finding, check_applies
from fanwise.optimize.differential.equal import Tolerance
from fanwise.optimize.spec.resolved_spec import ResolvedSpec
from fanwise.processes import PLAIN, Limits
from fanwise.workspaces import Workspace, WorkspacePool

LONGEST_S = 3600.0
"""For a command, if the file does not say; candidates are measured by the original's time."""


class Workbench:
    """The workspaces of a run. Use it in `async with`."""

    def __init__(
        self,
        case: ResolvedSpec,
        pool: WorkspacePool,
        folder: Path,
        judges: Sequence[str] | None = None,
    ) -> None:
        """`judges`: the files that judge, where the user's tree is not at hand."""
        self.case = case
        self._judges = judges
        self.folder = folder
        """Files here are found by a resume."""
        self._pool = pool
        self._original: Workspace | None = None

    async def __aenter__(self) -> Workbench:
        self._original = await self._take()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._let_go()

    @property
    def original(self) -> Workspace:
        assert self._original is not None
        return self._original

    @property
    def tolerance(self) -> Tolerance:
        """How far floats may be apart and still be equal."""
        given = self.case.spec.tolerance
        return Tolerance(given.relative, given.absolute)

    @property
    def judges(self) -> Sequence[str]:
        """The files that no candidate changes; read from the user's tree."""
        return self.case.judges if self._judges is None else self._judges

    @property
    def settings(self) -> Settings:
        """How code is run, of candidates and of the original alike."""
        return settings_of(self.case)

    async def renew(self) -> Workspace:
        """That workspace, as new. Nobody else may be in one, or in this one."""
        self._let_go()
        self._original = await self._take()
        return self._original

    @asynccontextmanager
    async def workspace(self) -> AsyncIterator[Workspace]:
        """A fresh workspace. The caller holds a permit for it."""
        async with workspace(self._pool) as found:
            yield found

    async def place(
        self, workspace: Workspace, candidate: Candidate
    ) -> tuple[Finding, Placement | None]:
        """Put a candidate into a workspace that is as new, if it can be."""
        case = self.case

        def check() -> tuple[Finding, Placement | None]:  # which files judge is read from the tree
            return check_applies(workspace, candidate, case.target, judges=self.judges)

        return await in_thread(check)

    @asynccontextmanager
    async def placed(self, candidate: Candidate) -> AsyncIterator[Workspace]:
        """One with a candidate in it, which was placed before. `CandidateUnfit`."""
        async with workspace(self._pool) as found:
            await in_thread(lambda: put(found, candidate, self.case.target, judges=self.judges))
            yield found

    async def _take(self) -> Workspace:
        async with threads_here() as threads:
            try:
                return await threads.call(self._pool.take)
            except EndedAnyway as late:
                self._pool.give_back(late.value)
                raise asyncio.CancelledError from None

    def _let_go(self) -> None:
        held, self._original = self._original, None
        if held is not None:
            self._pool.give_back(held)


def settings_of(case: ResolvedSpec) -> Settings:
    """How code is run, of candidates and of the original alike."""
    spec, takes = case.spec, case.spec.takes
    return Settings(
        timeout_s=spec.timeout or LONGEST_S,
        limits=Limits(
            memory=takes.memory,
            processes=takes.processes,
            cpu_s=None if takes.cpu is None else max(1, round(takes.cpu)),
            file_size=takes.file_size,
            output=LIMITS.output,
        ),
        sandbox=spec.sandbox,
        readable=case.readable,
        python=case.python,
        inherit=(*PLAIN, *spec.env),
    )
