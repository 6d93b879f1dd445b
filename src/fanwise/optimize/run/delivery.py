"""The end of a run: the winner is written, applied or committed as asked, and announced."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from fanwise.errors import FanwiseError
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run import Run
from fanwise.kernel.run_files import kept_files
from fanwise.optimize.spec.resolved_spec import ResolvedSpec
from fanwise.optimize.state.run_state import OptimizeState
from fanwise.optimize.verdict import DIGITS, CandidateVerdict, winner
from fanwise.optimize.views.text import failure_lines, speed_text, table_lines
from fanwise.specs.system import End
from fanwise.workspaces.results import apply_to_tree, check_branch, commit_on_branch, write_patch

PATCH = "winner.patch"


class DeliveryOptions(msgspec.Struct, frozen=True):
    """What to do with the winner, besides writing its patch."""

    apply: bool = False
    branch: str | None = None

    def check(self, case: ResolvedSpec) -> None:
        """Check the branch name before hours of measuring."""
        if self.branch is not None:
            check_branch(case.repo, self.branch)


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What was done with the winner."""

    winner: CandidateVerdict | None = None
    patch: str | None = None
    """The path of the patch file."""
    applied: Sequence[str] = ()
    """Files of the work tree that were changed by `apply`."""
    commit: str | None = None
    """The commit on the new branch."""
    problem: str = ""
    """Why it was not applied."""


async def end_of(
    case: ResolvedSpec, state: OptimizeState, base: str, options: DeliveryOptions, run: Run
) -> End:
    """Write what was asked for, and say what came of it. Exit code 1: there is no winner."""
    delivery = await deliver(case, state, base, options, run)
    document = {
        "winner": None if delivery.winner is None else delivery.winner.candidate.key,
        "patch": delivery.patch,
        "applied": list(delivery.applied),
        "commit": delivery.commit,
        "noise": state.baseline.get("noise"),
        "candidates": msgspec.to_builtins(state.verdicts),
        "failures": state.unjudged,
        "unproposed": state.unproposed,
        "unusable": msgspec.to_builtins(state.unusable),
        "outside": list(state.outside),
    }
    bad = delivery.winner is None or bool(delivery.problem or state.unjudged or state.unproposed)
    output = [*table_lines(state.verdicts), *_winner_lines(delivery, options)]
    notes = [*_notes(state, delivery), *_unused(case, state), f"tests ran with {case.python}"]
    failed = [f"{name}: {why}" for name, why in {**state.unjudged, **state.unproposed}.items()]
    return End(document, output, notes, 1 if bad else 0, state.counts, failures=failed)


async def deliver(
    case: ResolvedSpec, state: OptimizeState, base: str, options: DeliveryOptions, run: Run
) -> Delivery:
    """Write the winner's patch file; change the work tree or make a branch if that was asked.

    A run that is being halted has no winner: others may have been better.
    """
    best = winner(state.verdicts)
    if best is None or run.halting is not None:
        return Delivery()
    folder = kept_files(run)
    patch = None if folder is None else folder / PATCH
    applied: Sequence[str] = ()
    commit, problem = None, ""
    if patch is not None:
        await in_thread(write_patch, patch, best.patch)
    try:
        if options.apply:
            applied = await in_thread(apply_to_tree, case.repo, best.patch, base)
        if options.branch is not None:
            message = message_of(best, "" if case.target is None else case.target.text())
            made = (case.repo, best.patch, base, options.branch, message)
            commit = await in_thread(commit_on_branch, *made)
    except FanwiseError as error:
        problem = str(error)
    return Delivery(
        winner=best,
        patch=None if patch is None else str(_short(patch)),
        applied=applied,
        commit=commit,
        problem=problem,
    )


def _short(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _winner_lines(delivery: Delivery, options: DeliveryOptions) -> list[str]:
    if delivery.winner is None:
        return []
    lines = [f"the winner: {delivery.winner.candidate.name}, {speed_text(delivery.winner)}"]
    if delivery.patch is not None:
        lines.append(f"its patch: {delivery.patch}")
    if delivery.applied:
        lines.append(f"applied to {', '.join(delivery.applied)}")
    if delivery.commit is not None:
        lines.append(f"committed as {delivery.commit[:12]} on the branch {options.branch}")
    return lines


def _notes(state: OptimizeState, delivery: Delivery) -> list[str]:
    """What is wrong comes first: a workflow takes the first one as the reason of a failed step."""
    notes = failure_lines(state.unjudged, "candidates could not be judged")
    notes += failure_lines(state.unproposed, "proposals failed")
    unusable: dict[str, Any] = {each.name: each.reason for each in state.unusable}
    notes += failure_lines(unusable, "answers were unusable")
    if delivery.problem:
        notes.append(f"the winner was not applied: {delivery.problem}")
    if delivery.winner is None and state.complete:
        notes.append("no candidate was proven faster")
    return [*notes, *state.notes]


def _unused(case: ResolvedSpec, state: OptimizeState) -> list[str]:
    """Waivers that match nothing are usually typos."""
    used = {name for each in state.verdicts for found in each.findings for name in found.allowed}
    unused = [each for each in case.spec.allow if each not in used]
    return [f"allow: {each!r} matches no difference" for each in unused]


def message_of(winner: CandidateVerdict, target: str) -> str:
    """The commit message: what is faster, and how it was measured."""
    speed = winner.speed
    assert speed is not None
    low, ratio, high = (f"{each:.{DIGITS}g}" for each in (speed.low, speed.ratio, speed.high))
    name = " ".join(winner.candidate.name.split())
    return (
        f"Make {target or 'it'} {low} times as fast\n\n"
        f"Candidate: {name}\n"
        f"Measured: {ratio} times ({low} to {high}) in {speed.rounds} pairs of runs\n"
    )
