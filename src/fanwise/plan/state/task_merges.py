"""Merges tasks one after another, as they finish: a state machine.

    a task is finished -> merge with all before it -> in conflict: again on top of them -> merge
    all tasks are over -> check -> result, as for sub-plans of a split

The first to finish is merged first. The recorded merges keep that order, so a resume merges tasks
in the same order and repeats no merge.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence

from fanwise.plan.model.merge_result import Conflict, MergeStep
from fanwise.plan.model.node import Tree
from fanwise.plan.state.leaf_entry import LeafEntry
from fanwise.plan.state.merge_phase import MergePhase
from fanwise.plan.state.plan_item import PlanItem
from fanwise.plan.state.policy import PlanPolicy


class TaskMerges(MergePhase):
    """`finished` for each task with a change; `begin` whenever a task is over.

    `order`: the tasks that were merged in an earlier execution, in that order.
    """

    def __init__(
        self,
        tree: Tree,
        entries: Mapping[str, LeafEntry],
        policy: PlanPolicy,
        order: Sequence[str] = (),
    ) -> None:
        super().__init__(tree, entries, policy)
        self.settled: list[str] = []
        """Tasks that were merged or given up; the board takes them from here."""
        self._order = deque(leaf for leaf in order if leaf in entries)
        self._finished: list[str] = []
        """Tasks that wait for their turn."""
        self._merged: list[str] = []
        """Tasks that had their turn, in order."""
        self._busy = False

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        return tuple(each for leaf in self._merged for each in self.entries[leaf].conflicts)

    def finished(self, leaf: str) -> list[PlanItem]:
        """A task has changed something: it is merged when it is its turn."""
        self._finished.append(leaf)
        return self.begin()

    def builds_on(self, leaves: Collection[str]) -> list[str]:
        """These tasks, and those that their second versions rest on, in the order of merging."""
        wanted = set(leaves)
        for leaf in reversed(self._merged):
            entry = self.entries[leaf]
            if leaf in wanted and entry.again is not None and entry.is_in and entry.change:
                wanted.update(self._below(leaf, entry.change))
        return [leaf for leaf in self._merged if leaf in wanted]

    def begin(self) -> list[PlanItem]:
        """Merge the next task; when all are over, go on with the check."""
        if self._busy:
            return []
        leaf = self._next()
        if leaf is not None:
            self._busy = True
            self._finished.remove(leaf)
            self._merged.append(leaf)
            return [self._merge()]
        if self._finished or not all(self.entries[each.id].over for each in self.tree.leaves):
            return []
        self._busy = True
        return self._end() if self.step is None else self._after_merge(self.step)

    def merged(self, item: PlanItem, step: MergeStep) -> list[PlanItem]:
        if item.without:
            return super().merged(item, step)
        self.steps.append(step)
        self.step = step
        entry = self.entries[self._merged[-1]]
        found = tuple(each for each in step.merged.conflicts if each.leaf == entry.node.id)
        if not found:
            return self._settle(entry)
        if entry.again is not None:
            entry.given_up = f"in conflict again: {found[0].detail}"
            return self._settle(entry)
        entry.conflicts = found
        return [self._again(entry, step)]

    def again_failed(self, item: PlanItem, error: str) -> list[PlanItem]:
        assert item.leaf is not None
        entry = self.entries[item.leaf.id]
        entry.given_up = error
        return self._settle(entry)

    def _settle(self, entry: LeafEntry) -> list[PlanItem]:
        self._busy = False
        self.settled.append(entry.node.id)
        return self.begin()

    def _next(self) -> str | None:
        """The next to be merged. One that was merged earlier is waited for: it comes first."""
        while self._order:
            first = self._order[0]
            if first not in self._finished and not self.entries[first].over:
                return None
            self._order.popleft()
            if first in self._finished:
                return first
        return self._finished[0] if self._finished else None

    def _in(self, without: Collection[str] = ()) -> list[LeafEntry]:
        found = (self.entries[leaf] for leaf in self._merged if leaf not in without)
        return [each for each in found if each.is_in]

    def _on_top(self, entry: LeafEntry) -> bool:
        return False  # what was done again has its own base, and its turn like all others
