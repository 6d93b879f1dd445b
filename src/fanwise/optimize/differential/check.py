"""The differential check of one candidate."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fanwise.errors import NotJudged
from fanwise.kernel.confined.settings import Settings
from fanwise.kernel.in_thread import in_thread, thread_context
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.checking.static_checks import Finding
from fanwise.optimize.differential.baseline import HASH_SEEDS, Baseline
from fanwise.optimize.differential.child_program import Where
from fanwise.optimize.differential.compare import Difference, Differs, compare, missing
from fanwise.optimize.differential.equal import Tolerance
from fanwise.optimize.differential.observe import Observations, observe
from fanwise.optimize.differential.smallest import BUDGET_S, BothSides, KnownFailures, smallest
from fanwise.optimize.differential.weigh import weigh

ALLOWED_S = 5.0
"""A candidate's call may take so long, and so many times as long as on the original."""
ALLOWED_TIMES = 20.0
_ENDS = 3
"""Calls that a candidate does not survive, until the rest is left out."""


async def check_differential(
    original: Where,
    candidate: Where,
    target: Target,
    baseline: Baseline,
    settings: Settings,
    *,
    tolerance: Tolerance | None = None,
    budget_s: float = BUDGET_S,
    strict: bool = False,
    allow: Sequence[str] = (),
    known: KnownFailures | None = None,
) -> tuple[Finding, Difference | None]:
    """Whether a candidate does what the original does; if not, the smallest call that shows it.

    `original` is a checkout with the code that `baseline` was made from; several checks may use
    it at once. `budget_s` is for making the call smaller. `strict` lets calls reject that nobody
    makes; `allow` names differences that do not. `NotJudged` if the comparison is incomplete.
    """
    begun = time.monotonic()
    check = _Check(original, candidate, target, baseline, settings, tolerance or Tolerance())
    check.strict, check.allow, check.known = strict, allow, known or KnownFailures()
    reason, difference = await check.run(budget_s)
    finding = Finding(
        stage="differential",
        ok=not reason,
        reason=reason or check.passed(),
        differs=tuple(check.told),
        allowed=tuple(check.allowed),
        detail="" if difference else "\n".join(baseline.notes),
        seconds=time.monotonic() - begun,
        calls=None if reason else len(baseline.steady),
    )
    return finding, difference


class _Check:
    def __init__(
        self,
        original: Where,
        candidate: Where,
        target: Target,
        baseline: Baseline,
        settings: Settings,
        tolerance: Tolerance,
    ) -> None:
        self._original = original
        self._candidate = candidate
        self._target = target
        self._baseline = baseline
        self._settings = settings
        self._tolerance = tolerance
        self.strict = False
        self.allow: Sequence[str] = ()
        self.known = KnownFailures()
        self.told: dict[str, None] = {}
        """Names of differences that reject nobody."""
        self.allowed: dict[str, None] = {}

    def passed(self) -> str:
        calls, inputs = len(self._baseline.steady), self._baseline.inputs
        told = f"the same in {calls} calls with {inputs} different inputs"
        told += f"; differs on: {', '.join(self.told)}" if self.told else ""
        return told + (f"; allowed: {', '.join(self.allowed)}" if self.allowed else "")

    async def run(self, budget_s: float) -> tuple[str, Difference | None]:
        if self._baseline.problem:
            return self._baseline.problem, None
        for number, hash_seed in enumerate(HASH_SEEDS):
            seen = await self._observe(hash_seed)
            if not await in_thread(self._baseline.intact):
                return "the recorded calls were changed while it ran", None
            if seen.broken:
                return f"its target cannot be called: {seen.broken}", None
            found = weigh(self._compare(number, seen), strict=self.strict, allow=self.allow)
            if found.rejecting:
                return await self._told(found.rejecting, hash_seed, budget_s)
            self._require_all(seen, len(found.unbuilt))
            self.told |= dict.fromkeys(found.told)
            self.allowed |= dict.fromkeys(found.allowed)
        return "", None

    def _require_all(self, seen: Observations, unbuilt: int) -> None:
        """Nothing passes that was not compared."""
        entries = self._baseline.entries()
        lost = missing(entries, seen)
        if lost or seen.cut:
            why = seen.cut or "the time was over"
            raise NotJudged(f"{len(entries) - lost} of {len(entries)} calls were compared: {why}")
        if unbuilt:
            raise NotJudged(
                f"in {unbuilt} of {len(entries)} calls its object lacks what its constructor adds, "
                "and the tests do not show how to make such an object"
            )

    async def _observe(self, hash_seed: int) -> Observations:
        took = self._baseline.seconds()
        allowed = {each: max(ALLOWED_S, ALLOWED_TIMES * time) for each, time in took.items()}
        return await observe(
            self._candidate, self._target, self._baseline.recording, self._baseline.plan,
            self._settings, hash_seed=hash_seed, only=self._baseline.made, seconds=allowed,
            names=self._baseline.passes[0].names,
            ends=_ENDS, budget_s=60.0 + ALLOWED_TIMES * sum(took.values()),
        )  # fmt: skip

    def _compare(self, number: int, seen: Observations) -> list[Differs]:
        baseline = self._baseline
        return compare(
            baseline.entries(), baseline.passes[number], seen, self._tolerance,
            unordered=frozenset(baseline.unordered),
        )  # fmt: skip

    async def _told(
        self, found: list[Differs], hash_seed: int, budget_s: float
    ) -> tuple[str, Difference]:
        async with thread_context(_scratch(self._baseline.recording.folder)) as scratch:
            pair = BothSides(
                original=self._original, candidate=self._candidate, target=self._target,
                baseline=self._baseline, settings=self._settings, tolerance=self._tolerance,
                hash_seed=hash_seed, scratch=scratch,
            )  # fmt: skip
            difference = await smallest(pair, found, self.known, budget_s=budget_s)
        return (
            f"{difference.call}: it {difference.got}, the original {difference.expected}",
            difference,
        )


@contextmanager
def _scratch(beside: str) -> Iterator[Path]:
    made = tempfile.TemporaryDirectory(prefix="smaller-", dir=beside, ignore_cleanup_errors=True)
    with made as folder:
        yield Path(folder)
