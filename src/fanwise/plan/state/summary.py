"""A run of a plan that has ended, as data: every leaf with its state, and what was merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from fanwise.core.counts import Counts, many
from fanwise.errors import fields_of, refused_by_budget
from fanwise.plan.model.change import EditRequest
from fanwise.plan.model.leaf_result import Try
from fanwise.plan.model.merge_result import (
    BrokenName,
    CheckResult,
    Conflict,
    MovedFile,
    OverwrittenFile,
    PublishedResult,
)
from fanwise.plan.model.node import Node
from fanwise.plan.model.states import State
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.leaf_entry import LeafEntry


class LeafSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one sub-plan."""

    id: str
    title: str
    state: State
    files: tuple[str, ...]
    reason: str = ""
    """Why it was given up, skipped or left out; of one that is unchanged, that it tried."""
    changed: tuple[str, ...] = ()
    """The files that it changed."""
    deleted: tuple[str, ...] = ()
    """Those of them that are no more."""
    tries: tuple[Try, ...] = ()
    """Those that did not do."""
    requests: tuple[EditRequest, ...] = ()
    verified: str = ""
    said: str = ""
    kept: str | None = None
    """Where the edits of one are that was given up, set aside or left out."""
    seconds: float = 0.0


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    leaves: tuple[LeafSummary, ...]
    """In the order of the tree; those that were split are before their parts."""
    halted: str | None = None
    conflicts: tuple[Conflict, ...] = ()
    taken: tuple[OverwrittenFile, ...] = ()
    moved: tuple[MovedFile, ...] = ()
    broken: tuple[BrokenName, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    innocent: bool = False
    """The check fails without any change, too."""
    merged: str | None = None
    """The commit with all that goes together, whether it was checked or not."""
    result: PublishedResult | None = None
    may_have_run_twice: tuple[str, ...] = ()
    """Titles of what ran when an earlier execution was killed, and was done anew."""
    complete: bool = True
    """It came to its end; nobody halted it from outside."""
    unaffordable: int = 0
    """Of the sub-plans that were given up, those for which the budget had no room."""

    def count(self, *states: State) -> int:
        """How many leaves are in one of these states."""
        return sum(each.state in states for each in self.leaves)

    @property
    def passed(self) -> bool | None:
        """Whether the check passed on what is the result; None: it was not asked."""
        if not self.checks:
            return None
        return self.result is not None or self.checks[-1].passed

    @property
    def ok(self) -> bool:
        """Whether all leaves are done, merged and checked, and nothing is in doubt."""
        done = self.count("done", "unchanged", "split") == len(self.leaves)
        doubtful = bool(self.broken) and not self.checks
        left = self.result is not None or self.count("done") == 0
        return done and left and self.complete and self.halted is None and not doubtful

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
        """What a leaf is called."""
        return next((each.title for each in self.leaves if each.id == leaf), leaf)


def summary_of(
    board: PlanBoard, kept: Mapping[str, str] = MappingProxyType({}), *, complete: bool
) -> Summary:
    """What a board has come to."""
    merge_phase = board.merge_phase
    entries = _that_count(board)
    nodes = [node for node in board.tree.nodes if node.id in entries]
    leaves = tuple(_leaf(node, entries, board.errors, kept.get(node.id)) for node in nodes)
    unaffordable = sum(map(refused_by_budget, board.errors.values()))
    if merge_phase is None:
        return Summary(
            leaves=leaves,
            halted=board.halted,
            may_have_run_twice=tuple(board.twice),
            complete=complete,
            unaffordable=unaffordable,
        )
    first = merge_phase.steps[0].merged if merge_phase.steps else None
    return Summary(
        leaves=leaves,
        halted=board.halted,
        conflicts=() if first is None else first.conflicts,
        taken=() if first is None else first.taken,
        moved=() if first is None else first.moved,
        broken=merge_phase.broken,
        checks=tuple(merge_phase.checks),
        innocent=merge_phase.innocent,
        merged=None if merge_phase.step is None else merge_phase.step.commit,
        result=merge_phase.result,
        may_have_run_twice=tuple(board.twice),
        complete=complete,
        unaffordable=unaffordable,
    )


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
    node: Node,
    entries: Mapping[str, LeafEntry],
    errors: Mapping[str, BaseException],
    kept: str | None,
) -> LeafSummary:
    entry = entries[node.id]
    error = None
    if entry.begun:
        error = errors.get(f"again:{node.id}") or errors.get(f"leaf:{node.id}")
    last = entry.again or entry.result
    change = None if last is None else last.change
    files = {} if change is None else change.files
    failed = _fields(error)
    tries = (*(() if last is None else last.tries), *_tries(failed.get("tries", ())))
    return LeafSummary(
        id=node.id,
        title=node.title,
        state=state_of(entry),
        files=node.files or entry.node.files,
        reason=entry.why_not_in(entries) or ("" if last is None else last.in_vain),
        changed=tuple(sorted(files)),
        deleted=tuple(sorted(path for path, blob in files.items() if blob is None)),
        tries=tries,
        requests=() if last is None else last.requests,
        verified="" if last is None else last.verified,
        said="" if last is None else last.said,
        kept=failed.get("kept") or kept,
        seconds=0.0 if last is None else last.seconds,
    )


def state_of(entry: LeafEntry) -> State:
    """In one word."""
    if entry.error is not None:
        return "failed"
    if entry.skipped_by is not None:
        return "skipped"
    if entry.given_up is not None:
        return "given up"
    if entry.left_out:
        return "left out"
    if entry.conflicts and entry.again is None:
        return "conflict"
    if entry.result is None:
        return "queued"
    return "done" if entry.result.status == "changed" else entry.result.status


def _fields(error: BaseException | None) -> Mapping[str, Any]:
    return {} if error is None else fields_of(error)


def _tries(given: Sequence[Any]) -> tuple[Try, ...]:
    try:
        return msgspec.convert(msgspec.to_builtins(given), tuple[Try, ...])
    except (msgspec.ValidationError, TypeError):  # what the journal kept of them was cut
        return ()
