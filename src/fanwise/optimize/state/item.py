"""The items of a run: each is one stage of one candidate, recorded once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.checking.static_checks import Finding
from fanwise.optimize.differential.compare import Difference
from fanwise.optimize.verdict import CandidateVerdict

Kind = Literal["baseline", "prepare", "check", "benchmark", "profile", "propose", "verdict"]

NOISE = "noise"
"""The stage of the original that benchmarks need."""
FAN_OUT = "optimize"
"""The name of the fan-out that all items belong to."""


class OptimizeItem(msgspec.Struct, frozen=True, kw_only=True):
    """A stage of a candidate or of the original, or a proposal."""

    kind: Kind
    key: str
    candidate: Candidate | None = None
    stage: str = ""
    """For the baseline: which stage."""
    number: int = 0
    """Of a first proposal: which one it is. Of a verdict: the place of the candidate."""
    verdict: CandidateVerdict | None = None
    """Of a verdict: what it is. Of a proposal: of the one that it is made from."""
    source: str = ""
    """For a proposal: the target in the candidate that it is based on."""
    profile: str = ""


class PreparedCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate that was placed: what it changes, and whether that is code."""

    findings: tuple[Finding, ...]
    """The last one says whether it is fit to be checked."""
    digest: str = ""
    """Of its normal form: two with the same are the same."""
    original: bool = False
    """It is equal to the original."""
    patch: str = ""
    diff_lines: int = 0
    source: str = ""
    """The target in this candidate."""
    by_tests: tuple[str, ...] = ()
    """What it changes beside the target: calls of that are not compared, only its tests run."""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the tests and the comparison."""

    findings: tuple[Finding, ...]
    difference: Difference | None = None


def seconds_of(findings: tuple[Finding, ...]) -> Mapping[str, float]:
    return {each.stage: each.seconds for each in findings}
