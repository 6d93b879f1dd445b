"""What people are told of a run that has ended, and its exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fanwise.plan.merge.publish import Delivery, Undone
from fanwise.plan.model.states import State
from fanwise.plan.spec.resolved_plan import ResolvedPlan
from fanwise.plan.state.summary import LeafSummary, Summary
from fanwise.plan.views.estimate import number
from fanwise.plan.views.next_commands import Commands
from fanwise.view.run_summary import status_text

MOST = 10
"""Of a kind of thing that are named; `fanwise show` has them all."""
COUNTED: tuple[tuple[State, str], ...] = (
    ("done", "changed"),
    ("unchanged", "unchanged"),
    ("split", "split"),
    ("failed", "given up"),
    ("given up", "given up after a conflict"),
    ("conflict", "in conflict"),
    ("left out", "left out"),
    ("skipped", "skipped"),
    ("queued", "not done"),
)


def counted(found: Summary) -> str:
    """`12 changed, 3 unchanged`."""
    counts = ((found.count(state), word) for state, word in COUNTED)
    return ", ".join(f"{count:,} {word}" for count, word in counts if count)


def output_lines(
    resolved: ResolvedPlan, found: Summary, delivery: Delivery, commands: Commands
) -> list[str]:
    """What the person asked for."""
    lines = [f"{number(len(found.leaves), 'sub-plan')}: {counted(found)}"]
    result = found.result
    if result is None:
        return lines
    files = {path for each in found.leaves if each.id in result.leaves for path in each.changed}
    parts = (number(len(result.leaves), "sub-plan"), number(len(files), "file"))
    what = f"{', '.join(parts)}, commit {result.commit[:12]}"
    if result.branch is not None:
        lines.append(f"the result: branch {result.branch} ({what})")
        lines.append(f"  see it: git diff {resolved.base.commit[:12]}...{result.branch}")
    if delivery.patch is not None:
        lines.append(f"the result: {delivery.patch} ({what})" if result.branch is None
                     else f"  as a patch: {delivery.patch}")  # fmt: skip
    if delivery.is_there:
        files_now = f"applied to {number(len(delivery.applied), 'file')} of the work tree"
        lines.append(files_now if delivery.applied else "the work tree has all of it already")
        lines += commands.line("undo it", "resume", "--rollback")
    elif not delivery.problem:
        # Without it the check would have failed, and there would be nothing to apply.
        bisected = ("--bisect",) if found.count("left out") else ()
        lines += commands.line("write it to the work tree", "resume", *bisected, "--apply")
    return lines


def note_lines(found: Summary, delivery: Delivery, commands: Commands) -> list[str]:
    """What the person should know."""
    parts = (
        _halted(found),
        _leaves(found, "failed", "given up"),
        _leaves(found, "skipped", "skipped"),
        _in_vain(found),
        _conflicts(found),
        _again(found, commands),
        _leaves(found, "left out", "left out, for the check fails with them"),
        _moved(found),
        _broken(found),
        _requests(found, commands),
        _deleted(found),
        _checked(found, commands),
        _nothing(found),
        _twice(found),
        [f"the result was not applied: {delivery.problem}"] if delivery.problem else [],
    )
    return [_one_line(line) for part in parts for line in part]


def _one_line(line: str) -> str:
    """Titles and paths are others' words, and may have line breaks in them."""
    return " ".join(line.splitlines())


def _halted(found: Summary) -> Iterator[str]:
    if found.counts.halted:
        yield status_text("halted", found.counts.halted)


def _leaves(found: Summary, state: State, word: str) -> Iterator[str]:
    yield from _few(
        word, [f"{each.title}: {_why(each)}" for each in found.leaves if each.state == state]
    )


def _in_vain(found: Summary) -> Iterator[str]:
    """They count as done, and not like those that had nothing to do."""
    tried = [each for each in found.leaves if each.state == "unchanged" and each.reason]
    yield from _few("unchanged, not for want of trying", [f"{e.title}: {e.reason}" for e in tried])


def _why(leaf: LeafSummary) -> str:
    times = f" after {len(leaf.tries)} tries" if leaf.state == "failed" and leaf.tries[1:] else ""
    return f"{leaf.reason}{times}{_edits(leaf)}"


def _edits(leaf: LeafSummary) -> str:
    return f" (its edits: {leaf.kept})" if leaf.kept else ""


def _few(word: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{len(lines)} {word}:"
        yield from (f"  {line}" for line in lines[:MOST])
    if len(lines) > MOST:
        yield f"  and {len(lines) - MOST} more"


def _conflicts(found: Summary) -> Iterator[str]:
    states = {each.id: each for each in found.leaves}
    lines = []
    for each in found.conflicts:
        others = ", ".join(map(found.title, each.others))
        leaf = states[each.leaf]
        end = {"done": "settled by a second run", "conflict": "not settled"}.get(leaf.state)
        end = end or f"{leaf.state}: {leaf.reason}"
        end += _edits(leaf)
        paths = ", ".join(each.paths)
        lines.append(f"{paths} ({each.kind}): {leaf.title} with {others}; {end}")
    yield from _few("conflicts" if lines[1:] else "conflict", lines)
    if found.result is None and found.count("conflict"):
        yield "  nothing was merged"
    lines = [
        f"{each.path}: {found.title(each.leaf)} replaced what {others} changed there"
        for each in found.taken
        for others in [", ".join(map(found.title, each.others))]
    ]
    yield from _few("files in conflict, decided by ours_last", lines)


def _again(found: Summary, commands: Commands) -> Iterator[str]:
    """Where to look, and how to try once more what was given up."""
    if found.count("failed", "given up"):
        yield from commands.line("what they said", "show", "--items")
        if found.halted is None:
            yield from commands.line("to try them again", "resume", "--retry-failed")


def _moved(found: Summary) -> Iterator[str]:
    lines = [
        f"{each.path} is {each.to} now: {found.title(each.leaf)} with "
        f"{', '.join(map(found.title, each.others))}"
        for each in found.moved
    ]
    yield from _few("files were renamed by one sub-plan and changed by another", lines)


def _broken(found: Summary) -> Iterator[str]:
    lines = []
    for each in found.broken:
        now = f" (now {each.renamed_to})" if each.renamed_to else ""
        lines.append(
            f"{each.name}{now}: {found.title(each.used_by)} uses it in {each.path}:{each.line}, "
            f"{found.title(each.removed_by)} removed it from {each.removed_from}"
        )
    word = "names that one sub-plan removed and another uses"
    if found.broken and found.passed:
        word += "; the check passed all the same"
    yield from _few(word, lines)


def _requests(found: Summary, commands: Commands) -> Iterator[str]:
    lines = []
    for leaf in found.leaves:
        for each in leaf.requests:
            owner = "no sub-plan has it" if each.owner is None else f"of {found.title(each.owner)}"
            more = f" and {each.more} more" if each.more else ""
            lines.append(f"{leaf.title} wants to change {each.path}{more} ({owner})")
    if lines:
        edits = "edits" if lines[1:] else "edit"
        was = "were" if lines[1:] else "was"
        yield from _few(f"{edits} outside of a sub-plan's own files {was} kept aside", lines)
        yield from commands.line("with their patches", "show", "--items")


def _deleted(found: Summary) -> Iterator[str]:
    """Nobody forbids it, and hardly anybody means it."""
    lines = [
        f"{each.title}: {number(len(each.files), 'file')}"
        for each in found.leaves
        if each.state == "done" and each.files and set(each.files) <= set(each.deleted)
    ]
    whose = "their" if lines[1:] else "its"
    yield from _few(f"deleted all of {whose} files", lines)


def _checked(found: Summary, commands: Commands) -> Iterator[str]:
    if not found.checks or (found.result is not None and not found.count("left out")):
        return
    if found.result is None:
        yield "the check fails without any change, too" if found.innocent else "the check failed"
        yield from (f"  {line}" for line in found.checks[0].said.splitlines()[-MOST:])
        yield f"  look at what was merged: git switch --detach {found.merged}"
        if len(found.checks) == 1:
            what = "to find the sub-plans that it fails with"
            yield from commands.line(what, "resume", "--bisect")


def _nothing(found: Summary) -> Iterator[str]:
    if found.complete and found.halted is None and found.merged is None and found.leaves:
        yield "nothing was changed, so there is no branch"


def _twice(found: Summary) -> Iterator[str]:
    titles = found.may_have_run_twice
    it = "they" if titles[1:] else "it"
    word = f"had been started before and not finished; {it} may have run twice"
    yield from _few(word, titles)


def rollback_lines(undone: Undone) -> list[str]:
    """What a rollback put back or removed."""
    files = number(len(undone.files), "file")
    lines = [f"put back in the work tree: {files}"] if undone.files else []
    return lines + ([f"the branch {undone.branch} was removed"] if undone.branch else [])
