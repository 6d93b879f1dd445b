"""What is known of a run: one object, from which everything that people and programs see is made.

It is read off a board: that of the run while it executes, or one that has replayed the journal
(`read_run.py`). So `run`, `show`, `export`, the report and a resume cannot disagree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.core.counts import Counts, many
from fanwise.errors import fields_of, refused_by_budget
from fanwise.journal.port import CallTotals
from fanwise.plan.model.leaf_result import Change, EditRequest, LeafResult, Try
from fanwise.plan.model.merge_result import (
    BrokenName,
    Conflict,
    MergeCheck,
    PublishedResult,
    WorkTree,
)
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.model.states import State
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.leaf_entry import LeafEntry

CUT_OFF = "it was being worked on when the run ended"


class WorkSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which an item was worked on, in seconds since 1970."""

    key: str
    start: float
    end: float | None = None
    """None: it goes on, or was killed."""


class LeafState(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one sub-plan."""

    node: Node
    state: State
    files: tuple[str, ...]
    reason: str = ""
    """Why it failed, was skipped, is in conflict or was left out; if it is unchanged although it
    tried, what went wrong."""
    result: LeafResult | None = None
    again: LeafResult | None = None
    """The result of its second run, on top of what was merged."""
    tries: tuple[Try, ...] = ()
    """Tries that failed, oldest first."""
    conflicts: tuple[Conflict, ...] = ()
    kept: str | None = None
    """The patch file with its edits, if they are in no result."""
    spans: tuple[WorkSpan, ...] = ()
    """This and what follows is known only from a journal."""
    queued_s: float = 0.0
    ran_s: float = 0.0
    starts: int = 0
    """More than 1: it may have run more than once."""
    calls: CallTotals = CallTotals()
    """Calls of models."""

    @property
    def id(self) -> str:
        return self.node.id

    @property
    def title(self) -> str:
        """What its files have in common."""
        return self.node.title

    @property
    def last(self) -> LeafResult | None:
        """The result of its last run."""
        return self.again or self.result

    @property
    def change(self) -> Change | None:
        """What it changed in the end."""
        return None if self.last is None else self.last.change

    @property
    def changed(self) -> tuple[str, ...]:
        """The files that it changed."""
        return () if self.change is None else tuple(sorted(self.change.files))

    @property
    def deleted(self) -> tuple[str, ...]:
        """The files that it deleted."""
        files = {} if self.change is None else self.change.files
        return tuple(sorted(path for path, blob in files.items() if blob is None))

    @property
    def requests(self) -> tuple[EditRequest, ...]:
        """Edits that it wanted to make in files that are not its own."""
        both = [each for each in (self.result, self.again) if each is not None]
        return tuple({r.path: r for each in both for r in each.requests}.values())


class PlanState(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Every sub-plan, and how what they changed was brought together."""

    tree: Tree
    """With the sub-plans that leaves returned."""
    leaves: tuple[LeafState, ...]
    """In the order of the tree; a leaf that returned sub-plans comes before them."""
    halted: str | None = None
    """The leaf whose failure ended the run (`fail_fast`)."""
    conflicts: tuple[Conflict, ...] = ()
    broken: tuple[BrokenName, ...] = ()
    checks: tuple[MergeCheck, ...] = ()
    """The first is that of all that was merged, the others those of a bisection."""
    innocent: bool = False
    """The check fails without any change, too."""
    merged: str | None = None
    """The commit with everything that was merged, checked or not."""
    result: PublishedResult | None = None
    may_have_run_twice: tuple[str, ...] = ()
    """Titles of what was running when an earlier execution was killed, and ran again."""
    complete: bool = True
    """It came to its end; nobody halted or killed it."""
    work_tree: WorkTree = ""
    outside: tuple[str, ...] = ()
    """What changed in the user's repository while sub-plans ran, other than by the result."""
    unaffordable: int = 0
    """How many sub-plans failed because the budget had no room for them."""

    @cached_property
    def by_id(self) -> Mapping[str, LeafState]:
        """The leaves by their ids."""
        return {each.id: each for each in self.leaves}

    @cached_property
    def by_state(self) -> Mapping[State, int]:
        return Counter(each.state for each in self.leaves)

    def count(self, *states: State) -> int:
        return sum(self.by_state.get(state, 0) for state in states)

    @property
    def passed(self) -> bool | None:
        """Whether the check passed on the result; None: there is no check."""
        if not self.checks:
            return None
        return self.result is not None or self.checks[-1].passed

    @property
    def failures(self) -> tuple[LeafState, ...]:
        """The leaves that are not done, or are not in the result."""
        fine = ("done", "unchanged", "split")
        return tuple(each for each in self.leaves if each.state not in fine)

    @property
    def ok(self) -> bool:
        """Whether all leaves are done, merged and checked, and nothing is in doubt."""
        done = not self.failures
        doubtful = bool(self.broken) and not self.checks
        published = self.result is not None or self.count("done") == 0
        return done and published and self.complete and self.halted is None and not doubtful

    @property
    def shortfall(self) -> str:
        """Why a plan that has ended is not all that was asked for, in a few words."""
        if self.ok or not self.complete:
            return ""
        if self.failures:
            return (
                f"{len(self.failures):,} of {many(len(self.leaves), 'sub-plan')} not in the result"
            )
        return "the check failed" if self.passed is False else "in doubt"

    @property
    def counts(self) -> Counts:
        """How many sub-plans are done, and why not all of them."""
        total = len(self.leaves)
        done = self.count("done", "unchanged", "split")
        waiting = self.count("queued", "running", "verifying", "merging")
        halted = go_on = ""
        if self.unaffordable:
            few = f"{self.unaffordable:,} of {many(total, 'sub-plan')}"
            halted = f"the budget is used up: {few} not done"
            go_on = "raise the budget in the file, and run it again with --rerun failed"
        elif self.halted is not None:
            title = " ".join(self.title(self.halted).split())
            rest = f"{many(waiting, 'sub-plan')} not done, " if waiting else ""
            halted = f"at {title} (fail_fast): {rest}nothing was merged"
        failed = total - done - waiting - self.unaffordable
        return Counts("sub-plan", done, failed, total, halted, go_on)

    def title(self, leaf: str) -> str:
        """The title of a leaf, by its id."""
        node = self.tree.by_id.get(leaf)
        return leaf if node is None else node.title


def plan_state(
    board: PlanBoard, kept: Mapping[str, str] = MappingProxyType({}), *, complete: bool
) -> PlanState:
    """Read it off a board. `kept`: the patch files of leaves, by their ids."""
    phase = board.merge_phase
    entries = _that_count(board)
    nodes = [node for node in board.tree.nodes if node.id in entries]
    return PlanState(
        tree=board.tree,
        leaves=tuple(_leaf(node, entries, board, kept.get(node.id)) for node in nodes),
        halted=board.halted,
        conflicts=() if phase is None else phase.conflicts,
        broken=() if phase is None else phase.broken,
        checks=() if phase is None else tuple(phase.checks),
        innocent=phase is not None and phase.innocent,
        merged=None if phase is None or phase.step is None else phase.step.commit,
        result=None if phase is None else phase.result,
        may_have_run_twice=tuple(board.twice),
        complete=complete,
        unaffordable=sum(map(refused_by_budget, board.errors.values())),
    )


def note_cut_off(state: PlanState, started: Container[str]) -> PlanState:
    """With the reason of sub-plans that an earlier execution began and this one did not reach."""
    leaves = tuple(
        replace(leaf, reason=CUT_OFF)
        if leaf.state == "queued" and not leaf.reason and f"leaf:{leaf.id}" in started
        else leaf
        for leaf in state.leaves
    )
    return replace(state, leaves=leaves)


def _that_count(board: PlanBoard) -> Mapping[str, LeafEntry]:
    """After a halt, what was done beyond it does not count: who was quicker decides nothing."""
    if board.merge_phase is not None or board.halted is None:
        return board.entries
    before = {leaf.id for leaf in board.sequence()}
    beyond = [leaf for leaf in board.tree.leaves if leaf.id not in before]
    skipped = (leaf for leaf in beyond if board.entries[leaf.id].skipped_by in before)
    kept = before | {leaf.id for leaf in skipped}
    return board.entries | {leaf.id: LeafEntry(leaf) for leaf in beyond if leaf.id not in kept}


def _leaf(
    node: Node, entries: Mapping[str, LeafEntry], board: PlanBoard, kept: str | None
) -> LeafState:
    entry = entries[node.id]
    errors = [board.errors.get(f"{kind}:{node.id}") for kind in ("leaf", "again")]
    fields = [fields_of(error) for error in errors if error is not None and entry.begun]
    results = [each for each in (entry.result, entry.again) if each is not None]
    return LeafState(
        node=node,
        state=entry.state,
        files=node.files or entry.node.files,
        reason=_reason(entry, entries, board.tree),
        result=entry.result,
        again=entry.again,
        tries=(
            *(each for result in results for each in result.tries),
            *(each for error in fields for each in tries_of(error)),
        ),
        conflicts=entry.conflicts,
        kept=next((str(each["kept"]) for each in fields if each.get("kept")), kept),
    )


def _reason(entry: LeafEntry, entries: Mapping[str, LeafEntry], tree: Tree) -> str:
    why = entry.why_not_in(entries)
    if why is not None:
        return why
    if entry.state == "conflict":
        paths = dict.fromkeys(path for each in entry.conflicts for path in each.paths)
        others = dict.fromkeys(other for each in entry.conflicts for other in each.others)
        return f"{', '.join(paths)}: with {', '.join(tree.by_id[o].title for o in others)}"
    if entry.state == "split":
        return f"it returned {len(tree.by_id[entry.node.id].children)} sub-plans"
    return "" if entry.result is None else entry.result.in_vain


def tries_of(fields: Mapping[str, Any]) -> tuple[Try, ...]:
    """The failed tries in the fields of an error."""
    try:
        return msgspec.convert(msgspec.to_builtins(fields.get("tries") or ()), tuple[Try, ...])
    except (msgspec.ValidationError, TypeError):  # cut by the journal, or an error of another kind
        return ()
