"""Decides how the changes of leaves are merged, checked and published: a state machine.

    merge -> those in conflict, one after the other: again -> merge
          -> check -> (who is to blame: merge -> check)* -> result

Changes are merged in tree order, so that the result does not depend on which leaf was quicker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence

from fanwise.plan.merge.bisect import Culprits, NextCheck, bisect
from fanwise.plan.merge.step import rests_on
from fanwise.plan.model.digest import digest
from fanwise.plan.model.leaf_result import Change, LeafResult
from fanwise.plan.model.merge_result import (
    BrokenName,
    Conflict,
    MergeCheck,
    MergeStep,
    PublishedResult,
)
from fanwise.plan.model.node import FileNote, Tree
from fanwise.plan.state.leaf_entry import LeafEntry
from fanwise.plan.state.plan_item import PlanItem
from fanwise.plan.state.policy import PlanPolicy


class MergePhase:
    """Call `begin`, then the method for each outcome, until it is `over`."""

    def __init__(self, tree: Tree, entries: Mapping[str, LeafEntry], policy: PlanPolicy) -> None:
        self.tree = tree
        self.entries = entries
        self.steps: list[MergeStep] = []
        """Merges, as they came; those of a bisection too."""
        self.checks: list[MergeCheck] = []
        self.result: PublishedResult | None = None
        self.over = False
        self.halted: str | None = None
        """The leaf that could not be brought together with others, and has ended the run."""
        self.step: MergeStep | None = None
        """That of all that is in."""
        self.innocent = False
        """The check fails without any change, too."""
        self._policy = policy
        self._aside: deque[str] = deque()
        self._suspects: tuple[str, ...] = ()
        """The leaves with which the check fails, while it is looked for those to blame."""
        self._passed: dict[frozenset[str], MergeStep] = {}

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Those of all leaves, settled or not."""
        return self.steps[0].merged.conflicts if self.steps else ()

    @property
    def broken(self) -> tuple[BrokenName, ...]:
        """Names that one leaf took away and another uses, in what is left at the end."""
        return () if self.step is None else self.step.broken

    def begin(self) -> list[PlanItem]:
        return [self._merge()] if self._in() else self._end()

    # -- what comes back ------------------------------------------------------------------------

    def merged(self, item: PlanItem, step: MergeStep) -> list[PlanItem]:
        self.steps.append(step)
        if item.without:
            return [self._check(step, item.without)]
        self.step = step
        if len(self.steps) == 1:  # that of all leaves
            for conflict in step.merged.conflicts:
                self.entries[conflict.leaf].conflicts += (conflict,)
            self._aside.extend(step.merged.aside)
        return self._after_merge(step)

    def again_done(self, item: PlanItem, result: LeafResult) -> list[PlanItem]:
        """A leaf that was in conflict has run again on what was merged."""
        assert item.leaf is not None
        assert self.step is not None
        if result.change is None:
            return self.again_failed(item, "it changed nothing when it was to settle the conflict")
        self.entries[item.leaf.id].again = result
        return [self._merge()]

    def again_failed(self, item: PlanItem, error: str) -> list[PlanItem]:
        assert item.leaf is not None
        assert self.step is not None
        self.entries[item.leaf.id].given_up = error
        if self._policy.fail_fast:
            self.halted = item.leaf.id
            return self._end()
        return self._after_merge(self.step)

    def checked(self, item: PlanItem, found: MergeCheck) -> list[PlanItem]:
        step = self.steps[-1]
        self.checks.append(found)
        if found.passed:
            self._passed[frozenset(item.without)] = step
        if not self._suspects:
            if found.passed:
                return [self._result(step)]
            if not self._policy.bisect:
                return self._end()
            self._suspects = step.merged.leaves
        return self._blame()

    def left(self, result: PublishedResult) -> list[PlanItem]:
        self.result = result
        return self._end()

    # -- merges ---------------------------------------------------------------------------------

    def _end(self) -> list[PlanItem]:
        self.over = True
        return []

    def _in(self, without: Collection[str] = ()) -> list[LeafEntry]:
        """The leaves whose changes count, in order."""
        entries = (self.entries[leaf.id] for leaf in self.tree.leaves)
        return [each for each in entries if each.is_in and each.node.id not in without]

    def _merge(self, without: Sequence[str] = ()) -> PlanItem:
        """All that is in; what was done again on top of the rest."""
        found = self._in(without)
        plain = _changes(each for each in found if not self._on_top(each))
        on_top = _changes(each for each in found if self._on_top(each))
        return PlanItem(
            kind="merge",
            key=f"merge:{len(self.steps)}",
            of=digest("merge", self._policy.base, plain, on_top),
            changes=plain,
            on_top=on_top,
            without=tuple(without),
        )

    def _on_top(self, entry: LeafEntry) -> bool:
        """Whether its change was made on the merge of the others, and is put over it as it is."""
        return entry.again is not None

    def _after_merge(self, step: MergeStep) -> list[PlanItem]:
        """The next one that was in conflict; when there is none, the check."""
        if self._aside:
            return [self._again(self.entries[self._aside.popleft()], step)]
        return [self._check(step)] if step.merged.leaves else self._end()

    def _again(self, entry: LeafEntry, step: MergeStep) -> PlanItem:
        return PlanItem(
            kind="again",
            key=f"again:{entry.node.id}",
            of=digest("again", self._policy.work, step.commit, entry.conflicts),
            leaf=entry.node,
            at=step.commit,
            conflicts=entry.conflicts,
        )

    # -- the check, and who is to blame ---------------------------------------------------------

    def _check(self, step: MergeStep, without: Sequence[str] = ()) -> PlanItem:
        if self._policy.check is None:
            return self._result(step)
        return PlanItem(
            kind="check",
            key=f"check:{len(self.checks)}",
            of=digest("check", self._policy.check, step.merged.tree),
            at=step.commit,
            without=tuple(without),
        )

    def _needs(self) -> Mapping[str, Sequence[str]]:
        """Without which others a leaf's change means nothing: those that it began with."""
        found: dict[str, Sequence[str]] = {}
        for entry in self._in():
            found[entry.node.id] = entry.node.after
            if entry.again is not None and entry.change is not None:
                below = self._below(entry.node.id, entry.change)
                found[entry.node.id] = tuple(dict.fromkeys((*entry.node.after, *below)))
        return found

    def _below(self, leaf: str, change: Change) -> Sequence[str]:
        """Whose changes are in the files that a leaf changed when it was done again."""
        order = sorted(self._in(), key=self._on_top)
        earlier = order[: [each.node.id for each in order].index(leaf)]
        return rests_on(change, _changes(earlier))

    def _blame(self) -> list[PlanItem]:
        """The next that is to be checked; when it is known whom to leave out, what is left."""
        known = {frozenset(each.without): each.passed for each in self.checks}
        found = bisect(self._suspects, self._needs(), known)
        return [self._merge(found.without)] if isinstance(found, NextCheck) else self._blamed(found)

    def _blamed(self, found: Culprits) -> list[PlanItem]:
        self.innocent = found.base_fails
        if not found.leaves:
            return self._end()
        for each in found.left_out:
            self.entries[each.leaf].left_out = True
            self.entries[each.leaf].left_out_with = each.after
        self.step = self._passed[frozenset(each.leaf for each in found.left_out)]
        return [self._result(self.step)]

    def _result(self, step: MergeStep) -> PlanItem:
        return PlanItem(
            kind="result",
            key="result",
            of=digest("result", self._policy.result, step.commit),
            at=step.commit,
            step=step,
            left_out=tuple(self._left_out()),
        )

    def _left_out(self) -> Iterable[FileNote]:
        for leaf in self.tree.leaves:
            why = self.entries[leaf.id].why_not_in(self.entries)
            if why is not None:
                yield FileNote(leaf.id, why)


def _changes(entries: Iterable[LeafEntry]) -> tuple[Change, ...]:
    return tuple(each.change for each in entries if each.change is not None)
