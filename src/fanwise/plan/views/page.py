"""The report of a plan: sections that have nothing to show are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from fanwise.plan.model.node import FileNote
from fanwise.plan.model.states import MARKS, ORDER, WRONG, State
from fanwise.plan.state.recorded import Leaf, Recorded
from fanwise.plan.views.rows import document_of
from fanwise.plan.views.split_page import scorecard_tiles
from fanwise.plan.views.split_pictures import graph_picture, tree_picture
from fanwise.plan.views.text import (
    cost_text,
    moved_line,
    one_line,
    plural,
    requests,
    settled,
    summary_lines,
)
from fanwise.plan.views.timeline import timeline
from fanwise.plan.views.tree import count_leaves, leaf_about, tree_rows
from fanwise.specs.system import Report
from fanwise.view.calls import dollars
from fanwise.view.formats import duration_text
from fanwise.view.html import Section, Templates, Tile

MOST_FILES = 200
MOST_NOTES = 500
CHIPS: Mapping[State, str] = {
    "done": "good", "unchanged": "", "split": "", "queued": "", "running": "active",
    "verifying": "active", "merging": "active", "failed": "bad", "given up": "bad",
    "skipped": "warn", "conflict": "warn", "left out": "warn",
}  # fmt: skip
COLOURS: Mapping[State, str] = {
    "done": "c2", "unchanged": "c5", "failed": "c4", "given up": "c4", "skipped": "c6",
    "conflict": "c1", "left out": "c1", "running": "c0", "verifying": "c0", "merging": "c3",
    "queued": "c-none",
}  # fmt: skip
SETTINGS = ("files", "verify", "check", "merge", "max_parallel", "retry", "shared", "fail_fast")


def report(found: Recorded) -> Report:
    """As the journal has it now; the run may still be going on."""
    templates = Templates(
        "fanwise.plan.views", found=found, joined=found.joined, plural=plural, one_line=one_line,
        MARKS=MARKS, ORDER=ORDER, CHIPS=CHIPS,
    )  # fmt: skip
    html = templates.report(found.run, _tiles(found), _sections(templates, found), lead=found.goal)
    return Report(html, summary_lines(found), document_of(found))


def _tiles(found: Recorded) -> Iterator[Tile]:
    counts, joined = count_leaves(found)[found.tree.root.id], found.joined
    yield Tile("sub-plans", f"{counts.total():,}", f"{found.split.scorecard.files:,} files")
    others = [f"{counts[s]:,} {s}" for s in ORDER if counts[s] and s != "done"]
    yield Tile("done", f"{counts['done'] + counts['unchanged']:,}", ", ".join(others))
    wrong = sum(counts[state] for state in WRONG)
    if wrong:
        about = "failed, skipped, given up, left out"
        yield Tile("not in the result", f"{wrong:,}", about, bad=True)
    if joined.conflicts or joined.taken:
        yield Tile("conflicts", f"{len(joined.conflicts) + len(joined.taken):,}")
    wanted = requests(found)
    if wanted:
        yield Tile("requests", f"{len(wanted):,}", "edits in files of others")
    if joined.broken:
        yield Tile("broken names", f"{len(joined.broken):,}", bad=True)
    if joined.checks:
        last, count = joined.checks[-1], len(joined.checks)
        about = plural(count, "check") if count > 1 else duration_text(last.seconds)
        yield Tile("check", "passed" if last.passed else "failed", about, bad=not last.passed)
    yield from _cost_tiles(found)


def _cost_tiles(found: Recorded) -> Iterator[Tile]:
    worked = sum(leaf.ran_s for leaf in found.leaves.values())
    if worked:
        yield Tile("work of all", duration_text(worked), "one after another")
    calls = found.calls
    if calls.attempts:
        usd, tokens = calls.usd.total, calls.tokens.total
        about = plural(calls.attempts, "call")
        about += "" if tokens is None else f", {tokens:,.0f} tokens"
        yield Tile("dollars", "unknown" if usd is None else dollars(usd), about)


def _sections(templates: Templates, found: Recorded) -> Iterator[Section]:
    section, joined = templates.section, found.joined
    if joined.result is not None:
        yield section("result", "Result", result=joined.result)
    yield section("tree", "Tree", root=tree_rows(found))
    drawn = timeline(found)
    if drawn is not None:
        yield section("timeline", "Timeline", timeline=drawn)
    if joined.conflicts or joined.taken or joined.moved:
        moved = [moved_line(each, found) for each in joined.moved]
        outcomes = [settled(each.leaf, found) for each in joined.conflicts]
        conflicts = list(zip(joined.conflicts, outcomes, strict=True))
        yield section("conflicts", "Conflicts", conflicts=conflicts, moved=moved)
    if joined.broken:
        yield section("broken", "Broken names")
    if joined.checks or joined.failures:
        yield section("check", "Check")
    wanted = requests(found)
    if wanted:
        yield section("requests", "Requests", requests=wanted)
    if found.calls.attempts:
        yield section("cost", "Cost", leaves=_costly(found))
    # The tree as it is now, with what leaves returned.
    split = replace(found.split, tree=found.tree)
    classes = {leaf: COLOURS.get(each.state, "c0") for leaf, each in found.leaves.items()}
    yield section(
        "split", "Split", mode=split.mode, tiles=scorecard_tiles(split.scorecard),
        picture=tree_picture(split, classes), notes=list(_notes(found)),
    )  # fmt: skip
    if split.imports:
        yield section("graph", "Imports between them", picture=graph_picture(split))
    leaves = [
        (leaf, leaf_about(leaf), _origin(leaf), _files(leaf)) for leaf in found.leaves.values()
    ]
    yield section("sub-plans", "Sub-plans", leaves=leaves)
    settings = [(name, _shown(found.plan[name])) for name in SETTINGS if name in found.plan]
    yield section("run", "Run", settings=settings)


def _costly(found: Recorded) -> list[Leaf]:
    """Leaves that asked a model, the most expensive first."""
    asked = [each for each in found.leaves.values() if each.calls.attempts]
    return sorted(asked, key=lambda each: (-each.calls.usd.known, -each.calls.tokens.known))


def _notes(found: Recorded) -> Iterator[tuple[str, str]]:
    """What is to be said of files: how many and of which kind, and a line for each."""
    split = found.split
    beyond = [
        FileNote(each.title, each.irreducible) for each in split.tree.leaves if each.irreducible
    ]
    for title, lines in (
        ("hubs: files that very many others import",
         [f"{each.importers:>5}  {each.path}" for each in split.hubs]),
        ("sub-plans beyond the limits", _said(beyond)),
        ("files whose imports could not be read", _said(split.unparsed)),
        ("files that were left out", _said(split.left_out)),
    ):  # fmt: skip
        if lines:
            more = [f"… and {len(lines) - MOST_NOTES:,} more"] if len(lines) > MOST_NOTES else []
            yield f"{len(lines):,} {title}", "\n".join([*lines[:MOST_NOTES], *more])


def _said(said: Iterable[FileNote]) -> list[str]:
    return [f"{each.path}: {each.why}" for each in said]


# -- a leaf ---------------------------------------------------------------------------------------


def _origin(leaf: Leaf) -> str:
    about = [leaf.node.id, f"{leaf.node.tokens:,} tokens"]
    if leaf.spans:
        about.append(f"ran {duration_text(leaf.ran_s)}, waited {duration_text(leaf.queued_s)}")
    if leaf.starts > 1:
        about.append(f"started {leaf.starts} times without an end: it may have run twice")
    return "; ".join(filter(None, [*about, cost_text(leaf)]))


def _files(leaf: Leaf) -> str:
    changed = set() if leaf.change is None else set(leaf.change.files)
    own = [f"{'*' if path in changed else ' '} {path}" for path in leaf.node.files[:MOST_FILES]]
    more = len(leaf.node.files) - MOST_FILES
    rest = [f"… and {more:,} more"] if more > 0 else []
    return "\n".join([*own, *rest, *(f"+ {p}" for p in sorted(changed - set(leaf.node.files)))])


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
