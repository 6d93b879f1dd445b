"""What the stages of a candidate come to. Pure."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from fanwise.optimize.benchmark.sequential import Speed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.checking.static_checks import Finding
from fanwise.optimize.state.item import CheckResult, PreparedCandidate, seconds_of
from fanwise.optimize.verdict import ORIGINAL, CandidateVerdict

Status = Literal["accepted", "rejected", "undecided"]
BY_SPEED: dict[str, Status] = {
    "accept": "accepted",
    "reject": "rejected",
    "undecided": "undecided",
}
UNCHANGED = "it is equal to the original"


def verdict_of(
    candidate: Candidate,
    prepared: PreparedCandidate,
    checked: CheckResult | None,
    speed: Speed | None,
) -> CandidateVerdict:
    """The verdict on a candidate that has been through all its stages."""
    findings = (*prepared.findings, *(checked.findings if checked is not None else ()))
    last = findings[-1]
    found = CandidateVerdict(
        candidate=candidate,
        status="rejected",
        stage=last.stage,
        reason=last.reason,
        findings=findings,
        difference=None if checked is None else checked.difference,
        diff_lines=prepared.diff_lines,
        patch=prepared.patch,
        seconds=seconds_of(findings),
    )
    if any(not each.ok for each in findings):
        return found
    if prepared.original:
        return replace(found, status="same", same_as=ORIGINAL, reason=UNCHANGED)
    assert speed is not None
    return replace(
        found,
        status=BY_SPEED[speed.decision],
        stage="benchmark",
        reason="; ".join([speed.reason, *_told(findings), *_by_tests(prepared)]),
        speed=speed if speed.rounds else None,
        seconds={**found.seconds, "benchmark": speed.spent_s},
    )


def shared_verdict(
    candidate: Candidate, prepared: PreparedCandidate, other: CandidateVerdict
) -> CandidateVerdict:
    """Of one that is the same as another: what holds for that one holds for it."""
    came_to = f"{other.status}, {other.reason}" if other.reason else other.status
    return replace(
        other,
        candidate=candidate,
        status="same",
        same_as=other.candidate.key,
        reason=f"it is the same as {other.candidate.name} ({came_to})",
        diff_lines=prepared.diff_lines,
        patch=prepared.patch,
        findings=_own(prepared.findings, other.findings),
        seconds=seconds_of(prepared.findings),
    )


def _told(findings: tuple[Finding, ...]) -> list[str]:
    """What a person should know of one that passed all checks."""
    differs = [name for each in findings for name in each.differs]
    allowed = [name for each in findings for name in each.allowed]
    told = [f"differs on {', '.join(differs)}"] if differs else []
    return told + ([f"allowed: {', '.join(allowed)}"] if allowed else [])


def _by_tests(prepared: PreparedCandidate) -> list[str]:
    """What nothing but the tests has judged, and a person should read."""
    if not prepared.by_tests:
        return []
    return [f"only the tests judge its changes to {', '.join(prepared.by_tests)}"]


def _own(mine: tuple[Finding, ...], others: tuple[Finding, ...]) -> tuple[Finding, ...]:
    known = {each.stage for each in mine}
    return (*mine, *(each for each in others if each.stage not in known))
