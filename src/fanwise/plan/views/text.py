"""A run in words, for a terminal: how many leaves are where, what is wrong, what is left behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fanwise.plan.model.change import EditRequest
from fanwise.plan.model.leaf_result import Try
from fanwise.plan.model.merge_result import (
    BrokenName,
    CheckResult,
    Conflict,
    MovedFile,
    OverwrittenFile,
)
from fanwise.plan.model.states import MARKS, WRONG, State, counts_text
from fanwise.plan.state.recorded import Leaf, Recorded
from fanwise.plan.views.tree_text import tree_lines
from fanwise.view.calls import dollars
from fanwise.view.run_summary import duration

MOST_NAMED = 10
MOST_LINE = 160
MOST_FILES = 5
FOR_ALL = "all of them: fanwise show RUN --items"


def told_lines(found: Recorded, *, fully: bool) -> list[str]:
    """A run for `fanwise show`: a few lines, or all that there is."""
    lines = summary_lines(found, most=None if fully else MOST_NAMED)
    if not fully:
        return lines
    states = {name: each.state for name, each in found.leaves.items()}
    tree = tree_lines(found.tree, states=states)
    return [
        *lines,
        *tree,
        *(line for leaf in found.leaves.values() for line in _all_of(leaf, found)),
    ]


def summary_lines(found: Recorded, most: int | None = MOST_NAMED) -> list[str]:
    """What it comes to; of long lists `most` at most."""
    return [
        counted(found),
        *_few((_why_line(each) for each in found.leaves.values() if _is_told(each)), most),
        *_titled(
            "conflicts", [conflict_line(each, found) for each in found.joined.conflicts], most
        ),
        *_titled("decided", [taken_line(each, found) for each in found.joined.taken], most),
        *_titled("moved", [moved_line(each, found) for each in found.joined.moved], most),
        *_titled("broken names", [broken_line(each, found) for each in found.joined.broken], most),
        *_titled("requests", [request_line(each, found) for each in requests(found)], most),
        *(f"{step.kind} failed: {one_line(step.error)}" for step in found.joined.failures),
        *check_lines(found.joined.checks, found),
        *result_lines(found),
    ]


def counted(found: Recorded) -> str:
    """`130 sub-plans: 2 running, 1 failed, 57 done, 70 queued`."""
    counts: Counter[State] = Counter(each.state for each in found.leaves.values())
    returned = counts.pop("split", 0)
    told = f"{plural(counts.total(), 'sub-plan')}: {counts_text(counts)}"
    return f"{told}; {returned:,} returned sub-plans" if returned else told


def requests(found: Recorded) -> list[EditRequest]:
    """Of all leaves, in order."""
    return [each for leaf in found.leaves.values() for each in leaf.requests]


def conflict_line(conflict: Conflict, found: Recorded) -> str:
    """Where, between whom, and what became of it."""
    others = ", ".join(map(found.title, conflict.others))
    paths = ", ".join(conflict.paths)
    who = found.title(conflict.leaf)
    return f"{paths} ({conflict.kind}): {who} with {others}: {settled(conflict.leaf, found)}"


def settled(leaf: str, found: Recorded) -> str:
    """What became of a leaf that was in conflict."""
    told = found.leaves.get(leaf)
    if told is None or told.state == "conflict":
        return "not settled"
    if told.state == "merging":
        return "it is being run again"
    if told.state == "done":
        return "settled: it was run again on what was merged" if told.again else "settled"
    return f"{told.state}: {one_line(told.why)}"


def taken_line(taken: OverwrittenFile, found: Recorded) -> str:
    """Whose version replaced whose changes."""
    lost = ", ".join(map(found.title, taken.others))
    return f"{taken.path}: {found.title(taken.leaf)} replaced what {lost} changed there"


def moved_line(moved: MovedFile, found: Recorded) -> str:
    """A file that one renamed and others changed."""
    others = ", ".join(map(found.title, moved.others))
    return f"{moved.path} is {moved.to} now: {found.title(moved.leaf)} with {others}"


def broken_line(broken: BrokenName, found: Recorded) -> str:
    """Which name is gone, and who uses it."""
    now = f", now {broken.renamed_to}" if broken.renamed_to else ""
    return (
        f"{broken.name}: {found.title(broken.removed_by)} took it out of {broken.removed_from}"
        f"{now}; {found.title(broken.used_by)} uses it in {broken.path}, line {broken.line}"
    )


def request_line(request: EditRequest, found: Recorded) -> str:
    """Who wants what of whom."""
    owner = "nobody's" if request.owner is None else f"of {found.title(request.owner)}"
    more = f" and {plural(request.more, 'other file')}" if request.more else ""
    return f"{request.path}{more} ({owner}): wanted by {found.title(request.leaf)}"


def check_lines(checks: Sequence[CheckResult], found: Recorded) -> Iterator[str]:
    """What the check said first, and what a bisection found."""
    if not checks:
        return
    first, *others = checks
    verdict = "passed" if first.passed else "failed"
    yield f"check: {verdict} ({duration(first.seconds)})"
    if others:
        last = others[-1]
        without = ", ".join(map(found.title, last.without)) or "nothing"
        how = "passes" if last.passed else "fails also"
        yield f"bisect: {len(others)} more; it {how} without {without}"


def result_lines(found: Recorded) -> Iterator[str]:
    """What is left behind."""
    result = found.joined.result
    if result is None:
        return
    of = f"of {plural(len(result.leaves), 'sub-plan')}"
    if result.branch is not None:
        yield f"result: the branch {result.branch} ({result.commit[:12]}), with the changes {of}"
    if found.patch is not None:
        lead = "  as a patch:" if result.branch is not None else f"result: the changes {of}:"
        yield f"{lead} {found.patch}"


def plural(number: int, one: str, many: str = "") -> str:
    """`1 leaf`, `1,200 leaves`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def one_line(text: str) -> str:
    """Short enough for a line."""
    joined = " ".join(text.split())
    return joined if len(joined) <= MOST_LINE else f"{joined[: MOST_LINE - 1]}…"


def cost_text(leaf: Leaf) -> str:
    """Tokens and dollars; empty where no model was asked. What is unknown is said."""
    calls = leaf.calls
    if not calls.attempts:
        return ""
    tokens = "?" if calls.tokens.total is None else f"{calls.tokens.total:,.0f}"
    cost = "?" if calls.usd.total is None else dollars(calls.usd.total)
    return f"{plural(calls.attempts, 'call')}, {tokens} tokens, {cost} dollars"


def _is_told(leaf: Leaf) -> bool:
    return leaf.state in WRONG or (leaf.state in ("queued", "unchanged") and bool(leaf.why))


def _why_line(leaf: Leaf) -> str:
    return f"{MARKS[leaf.state]} {leaf.node.title}: {leaf.state}: {one_line(leaf.why)}"


def _titled(title: str, lines: Sequence[str], most: int | None) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in _few(lines, most))] if lines else []


def _few(lines: Iterable[str], most: int | None) -> list[str]:
    every = list(lines)
    if most is None or len(every) <= most:
        return every
    return [*every[:most], f"… and {len(every) - most:,} more ({FOR_ALL})"]


# -- all of a leaf --------------------------------------------------------------------------------


def _all_of(leaf: Leaf, found: Recorded) -> Iterator[str]:
    why = f": {one_line(leaf.why)}" if leaf.why else ""
    yield f"{MARKS[leaf.state]} {leaf.node.title}: {leaf.state}{why}"
    yield f"    {leaf.node.id}"
    if leaf.node.goal:
        yield f"    goal: {one_line(leaf.node.goal)}"
    if leaf.node.files:
        yield f"    {_files_text(leaf.node.files)}"
    if leaf.node.after:
        yield f"    after {', '.join(map(found.title, leaf.node.after))}"
    if leaf.spans:
        yield f"    {_times(leaf)}"
    for number, each in enumerate(leaf.tries, 1):
        yield from _try_lines(number, each)
    for ended in (leaf.ended, leaf.again):
        if ended is not None:
            yield f"    {ended.status}, verification: {ended.verified}"
            yield from _quoted(ended.said)
    if leaf.kept:
        yield f"    its last edits are in {leaf.kept}"
    for request in leaf.requests:
        yield f"    request: {request_line(request, found)}"
        yield from _quoted(request.patch)


def _files_text(files: Sequence[str]) -> str:
    more = f", and {len(files) - MOST_FILES:,} more" if len(files) > MOST_FILES else ""
    return f"{plural(len(files), 'file')}: {', '.join(files[:MOST_FILES])}{more}"


def _times(leaf: Leaf) -> str:
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
