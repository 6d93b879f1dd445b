"""What `fanwise run` and `resume` print when a plan has ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fanwise.kernel.repository_watch import OUTSIDE_TITLE
from fanwise.plan.merge.publish import PlanDelivery, Undone
from fanwise.plan.model.states import State
from fanwise.plan.spec.resolved_plan import ResolvedPlan
from fanwise.plan.state.plan_state import LeafState, PlanState
from fanwise.plan.views.next_commands import Commands
from fanwise.plan.views.text import (
    broken_line,
    conflict_line,
    counts_line,
    moved_line,
    plural,
    request_line,
    requests,
    taken_line,
)
from fanwise.view.run_summary import status_text

MOST = 10
"""How many of a kind are named; `fanwise show` has them all."""


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
        lines += [f"    {name}" for name in delivery.branches[:MOST]]
        if len(delivery.branches) > MOST:
            lines.append(f"    and {len(delivery.branches) - MOST} more")
    if delivery.is_there:
        applied = f"applied to {plural(len(delivery.applied), 'file')} of the work tree"
        lines.append(applied if delivery.applied else "the work tree has all of it already")
        lines += commands.line("undo it", "resume", "--rollback")
    elif not delivery.problem:
        lines += commands.line("write it to the work tree", "resume", "--apply")
    return lines


def note_lines(state: PlanState, delivery: PlanDelivery, commands: Commands) -> list[str]:
    """The lines for stderr: what needs attention, and what to do about it."""
    parts = (
        _halted(state),
        _leaves(state, "failed", "failed"),
        _leaves(state, "skipped", "skipped"),
        _in_vain(state),
        _conflicts(state),
        _try_again(state, commands),
        _leaves(state, "left out", "left out, because the check fails with them"),
        _few(
            "files were renamed by one sub-plan and changed by another",
            [moved_line(each, state) for each in state.moved],
        ),
        _broken(state),
        _requests(state, commands),
        _deleted(state),
        _failed_check(state, commands),
        _nothing(state),
        _twice(state),
        _few(OUTSIDE_TITLE, state.outside),
        [f"the result was not applied: {delivery.problem}"] if delivery.problem else [],
    )
    return [_one_line(line) for part in parts for line in part]


def rollback_lines(undone: Undone) -> list[str]:
    """What a rollback put back or removed."""
    files = plural(len(undone.files), "file")
    lines = [f"put back in the work tree: {files}"] if undone.files else []
    return lines + ([f"the branch {undone.branch} was removed"] if undone.branch else [])


def _one_line(line: str) -> str:
    """Titles and paths come from elsewhere, and may have line breaks in them."""
    return " ".join(line.splitlines())


def _halted(state: PlanState) -> Iterator[str]:
    if state.counts.halted:
        yield status_text("halted", state.counts.halted)


def _leaves(state: PlanState, which: State, word: str) -> Iterator[str]:
    found = [each for each in state.leaves if each.state == which]
    return _few(word, [f"{each.title}: {each.reason}{_edits(each)}" for each in found])


def _in_vain(state: PlanState) -> Iterator[str]:
    """They count as done, but not like those that had nothing to do."""
    tried = [each for each in state.leaves if each.state == "unchanged" and each.reason]
    return _few("unchanged after failed tries", [f"{e.title}: {e.reason}" for e in tried])


def _edits(leaf: LeafState) -> str:
    return f" (its edits: {leaf.kept})" if leaf.kept else ""


def _few(word: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{len(lines)} {word}:"
        yield from (f"  {line}" for line in lines[:MOST])
    if len(lines) > MOST:
        yield f"  and {len(lines) - MOST} more"


def _conflicts(state: PlanState) -> Iterator[str]:
    lines = [
        f"{conflict_line(each, state)}{_edits(state.by_id[each.leaf])}" for each in state.conflicts
    ]
    yield from _few("conflicts" if lines[1:] else "conflict", lines)
    if state.result is None and state.count("conflict"):
        yield "  nothing was merged"
    taken = [taken_line(each, state) for each in state.taken]
    yield from _few("files in conflict, decided by ours_last", taken)


def _try_again(state: PlanState, commands: Commands) -> Iterator[str]:
    if state.count("failed", "given up"):
        yield from commands.line("what they said", "show", "--items")
        if state.halted is None:
            yield from commands.line("to try them again", "resume", "--retry-failed")


def _broken(state: PlanState) -> Iterator[str]:
    word = "names that one sub-plan removed and another uses"
    if state.broken and state.passed:
        word += "; the check passed all the same"
    return _few(word, [broken_line(each, state) for each in state.broken])


def _requests(state: PlanState, commands: Commands) -> Iterator[str]:
    lines = [request_line(each, state) for each in requests(state)]
    if lines:
        edits, was = ("edits", "were") if lines[1:] else ("edit", "was")
        yield from _few(f"{edits} outside a sub-plan's own files {was} kept aside", lines)
        yield from commands.line("with their patches", "show", "--items")


def _deleted(state: PlanState) -> Iterator[str]:
    """Nothing forbids it, and hardly anybody means it."""
    lines = [
        f"{each.title}: {plural(len(each.files), 'file')}"
        for each in state.leaves
        if each.state == "done" and each.files and set(each.files) <= set(each.deleted)
    ]
    return _few(f"deleted all of {'their' if lines[1:] else 'its'} files", lines)


def _failed_check(state: PlanState, commands: Commands) -> Iterator[str]:
    if not state.checks or state.result is not None:
        return
    yield "the check fails without any change, too" if state.innocent else "the check failed"
    yield from (f"  {line}" for line in state.checks[0].said.splitlines()[-MOST:])
    yield f"  look at what was merged: git switch --detach {state.merged}"
    if len(state.checks) == 1:
        what = "to find the sub-plans that it fails with"
        yield from commands.line(what, "resume", "--bisect")


def _nothing(state: PlanState) -> Iterator[str]:
    if state.complete and state.halted is None and state.merged is None and state.leaves:
        yield "nothing was changed, so there is no branch"


def _twice(state: PlanState) -> Iterator[str]:
    it = "they" if state.may_have_run_twice[1:] else "it"
    word = f"had been started before and not finished; {it} may have run twice"
    return _few(word, state.may_have_run_twice)
