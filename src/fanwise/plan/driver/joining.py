"""How what the leaves changed comes together: a state machine, as the board is one.

    merge -> those in conflict, one after the other: again -> merge
          -> check -> (who is to blame: merge -> check)* -> result

What is merged is merged in the order of the tree, so that nothing depends on who was quicker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence

from fanwise.plan.change import Change
from fanwise.plan.driver.blame import Blame
from fanwise.plan.driver.entry import Entry
from fanwise.plan.driver.item import Item, digest
from fanwise.plan.driver.wanted import Wanted
from fanwise.plan.ended import Ended
from fanwise.plan.merge.merged import Broken, Checked, MergeStep, Result
from fanwise.plan.node import Said, Tree


class Joining:
    """`begin`, then tell what came of each item that it gave, until it is `over`."""

    def __init__(self, tree: Tree, entries: Mapping[str, Entry], wanted: Wanted) -> None:
        self.tree = tree
        self.entries = entries
        self.steps: list[MergeStep] = []
        """Merges, as they came; those of a bisection too."""
        self.checks: list[Checked] = []
        self.result: Result | None = None
        self.over = False
        self.halted: str | None = None
        """The leaf that could not be brought together with others, and has ended the run."""
        self.step: MergeStep | None = None
        """That of all that is in."""
        self._wanted = wanted
        self._aside: deque[str] = deque()
        self._blame: Blame | None = None
        self._passed: dict[frozenset[str], MergeStep] = {}

    @property
    def broken(self) -> tuple[Broken, ...]:
        """Names that one leaf took away and another uses, in what is left at the end."""
        return () if self.step is None else self.step.broken

    @property
    def innocent(self) -> bool:
        """Whether the check fails without any change, too."""
        return self._blame is not None and self._blame.found is None

    def begin(self) -> list[Item]:
        """Merge all, if something was changed."""
        changes = _changes(self._in())
        return [self._merge(changes)] if changes else self._end()

    # -- what comes back ------------------------------------------------------------------------

    def merged(self, item: Item, step: MergeStep) -> list[Item]:
        """So much goes together."""
        self.steps.append(step)
        if item.without:
            return [self._check(step, item.without)]
        self.step = step
        if not item.at:  # the first one, of all leaves
            for conflict in step.merged.conflicts:
                self.entries[conflict.leaf].conflicts += (conflict,)
            self._aside.extend(step.merged.aside)
            if self._aside and self._wanted.strategy == "fail_on_conflict":
                return self._end()
        return self._after_merge(step)

    def again_done(self, item: Item, ended: Ended) -> list[Item]:
        """A leaf that was in conflict has been done once more, on what was merged."""
        assert item.leaf is not None
        assert self.step is not None
        if ended.change is None:
            return self.again_failed(item, "it changed nothing when it was to settle the conflict")
        self.entries[item.leaf.id].again = ended
        return [self._merge_on_top(self.step, ended.change)]

    def again_failed(self, item: Item, error: str) -> list[Item]:
        """It could not be brought together with the others."""
        assert item.leaf is not None
        assert self.step is not None
        self.entries[item.leaf.id].given_up = error
        if self._wanted.fail_fast:
            self.halted = item.leaf.id
            return self._end()
        return self._after_merge(self.step)

    def checked(self, item: Item, found: Checked) -> list[Item]:
        """The merged tree is right, or not."""
        step = self.steps[-1]
        self.checks.append(found)
        if found.passed:
            self._passed[frozenset(item.without)] = step
        if self._blame is not None:
            self._blame.tell(found.passed)
            return self._next_of_blame(self._blame)
        if found.passed:
            return [self._result(step)]
        if self._wanted.bisect:
            self._blame = Blame(step.merged.leaves, self._needs())
            return self._next_of_blame(self._blame)
        return self._end()

    def left(self, result: Result) -> list[Item]:
        """The branch or the patch is there."""
        self.result = result
        return self._end()

    # -- merges ---------------------------------------------------------------------------------

    def _end(self) -> list[Item]:
        self.over = True
        return []

    def _in(self, without: Collection[str] = ()) -> list[Entry]:
        """The leaves whose changes count, in order."""
        entries = (self.entries[leaf.id] for leaf in self.tree.leaves)
        return [each for each in entries if each.is_in and each.node.id not in without]

    def _merge(
        self, changes: Sequence[Change], on_top: Sequence[Change] = (), without: Sequence[str] = ()
    ) -> Item:
        wanted = self._wanted
        return Item(
            kind="merge",
            key=f"merge:{len(self.steps)}",
            of=digest("merge", wanted.base, wanted.strategy, changes, on_top),
            changes=tuple(changes),
            on_top=tuple(on_top),
            without=tuple(without),
        )

    def _merge_on_top(self, step: MergeStep, change: Change) -> Item:
        return Item(
            kind="merge",
            key=f"merge:{len(self.steps)}",
            of=digest("on top", step.commit, change),
            at=step.commit,
            leaves=step.merged.leaves,
            changes=_changes(self._in()),
            on_top=(change,),
        )

    def _after_merge(self, step: MergeStep) -> list[Item]:
        """The next one that was in conflict; when there is none, the check."""
        if self._aside:
            return [self._again(self.entries[self._aside.popleft()], step)]
        return [self._check(step)] if step.merged.leaves else self._end()

    def _again(self, entry: Entry, step: MergeStep) -> Item:
        return Item(
            kind="again",
            key=f"again:{entry.node.id}",
            of=digest("again", self._wanted.work, step.commit, entry.conflicts),
            leaf=entry.node,
            at=step.commit,
            conflicts=entry.conflicts,
        )

    # -- the check, and who is to blame ---------------------------------------------------------

    def _check(self, step: MergeStep, without: Sequence[str] = ()) -> Item:
        if self._wanted.check is None:
            return self._result(step)
        return Item(
            kind="check",
            key=f"check:{len(self.checks)}",
            of=digest("check", self._wanted.check, step.merged.tree),
            at=step.commit,
            without=tuple(without),
        )

    def _needs(self) -> Mapping[str, Collection[str]]:
        """Without which others a leaf's change means nothing: those that it began with."""
        found = {}
        for entry in self._in():
            found[entry.node.id] = set(entry.node.after)
            if entry.again is not None and entry.change is not None:
                found[entry.node.id] |= self._below(entry.node.id, entry.change)
        return found

    def _below(self, leaf: str, change: Change) -> set[str]:
        """Whose changes are in the files that a leaf changed when it was done again."""
        earlier = [each for each in self._in() if each.again is None]
        again = [each for each in self._in() if each.again is not None]
        places = [each.node.id for each in again]
        earlier += again[: places.index(leaf)]
        return {
            each.node.id
            for each in earlier
            if each.change is not None and not each.change.files.keys().isdisjoint(change.files)
        }

    def _next_of_blame(self, blame: Blame) -> list[Item]:
        without = blame.next()
        if without is None:
            return self._after_blame(blame)
        found = self._in(without)
        return [
            self._merge(
                _changes(each for each in found if each.again is None),
                _changes(each for each in found if each.again is not None),
                without,
            )
        ]

    def _after_blame(self, blame: Blame) -> list[Item]:
        step = self._passed.get(frozenset(blame.found or ()))
        if step is None or not step.merged.leaves:
            return self._end()
        for leaf in blame.found or ():
            self.entries[leaf].left_out = True
        self.step = step
        return [self._result(step)]

    def _result(self, step: MergeStep) -> Item:
        return Item(
            kind="result",
            key="result",
            of=digest("result", self._wanted.result, step.commit),
            at=step.commit,
            leaves=step.merged.leaves,
            left_out=tuple(self._left_out()),
        )

    def _left_out(self) -> Iterable[Said]:
        for leaf in self.tree.leaves:
            why = self.entries[leaf.id].why_not_in(self.entries)
            if why is not None:
                yield Said(leaf.id, why)


def _changes(entries: Iterable[Entry]) -> tuple[Change, ...]:
    return tuple(each.change for each in entries if each.change is not None)
