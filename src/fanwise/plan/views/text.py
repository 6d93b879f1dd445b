"""A run in words: the lines that `fanwise show`, the end of a run and the report have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fanwise.kernel.repository_watch import OUTSIDE_TITLE
from fanwise.plan.model.leaf_result import EditRequest, Try
from fanwise.plan.model.merge_result import BrokenName, Conflict, MergeCheck
from fanwise.plan.model.states import MARKS, State, counts_text
from fanwise.plan.state.plan_state import LeafState, PlanState
from fanwise.plan.state.read_run import RecordedPlan
from fanwise.plan.views.tree_text import tree_lines
from fanwise.view.calls import dollars
from fanwise.view.run_summary import duration

MOST_NAMED = 10
MOST_LINE = 160
MOST_FILES = 5
FOR_ALL = "all of them: fanwise show RUN --items"
TITLES: tuple[tuple[State, str], ...] = (
    ("failed", "failed"),
    ("skipped", "skipped"),
    ("left out", "left out, because the check fails with them"),
    ("unchanged", "unchanged after failed tries"),
    ("queued", "not done"),
)
"""Sub-plans whose reason is worth telling, by their states."""


def show_lines(found: RecordedPlan, *, fully: bool) -> list[str]:
    """A run for `fanwise show`: a few lines, or everything."""
    lines = summary_lines(found, most=None if fully else MOST_NAMED)
    if not fully:
        return lines
    states = {each.id: each.state for each in found.state.leaves}
    tree = tree_lines(found.state.tree, states=states)
    return [*lines, *tree, *(line for leaf in found.state.leaves for line in _all_of(leaf, found))]


def summary_lines(found: RecordedPlan, most: int | None = MOST_NAMED) -> list[str]:
    """What became of it; of long lists at most so many."""
    return [
        counts_line(found.state),
        *problem_lines(found.state, most),
        *(f"{step.kind} failed: {one_line(step.error)}" for step in found.failures),
        *check_lines(found.state.checks, found.state),
        *result_lines(found),
    ]


def problem_lines(state: PlanState, most: int | None = MOST_NAMED) -> Iterator[str]:
    """What needs attention, in groups with a title each."""
    for which, title in TITLES:
        told = [each for each in state.leaves if each.state == which and each.reason]
        yield from titled_lines(
            title, [f"{e.title}: {one_line(e.reason)}{_edits(e)}" for e in told], most
        )
    lines = [f"{conflict_line(c, state)}{_edits(state.by_id[c.leaf])}" for c in state.conflicts]
    yield from titled_lines("conflicts" if lines[1:] else "conflict", lines, most)
    passed = "; the check passed all the same" if state.passed else ""
    broken = [broken_line(each, state) for each in state.broken]
    yield from titled_lines(
        f"names that one sub-plan removed and another uses{passed}", broken, most
    )
    wanted = [request_line(each, state) for each in requests(state)]
    edits, was = ("edits", "were") if wanted[1:] else ("edit", "was")
    yield from titled_lines(
        f"{edits} outside a sub-plan's own files {was} kept aside", wanted, most
    )
    yield from _deletion_lines(state, most)
    it = "they" if state.may_have_run_twice[1:] else "it"
    twice = f"had been started before and not finished; {it} may have run twice"
    yield from titled_lines(twice, state.may_have_run_twice, most)
    yield from titled_lines(OUTSIDE_TITLE, state.outside, most)


def titled_lines(title: str, lines: Sequence[str], most: int | None = MOST_NAMED) -> Iterator[str]:
    """A title with their number, and at most so many of them."""
    if lines:
        yield f"{len(lines):,} {title}:"
        yield from (f"  {line}" for line in lines[:most])
    if most is not None and len(lines) > most:
        yield f"  and {len(lines) - most:,} more ({FOR_ALL})"


def _edits(leaf: LeafState) -> str:
    return f" (its edits: {leaf.kept})" if leaf.kept else ""


def _deletion_lines(state: PlanState, most: int | None) -> Iterator[str]:
    """Nothing forbids that, but hardly anybody means it."""
    lines = [
        f"{each.title}: {plural(len(each.files), 'file')}"
        for each in state.leaves
        if each.state == "done"
        and each.files
        and set(each.files) <= set(each.deleted)
        and each.deleted == each.changed  # else they were moved
    ]
    return titled_lines(f"deleted all of {'their' if lines[1:] else 'its'} files", lines, most)


def counts_line(state: PlanState) -> str:
    """`130 sub-plans: 2 running, 1 failed, 57 done, 70 queued`."""
    counts: Counter[State] = Counter(state.by_state)
    returned = counts.pop("split", 0)
    told = f"{plural(counts.total(), 'sub-plan')}: {counts_text(counts)}"
    return f"{told}; {returned:,} returned sub-plans" if returned else told


def requests(state: PlanState) -> list[EditRequest]:
    return [each for leaf in state.leaves for each in leaf.requests]


def conflict_line(conflict: Conflict, state: PlanState) -> str:
    """Where, between whom, and what became of it."""
    paths, who = ", ".join(conflict.paths), state.title(conflict.leaf)
    outcome = conflict_outcome(conflict.leaf, state)
    return f"{paths} ({conflict.kind}): {who} with {titles_text(conflict.others, state)}: {outcome}"


def conflict_outcome(leaf: str, state: PlanState) -> str:
    found = state.by_id.get(leaf)
    if found is None or found.state == "conflict":
        return "not settled"
    if found.state == "merging":
        return "it is being run again"
    if found.state == "done":
        return "settled: it was run again on what was merged" if found.again else "settled"
    return f"{found.state}: {one_line(found.reason)}"


def broken_line(broken: BrokenName, state: PlanState) -> str:
    """Which name is gone, and who uses it."""
    return (
        f"{broken.name}: {state.title(broken.removed_by)} removed it from {broken.removed_from}; "
        f"{state.title(broken.used_by)} uses it in {broken.path}:{broken.line}"
    )


def request_line(request: EditRequest, state: PlanState) -> str:
    """Who wants to change what, and whose it is."""
    owner = "no sub-plan has it" if request.owner is None else f"of {state.title(request.owner)}"
    more = f" and {plural(request.more, 'other file')}" if request.more else ""
    return f"{request.path}{more} ({owner}): wanted by {state.title(request.leaf)}"


def check_lines(checks: Sequence[MergeCheck], state: PlanState) -> Iterator[str]:
    """What the check said first, and what a bisection found."""
    if not checks:
        return
    first, *others = checks
    yield f"check: {'passed' if first.passed else 'failed'} ({duration(first.seconds)})"
    if others:
        without = titles_text(others[-1].without, state) or "nothing"
        how = "passes" if others[-1].passed else "also fails"
        yield f"bisect: {len(others)} more; it {how} without {without}"


def result_lines(found: RecordedPlan) -> Iterator[str]:
    result = found.state.result
    if result is None:
        return
    of = f"of {plural(len(result.leaves), 'sub-plan')}"
    if result.branch is not None:
        gone = ", removed by a rollback" if found.state.work_tree == "rolled back" else ""
        what = f"({result.commit[:12]}), with the changes {of}{gone}"
        yield f"result: the branch {result.branch} {what}"
    if found.patch is not None:
        lead = "  as a patch:" if result.branch is not None else f"result: the changes {of}:"
        yield f"{lead} {found.patch}"
    if found.state.work_tree:
        yield f"  in the work tree: {found.state.work_tree}"


def titles_text(leaves: Iterable[str], state: PlanState) -> str:
    return ", ".join(map(state.title, leaves))


def plural(number: int, one: str, many: str = "") -> str:
    """`1 leaf`, `1,200 leaves`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def one_line(text: str) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= MOST_LINE else f"{joined[: MOST_LINE - 1]}…"


def cost_text(leaf: LeafState) -> str:
    """Calls, tokens and dollars; empty if no model was asked."""
    calls = leaf.calls
    if not calls.attempts:
        return ""
    tokens = "?" if calls.tokens.total is None else f"{calls.tokens.total:,.0f}"
    cost = "?" if calls.usd.total is None else dollars(calls.usd.total)
    return f"{plural(calls.attempts, 'call')}, {tokens} tokens, {cost} dollars"


# -- all of a leaf --------------------------------------------------------------------------------


def _all_of(leaf: LeafState, found: RecordedPlan) -> Iterator[str]:
    reason = f": {one_line(leaf.reason)}" if leaf.reason else ""
    yield f"{MARKS[leaf.state]} {leaf.title}: {leaf.state}{reason}"
    yield f"    {leaf.id}"
    if leaf.node.goal:
        yield f"    goal: {one_line(leaf.node.goal)}"
    if leaf.files:
        yield f"    {_files_text(leaf.files)}"
    if leaf.node.after:
        yield f"    after {titles_text(leaf.node.after, found.state)}"
    if leaf.spans:
        yield f"    {_times(leaf)}"
    for number, each in enumerate(leaf.tries, 1):
        yield from _try_lines(number, each)
    for result in (leaf.result, leaf.again):
        if result is not None:
            yield f"    {result.status}, verification: {result.verified}"
            yield from _quoted(result.said)
    if leaf.kept:
        yield f"    its last edits are in {leaf.kept}"
    for request in leaf.requests:
        yield f"    request: {request_line(request, found.state)}"
        yield from _quoted(request.patch)


def _files_text(files: Sequence[str]) -> str:
    more = f", and {len(files) - MOST_FILES:,} more" if len(files) > MOST_FILES else ""
    return f"{plural(len(files), 'file')}: {', '.join(files[:MOST_FILES])}{more}"


def _times(leaf: LeafState) -> str:
    told = f"ran {duration(leaf.ran_s)}, waited {duration(leaf.queued_s)}"
    if leaf.starts > 1:
        told += f", started {leaf.starts} times"
    cost = cost_text(leaf)
    return f"{told}; {cost}" if cost else told


def _try_lines(number: int, tried: Try) -> Iterator[str]:
    took = f" ({duration(tried.seconds)})" if tried.seconds else ""
    yield f"    try {number}: {tried.stage} failed: {one_line(tried.reason)}{took}"
    yield from _quoted(tried.said)


def _quoted(text: str) -> Iterator[str]:
    return (f"      | {line}" for line in text.splitlines())
