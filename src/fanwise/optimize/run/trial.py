"""A candidate, tried: placed, checked, measured. Each stage takes a workspace of its own.

So the code that is measured is put there for that, and nothing of the checks is left around it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.errors import BadTarget, FanwiseError
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.stages import begin_stage
from fanwise.optimize.benchmark.compare import by_new_calls, compare_speed, only_repeated
from fanwise.optimize.benchmark.sequential import Accept, Speed
from fanwise.optimize.benchmark.stopwatch import Bench
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.candidates.source_text import SourceText
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.checking.run_tests import check_tests
from fanwise.optimize.checking.static_checks import Finding, check_compiles
from fanwise.optimize.differential.check import check_differential
from fanwise.optimize.differential.compare import Difference
from fanwise.optimize.differential.smallest import KnownFailures
from fanwise.optimize.run.original import Original
from fanwise.optimize.run.workbench import Workbench
from fanwise.optimize.state.item import CheckResult, PreparedCandidate
from fanwise.workspaces import Workspace


class DifferentialResult(msgspec.Struct, frozen=True, kw_only=True):
    finding: Finding
    difference: Difference | None = None


class Trial:
    """The stages of a candidate."""

    def __init__(
        self, workbench: Workbench, original: Original, *, known: KnownFailures | None = None
    ) -> None:
        self._workbench = workbench
        self._original = original
        self._known = known or KnownFailures()

    async def prepare(self, candidate: Candidate) -> PreparedCandidate:
        """Apply and compile it; none of its code runs."""
        workbench = self._workbench
        async with workbench.workspace() as workspace:
            applied, placed = await workbench.place(workspace, candidate)
            if placed is None:
                return PreparedCandidate(findings=(applied,))
            compiled = await check_compiles(workspace, placed.files, workbench.settings)
            return PreparedCandidate(
                findings=(applied, compiled),
                digest=placed.identity,
                original=not placed.identity,
                patch=placed.patch,
                diff_lines=placed.diff_lines,
                source=await in_thread(source_of, workspace, workbench.case.target),
                by_tests=await in_thread(
                    beside_target, workspace, placed.files, workbench.case.target
                ),
            )

    async def check(self, candidate: Candidate) -> CheckResult:
        """Run the tests, then compare behaviour; stop at the first failure."""
        async with self._workbench.placed(candidate) as workspace:
            tested = await _once("test", Finding, lambda: self._test(workspace))
            if not tested.ok or self._original.behaviour is None:
                return CheckResult(findings=(tested,))
        # The tests may have left anything behind, and may still have hold of something.
        async with self._workbench.placed(candidate) as workspace:
            begin_stage("compare")
            compared = await _once(
                "differential", DifferentialResult, lambda: self._compare(workspace)
            )
            return CheckResult(findings=(tested, compared.finding), difference=compared.difference)

    async def _test(self, workspace: Workspace) -> Finding:
        assert self._original.tests is not None
        workbench = self._workbench
        return await check_tests(
            workspace, workbench.case.spec.test, self._original.tests, workbench.settings
        )

    async def _compare(self, workspace: Workspace) -> DifferentialResult:
        workbench, behaviour = self._workbench, self._original.behaviour
        assert workbench.case.target is not None
        assert behaviour is not None
        finding, difference = await check_differential(
            workbench.original,
            workspace,
            workbench.case.target,
            behaviour,
            workbench.settings,
            tolerance=workbench.tolerance,
            strict=workbench.case.spec.strict,
            allow=workbench.case.spec.allow,
            known=self._known,
        )
        return DifferentialResult(finding=finding, difference=difference)

    async def benchmark(self, candidate: Candidate) -> Speed:
        """Measure it against the original, with nothing else on the CPU."""
        original = self._original
        baseline = await self._workbench.renew()
        async with self._workbench.placed(candidate) as workspace:
            speed = await self._speed(baseline, workspace, original.bench, original.pair_s)
            if speed.decision == "accept" and (why := await original.other_calls(workspace)):
                return replace(speed, decision="undecided", reason=f"{why}; {speed.reason}")
            if speed.decision != "accept" or original.is_varied:
                return speed
            calls, why = original.timed_calls
            if calls is None:
                return only_repeated(speed, why)
            # The benchmark says how calls of different sizes are weighed; this is about new ones.
            accept = replace(original.accept, allow_slower=True)
            new = await self._speed(baseline, workspace, calls, accept=accept)
            return by_new_calls(speed, new)

    async def _speed(
        self,
        baseline: Workspace,
        workspace: Workspace,
        bench: Bench,
        pair_s: float = 0.0,
        accept: Accept | None = None,
    ) -> Speed:
        workbench, spec = self._workbench, self._workbench.case.spec
        return await compare_speed(
            baseline,
            workspace,
            bench,
            workbench.settings,
            accept=accept or self._original.accept,
            budget_s=spec.benched.budget,
            seed=spec.seed,
            tolerance=workbench.tolerance,
            pin=spec.benched.pin,
            pair_s=pair_s,
        )

    async def profile(self, candidate: Candidate) -> str:
        """Where its time goes; empty if that cannot be told, for it is right and fast without."""
        async with self._workbench.placed(candidate) as workspace:
            try:
                return await self._original.profile(workspace)
            except FanwiseError:
                return ""


async def _once(name: str, kind: type[Any], work: Callable[[], Awaitable[Any]]) -> Any:
    """A part of a stage that is recorded by itself: a resume does not repeat it."""

    async def perform(_: str) -> Any:
        return msgspec.to_builtins(await work())

    found = await fan_out(perform, [name], cap=1, key=str, name=name)
    return msgspec.convert(found[0].unwrap(), kind)  # its own error, and not a group of one


def beside_target(
    workspace: Workspace, files: Sequence[str], target: Target | None
) -> tuple[str, ...]:
    """What a candidate changes that the comparison of the target's calls does not see."""
    found = [path for path in files if target is None or path != target.file]
    if target is not None and target.file in files and not _rest_is_kept(workspace, target):
        found.insert(0, f"the rest of {target.file}")
    return tuple(found)


def _rest_is_kept(workspace: Workspace, target: Target) -> bool:
    base = workspace.at_base(target.file)
    try:
        texts = [target.read(workspace.root), SourceText.of(base[1] if base else b"")]
        rests = [
            [*(lines := text.lines())[: (span := target.span(text.text))[0]], *lines[span[1] :]]
            for text in texts
        ]
    except (BadTarget, SyntaxError, ValueError):
        return False
    plain = [[line.strip() for line in rest if line.strip()] for rest in rests]
    return plain[0] == plain[1]


def source_of(workspace: Workspace, target: Target | None) -> str:
    """The target as it stands there; empty if it is not there any more."""
    if target is None:
        return ""
    try:
        source = target.read(workspace.root)
        start, end = target.span(source.text)
    except (BadTarget, SyntaxError, ValueError):
        return ""
    return "".join(source.lines()[start:end])
