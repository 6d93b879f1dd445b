"""What `fanwise run` and `resume` print when a plan has ended."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from fanwise.kernel.run import Run
from fanwise.kernel.scope import item_of
from fanwise.plan.merge.publish import PlanDelivery, RolledBack
from fanwise.plan.spec.resolved_plan import ResolvedPlan
from fanwise.plan.state.plan_state import PlanState
from fanwise.plan.views.text import MOST_NAMED, counts_line, plural, problem_lines, requests
from fanwise.view.run_summary import status_text


class Commands:
    """What the user can type next. There is nothing for a run in memory, which cannot be resumed,
    and nothing inside a workflow, whose run has other options."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._any = run.journal is not None and item_of(run) is None

    def line(self, what: str, verb: str, *options: str) -> Iterator[str]:
        """A line such as `  to continue: fanwise resume RUN`, if there is such a run."""
        if self._any:
            given = self._run.given_journal
            where = () if given is None else ("--journal", os.fspath(given))
            yield f"  {what}: {shlex.join(['fanwise', verb, self._run.id, *where, *options])}"


def output_lines(
    resolved: ResolvedPlan, state: PlanState, delivery: PlanDelivery, commands: Commands
) -> list[str]:
    """The lines for stdout: what became of the plan, and where the result is."""
    lines = [counts_line(state)]
    result = state.result
    if result is None:
        return lines
    files = {path for leaf in result.leaves for path in state.by_id[leaf].changed}
    parts = (plural(len(result.leaves), "sub-plan"), plural(len(files), "file"))
    what = f"{', '.join(parts)}, commit {result.commit[:12]}"
    if result.branch is not None:
        lines.append(f"the result: branch {result.branch} ({what})")
        lines.append(f"  see it: git diff {resolved.base.commit[:12]}...{result.branch}")
    if delivery.patch is not None:
        lines.append(f"the result: {delivery.patch} ({what})" if result.branch is None
                     else f"  as a patch: {delivery.patch}")  # fmt: skip
    if delivery.branches:
        lines.append(f"  {plural(len(delivery.branches), 'branch', 'branches')} of sub-plans:")
        lines += [f"    {name}" for name in delivery.branches[:MOST_NAMED]]
        if len(delivery.branches) > MOST_NAMED:
            lines.append(f"    and {len(delivery.branches) - MOST_NAMED} more")
    if delivery.is_there:
        applied = f"applied to {plural(len(delivery.applied), 'file')} of the work tree"
        lines.append(applied if delivery.applied else "the work tree has all of it already")
        lines += commands.line("undo it", "resume", "--rollback")
    elif not delivery.problem:
        lines += commands.line("write it to the work tree", "resume", "--apply")
    return lines


def note_lines(state: PlanState, delivery: PlanDelivery, commands: Commands) -> list[str]:
    """The lines for stderr: what needs attention, and what to do about it."""
    lines = [status_text("halted", state.counts.halted)] if state.counts.halted else []
    lines += problem_lines(state)
    if state.count("failed", "given up"):
        lines += commands.line("what they said", "show", "--items")
        if state.halted is None:
            lines += commands.line("to try them again", "resume", "--retry-failed")
    if requests(state):
        lines += commands.line("the edits that were kept aside", "show", "--items")
    lines += _failed_check(state, commands)
    if state.complete and state.halted is None and state.merged is None and state.leaves:
        lines.append("nothing was changed, so there is no branch")
    if delivery.problem:
        lines.append(f"the result was not applied: {delivery.problem}")
    # Titles and paths come from elsewhere, and may contain line breaks.
    return [" ".join(line.splitlines()) for line in lines]


def rollback_lines(undone: RolledBack) -> list[str]:
    files = plural(len(undone.files), "file")
    lines = [f"put back in the work tree: {files}"] if undone.files else []
    return lines + ([f"the branch {undone.branch} was removed"] if undone.branch else [])


def _failed_check(state: PlanState, commands: Commands) -> Iterator[str]:
    if not state.checks or state.result is not None:
        return
    yield "the check fails without any change, too" if state.innocent else "the check failed"
    yield from (f"  {line}" for line in state.checks[0].said.splitlines()[-MOST_NAMED:])
    yield f"  look at what was merged: git switch --detach {state.merged}"
    if len(state.checks) == 1:
        what = "to find the sub-plans that it fails with"
        yield from commands.line(what, "resume", "--bisect")
