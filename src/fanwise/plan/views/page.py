"""The report of a plan. Sections that would be empty are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from fanwise.plan.model.node import FileNote
from fanwise.plan.model.states import MARKS, ORDER, WRONG, State
from fanwise.plan.state.plan_state import LeafState
from fanwise.plan.state.read_run import RecordedPlan
from fanwise.plan.views.leaf_diffs import LeafDiffs
from fanwise.plan.views.rows import recorded_document
from fanwise.plan.views.split_text import figures
from fanwise.plan.views.text import (
    conflict_outcome,
    cost_text,
    one_line,
    plural,
    requests,
    summary_lines,
)
from fanwise.plan.views.timeline import timeline
from fanwise.plan.views.tree import count_leaves, leaf_about, unfolded
from fanwise.specs.system import Report
from fanwise.view.calls import dollars
from fanwise.view.formats import duration_text
from fanwise.view.html import Section, Templates, Tile, changed_outside

MOST_FILES = 200
MOST_NOTES = 500
CHIPS: Mapping[State, str] = {
    "done": "good", "unchanged": "", "split": "", "queued": "", "running": "active",
    "verifying": "active", "merging": "active", "failed": "bad", "given up": "bad",
    "skipped": "warn", "conflict": "warn", "left out": "warn",
}  # fmt: skip
SETTINGS = ("files", "verify", "check", "max_parallel", "retry", "shared", "fail_fast")


def report(found: RecordedPlan) -> Report:
    """As the journal has it now; the run may still be going on."""
    templates = Templates(
        "fanwise.plan.views", found=found, plan=found.state, plural=plural, one_line=one_line,
        MARKS=MARKS, ORDER=ORDER, CHIPS=CHIPS, leaf_about=leaf_about, diffs=LeafDiffs(found),
    )  # fmt: skip
    page = templates.report(
        found.run, _tiles(found), _sections(templates, found), lead=found.goal,
        shortfall=found.state.shortfall,
    )  # fmt: skip
    return Report(page.html(), summary_lines(found), recorded_document(found), page)


def _tiles(found: RecordedPlan) -> Iterator[Tile]:
    state = found.state
    counts = Counter(state.by_id[leaf.id].state for leaf in state.tree.leaves)
    yield Tile("sub-plans", f"{counts.total():,}", f"{found.split.scorecard.files:,} files")
    others = [f"{counts[s]:,} {s}" for s in ORDER if counts[s] and s != "done"]
    yield Tile("done", f"{counts['done'] + counts['unchanged']:,}", ", ".join(others))
    wrong = sum(counts[each] for each in WRONG)
    if wrong:
        about = "failed, skipped, given up, left out"
        yield Tile("not in the result", f"{wrong:,}", about, bad=True)
    if state.conflicts:
        yield Tile("conflicts", f"{len(state.conflicts):,}")
    wanted = requests(found.state)
    if wanted:
        yield Tile("requests", f"{len(wanted):,}", "edits in files of others")
    if state.broken:
        yield Tile("broken names", f"{len(state.broken):,}", bad=True)
    if state.checks:
        last, count = state.checks[-1], len(state.checks)
        about = plural(count, "check") if count > 1 else duration_text(last.seconds)
        yield Tile("check", "passed" if last.passed else "failed", about, bad=not last.passed)
    yield from _cost_tiles(found)


def _cost_tiles(found: RecordedPlan) -> Iterator[Tile]:
    worked = sum(leaf.ran_s for leaf in found.state.leaves)
    if worked:
        yield Tile("work of all", duration_text(worked), "one after another")
    calls = found.calls
    if calls.attempts:
        usd, tokens = calls.usd.total, calls.tokens.total
        about = plural(calls.attempts, "call")
        about += "" if tokens is None else f", {tokens:,.0f} tokens"
        yield Tile("dollars", "unknown" if usd is None else dollars(usd), about)


def _sections(templates: Templates, found: RecordedPlan) -> Iterator[Section]:
    section, state = templates.section, found.state
    if state.result is not None:
        yield section("result", "Result", result=state.result)
    below = count_leaves(state.tree, lambda leaf: state.by_id[leaf].state)
    yield section("tree", "Tree", below=below, unfolded=unfolded(state.tree, below))
    drawn = timeline(found)
    if drawn is not None:
        yield section("timeline", "Timeline", timeline=drawn)
    if state.conflicts:
        conflicts = [(each, conflict_outcome(each.leaf, state)) for each in state.conflicts]
        yield section("conflicts", "Conflicts", conflicts=conflicts)
    if state.broken:
        yield section("broken", "Broken names")
    if state.checks or found.failures:
        yield section("check", "Check")
    wanted = requests(found.state)
    if wanted:
        yield section("requests", "Requests", requests=wanted)
    if state.outside:
        yield changed_outside(templates, state.outside)
    if found.calls.attempts:
        yield section("cost", "Cost", leaves=_by_cost(found))
    tiles = [Tile(*each) for each in figures(found.split.scorecard)]
    yield section("split", "Split", mode=found.split.mode, tiles=tiles, notes=list(_notes(found)))
    leaves = [(leaf, _origin(leaf), _files(leaf)) for leaf in found.state.leaves]
    yield section("sub-plans", "Sub-plans", leaves=leaves)
    settings = [(name, _value_text(found.plan[name])) for name in SETTINGS if name in found.plan]
    yield section("run", "Run", settings=settings)


def _by_cost(found: RecordedPlan) -> list[LeafState]:
    asked = [each for each in found.state.leaves if each.calls.attempts]
    return sorted(asked, key=lambda each: (-each.calls.usd.known, -each.calls.tokens.known))


def _notes(found: RecordedPlan) -> Iterator[tuple[str, str]]:
    """What is to be said of files: how many and of which kind, and a line for each."""
    split = found.split
    beyond = [
        FileNote(each.title, each.irreducible) for each in split.tree.leaves if each.irreducible
    ]
    for title, lines in (
        ("hubs: files that very many others import",
         [f"{each.importers:>5}  {each.path}" for each in split.hubs]),
        ("sub-plans beyond the limits", _note_lines(beyond)),
        ("files that are not UTF-8", _note_lines(split.unparsed)),
        ("files that were left out", _note_lines(split.left_out)),
    ):  # fmt: skip
        if lines:
            more = [f"… and {len(lines) - MOST_NOTES:,} more"] if len(lines) > MOST_NOTES else []
            yield f"{len(lines):,} {title}", "\n".join([*lines[:MOST_NOTES], *more])


def _note_lines(said: Iterable[FileNote]) -> list[str]:
    return [f"{each.path}: {each.why}" for each in said]


# -- a leaf ---------------------------------------------------------------------------------------


def _origin(leaf: LeafState) -> str:
    about = [leaf.node.id, f"{leaf.node.tokens:,} tokens"]
    if leaf.spans:
        about.append(f"ran {duration_text(leaf.ran_s)}, waited {duration_text(leaf.queued_s)}")
    if leaf.starts > 1:
        about.append(f"started {leaf.starts} times without an end: it may have run twice")
    return "; ".join(filter(None, [*about, cost_text(leaf)]))


def _files(leaf: LeafState) -> str:
    changed = set(leaf.changed)
    own = [f"{'*' if path in changed else ' '} {path}" for path in leaf.files[:MOST_FILES]]
    more = len(leaf.files) - MOST_FILES
    rest = [f"… and {more:,} more"] if more > 0 else []
    return "\n".join([*own, *rest, *(f"+ {p}" for p in sorted(changed - set(leaf.files)))])


def _value_text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
