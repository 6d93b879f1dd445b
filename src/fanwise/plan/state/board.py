"""Decides which sub-plan starts when: a state machine without clock, files or processes.

    leaves, each when all that it comes after is done  ->  `merge_phase.py`

Items go out, outcomes come in. A leaf waits only for what it needs: there are no waves.

`fail_fast` returns what a run with one sub-plan at a time would return. Such a run starts, of all
leaves that could start, the first in tree order, and ends at a failure. So after a failure nothing
starts that it would not have started before. When everything before the failure is over, the board
is over too: what is still in flight is cancelled, and what was done beyond does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

import msgspec

from fanwise.core.counts import Counts
from fanwise.core.outcome import Outcome
from fanwise.errors import FanwiseError, fields_of, one_line
from fanwise.plan.model.digest import digest
from fanwise.plan.model.leaf_result import Change, LeafResult
from fanwise.plan.model.merge_result import MergeCheck, MergeStep, PublishedResult
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.state.leaf_entry import LeafEntry
from fanwise.plan.state.leaf_queue import LeafQueue
from fanwise.plan.state.merge_phase import MergePhase
from fanwise.plan.state.plan_item import SUB_PLANS, PlanItem
from fanwise.plan.state.policy import Grow, PlanPolicy
from fanwise.plan.state.task_merges import TaskMerges


class PlanBoard:
    """Call `begin`, then `take` with the outcome of each item, until it is `over`.

    `failed`: leaves that had failed in an earlier execution, and will be told as failed again.
    `merged`: tasks that were merged in one, in that order.
    """

    def __init__(
        self,
        tree: Tree,
        policy: PlanPolicy,
        grow: Grow,
        *,
        failed: Collection[str] = (),
        merged: Sequence[str] = (),
    ) -> None:
        self.tree = tree
        self.entries = {leaf.id: LeafEntry(leaf) for leaf in tree.leaves}
        """Of every leaf that there is or was, by its id."""
        self.merge_phase: MergePhase | None = None
        """When all leaves are over; of tasks, from the start."""
        self.errors: dict[str, BaseException] = {}
        """Of sub-plans that failed, by the key of the item."""
        self.twice: list[str] = []
        """What was running when an earlier execution was killed, and has run again now."""
        self.fatal: BaseException | None = None
        """Why a merge, a check or the result could not be made."""
        self._halted_by: str | None = None
        self._policy = policy
        self._grow = grow
        self._expected = set(failed)
        self._open: set[str] = set()
        self._stand_in_line()
        self._tasks: TaskMerges | None = None
        if policy.as_finished:
            self.merge_phase = self._tasks = TaskMerges(tree, self.entries, policy, merged)

    @property
    def over(self) -> bool:
        joined = self.merge_phase is not None and self.merge_phase.over
        return joined or self.fatal is not None or self._halted_by is not None

    @property
    def halted(self) -> str | None:
        """The leaf whose failure has ended the run."""
        return self._halted_by or (None if self.merge_phase is None else self.merge_phase.halted)

    def count(self) -> Counts:
        """How many sub-plans were done or given up; the merge is not counted."""
        entries = self.entries.values()
        done = sum(each.done for each in entries)
        over = sum(each.over for each in entries)
        return Counts("sub-plan", done, over - done, len(entries))

    def begin(self) -> list[PlanItem]:
        return self._go_on()

    def take(self, item: PlanItem, outcome: Outcome[Any]) -> list[PlanItem]:
        """What follows from an outcome, new or recorded."""
        if outcome.may_have_run_twice and not outcome.recorded:
            self._note_twice(item)
        if outcome.error is not None:
            return self._take_failure(item, outcome.error)
        value = outcome.unwrap()
        if item.kind == "leaf":
            return self.leaf_done(item, msgspec.convert(value, LeafResult))
        assert self.merge_phase is not None
        match item.kind:
            case "merge":
                step = msgspec.convert(value, MergeStep)
                return self._after_turn(self.merge_phase.merged(item, step))
            case "again":
                result = msgspec.convert(value, LeafResult)
                return self._after_turn(self.merge_phase.again_done(item, result))
            case "check":
                return self.merge_phase.checked(item, msgspec.convert(value, MergeCheck))
            case "result":
                return self.merge_phase.left(msgspec.convert(value, PublishedResult))

    def leaf_done(self, item: PlanItem, result: LeafResult) -> list[PlanItem]:
        entry = self._entry(item)
        entry.result = result
        if result.status == "split":
            self._split(entry, result)
        elif self._tasks is not None and result.change is not None:
            return [*self._tasks.finished(entry.node.id), *self._go_on()]
        else:
            self._queue.done(entry.node.id)
        return self._go_on()

    def leaf_failed(self, item: PlanItem, error: str) -> list[PlanItem]:
        self._failed(self._entry(item), error)
        return self._go_on()

    def sequence(self) -> list[Node]:
        """The leaves in the order in which they would be done one at a time; up to the failure."""
        return [*self._queue.order[: self._limit()]]

    # -- inside ---------------------------------------------------------------------------------

    def _take_failure(self, item: PlanItem, error: BaseException) -> list[PlanItem]:
        if item.kind not in SUB_PLANS:
            self.fatal = error
            return []
        self.errors[item.key] = error
        if item.kind == "leaf":
            return self.leaf_failed(item, reason_of(error))
        assert self.merge_phase is not None
        return self._after_turn(self.merge_phase.again_failed(item, reason_of(error)))

    def _after_turn(self, items: list[PlanItem]) -> list[PlanItem]:
        """Tasks that need one that was merged, or given up, can begin, or will not."""
        if self._tasks is None or not self._tasks.settled:
            return items
        while self._tasks.settled:
            leaf = self._tasks.settled.pop(0)
            given_up = self.entries[leaf].given_up is not None
            (self._queue.failed if given_up else self._queue.done)(leaf)
        return [*items, *self._go_on()]

    def _note_twice(self, item: PlanItem) -> None:
        """Only work of others counts: a merge may be made as often as one likes."""
        if item.leaf is not None or item.kind == "check":
            self.twice.append("the check" if item.leaf is None else item.leaf.title)

    def _entry(self, item: PlanItem) -> LeafEntry:
        self._open.discard(item.key)
        assert item.leaf is not None
        self._expected.discard(item.leaf.id)
        return self.entries[item.leaf.id]

    def _split(self, entry: LeafEntry, result: LeafResult) -> None:
        try:
            self.tree = self._grow(self.tree, entry.node.id, result.subplans)
        except FanwiseError as error:
            entry.result = None
            self._failed(entry, str(error))
            return
        for leaf in self.tree.leaves:
            self.entries.setdefault(leaf.id, LeafEntry(leaf)).node = leaf
        self._stand_in_line()

    def _stand_in_line(self) -> None:
        self._queue = LeafQueue(self.tree, self.entries)
        self._failures = [turn for leaf, turn in self._queue.turn.items() if self._fails(leaf)]
        """The turns of those that have failed or will, as a heap; some may do better now."""
        heapify(self._failures)

    def _fails(self, leaf: str) -> bool:
        return self.entries[leaf].error is not None or leaf in self._expected

    def _failed(self, entry: LeafEntry, error: str) -> None:
        entry.error = error
        leaf = entry.node.id
        heappush(self._failures, self._queue.turn[leaf])
        self._queue.failed(leaf)

    def _limit(self) -> int:
        """How many leaves a run with one at a time would start."""
        order, failures = self._queue.order, self._failures
        while failures and not self._fails(order[failures[0]].id):
            heappop(failures)
        return failures[0] + 1 if failures and self._policy.fail_fast else len(order)

    def _go_on(self) -> list[PlanItem]:
        """Begin what can begin; when all leaves are over, bring them together."""
        limit = self._limit()
        if self._policy.fail_fast and self._is_halted(limit):
            return []
        items = [self._leaf(self.entries[leaf.id]) for leaf in self._queue.take(limit)]
        self._open.update(item.key for item in items)
        if items or self._open:
            return items
        if self._tasks is not None:
            return self._tasks.begin()
        for leaf in self.tree.leaves:
            if not self.entries[leaf.id].over:
                self.entries[leaf.id].error = "it comes after itself, by way of others"
        self.merge_phase = MergePhase(self.tree, self.entries, self._policy)
        return self.merge_phase.begin()

    def _is_halted(self, limit: int) -> bool:
        last = self._queue.order[limit - 1].id if limit else None
        if last is None or self.entries[last].error is None or not self._queue.is_over(limit):
            return False
        self._halted_by = last
        return True

    def _leaf(self, entry: LeafEntry) -> PlanItem:
        entry.begun = True
        before = tuple(self._changes_before(entry.node))
        return PlanItem(
            kind="leaf",
            key=f"leaf:{entry.node.id}",
            of=digest("leaf", self._policy.work, before),
            leaf=entry.node,
            before=before,
            at=self._policy.base,
        )

    def _changes_before(self, leaf: Node) -> Iterable[Change]:
        """Of all that it comes after, in order, without the files that all may change."""
        wanted, found = [*leaf.after], set(leaf.after)
        while wanted:
            fresh = [each for each in self.entries[wanted.pop()].node.after if each not in found]
            found.update(fresh)
            wanted += fresh
        tasks = self._tasks
        order = self._queue.in_order(found) if tasks is None else tasks.builds_on(found)
        for other in order:
            change = self.entries[other].change
            if change is not None:
                own = {p: b for p, b in change.files.items() if not self._policy.shared(p)}
                yield msgspec.structs.replace(change, files=own)


def reason_of(error: BaseException) -> str:
    """Why a sub-plan was given up, in a line: its last try, or the kind of error and its text."""
    tries = fields_of(error).get("tries")
    if tries:
        last = msgspec.to_builtins(tries[-1])
        times = f" (try {len(tries)})" if len(tries) > 1 else ""
        return f"{last['stage']} failed{times}: {last['reason']}"
    return one_line(error)
