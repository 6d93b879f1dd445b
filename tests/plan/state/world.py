"""A world in which sub-plans come to what their titles say, in an order that a number decides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from random import Random

from msgspec.structs import replace

from fanwise.plan.model.leaf_result import Blob, Change, LeafResult, SubPlan
from fanwise.plan.model.merge_result import (
    Conflict,
    MergeCheck,
    MergeResult,
    MergeStep,
    PublishedResult,
)
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import PlanItem
from fanwise.plan.state.policy import PlanPolicy

CHILDREN = ("change", "nothing", "change")


def leaf(name: str, after: Iterable[str] = (), **more: object) -> Node:
    given = {"depth": 1, "parent": "root", "files": (f"{name}.py",), "after": tuple(after), **more}
    return Node(id=name, title=name, **given)  # type: ignore[arg-type]


def tree(*leaves: Node) -> Tree:
    root = Node(id="root", title="all", children=tuple(each.id for each in leaves))
    return Tree(nodes=(root, *leaves))


def grow(grown: Tree, at: str, subplans: Sequence[SubPlan]) -> Tree:
    """Children in the place of a leaf, between those before it and those after it."""
    old = grown.by_id[at]
    names = tuple(f"{at}.{number}" for number in range(len(subplans)))
    fresh = [
        leaf(name, old.after, depth=old.depth + 1, parent=at, files=each.files, goal=each.goal)
        for name, each in zip(names, subplans, strict=True)
    ]
    nodes: list[Node] = []
    for node in grown.nodes:
        if node.id == at:
            nodes += [replace(node, children=names, files=(), after=()), *fresh]
        elif at in node.after:
            after = tuple(n for each in node.after for n in (names if each == at else (each,)))
            nodes.append(replace(node, after=after))
        else:
            nodes.append(node)
    return Tree(nodes=tuple(nodes))


Fates = dict[str, str]
"""By leaf: change, nothing, fail, split, shared (they all change one file, and clash)."""


class World:
    """Does what items say. `settles`: whether a leaf in conflict can be brought together."""

    def __init__(
        self,
        leaves: Sequence[Node],
        fates: Fates,
        *,
        order: int = 0,
        bad: Callable[[Collection[str]], bool] = lambda leaves: False,
        settles: Collection[str] = (),
        failed: Collection[str] = (),
        **wanted: object,
    ) -> None:
        self.board = PlanBoard(
            tree(*leaves),
            PlanPolicy(base="base", **wanted),  # type: ignore[arg-type]
            grow,
            failed=failed,
        )
        self.fates = fates
        self.bad = bad
        self.settles = settles
        self._random = Random(order)
        self.log: list[str] = []
        """The keys of items, as they began."""
        self.items: dict[str, PlanItem] = {}
        self.most = 0

    def run(self, at_once: int = 1000) -> World:
        waiting = self._begun(self.board.begin())
        while waiting and not self.board.over:
            self.most = max(self.most, min(at_once, len(waiting)))
            item = waiting.pop(self._random.randrange(min(at_once, len(waiting))))
            waiting += self._begun(self.perform(item))
        assert self.board.over
        return self

    def _begun(self, items: list[PlanItem]) -> list[PlanItem]:
        for item in items:
            assert item.key not in self.items, "nothing is done twice"
            self.items[item.key] = item
            self.log.append(item.key)
        return items

    def fate(self, name: str) -> str:
        head, _, number = name.rpartition(".")
        return CHILDREN[int(number)] if head else self.fates[name]

    def perform(self, item: PlanItem) -> list[PlanItem]:
        board = self.board
        if item.kind == "leaf":
            assert item.leaf is not None
            fate = self.fate(item.leaf.id)
            if fate == "fail":
                return board.leaf_failed(item, f"{item.leaf.id} is too hard")
            return board.leaf_done(item, self.ended(item.leaf, fate))
        merge_phase = board.merge_phase
        assert merge_phase is not None
        if item.kind == "merge":
            return merge_phase.merged(item, self.merge(item))
        if item.kind == "again":
            assert item.leaf is not None
            if item.leaf.id not in self.settles:
                return merge_phase.again_failed(item, "they want different things")
            return merge_phase.again_done(item, self.ended(item.leaf, "again"))
        if item.kind == "check":
            leaves = merge_phase.steps[-1].merged.leaves
            passed = not self.bad(leaves)
            return merge_phase.checked(item, MergeCheck(passed=passed, without=item.without))
        assert item.step is not None
        leaves = item.step.merged.leaves
        result = PublishedResult(commit=item.at, branch="b", leaves=leaves, left_out=item.left_out)
        return merge_phase.left(result)

    def ended(self, node: Node, fate: str) -> LeafResult:
        if fate == "split":
            parts = tuple(SubPlan(goal=f"part {n}", files=(f"{node.id}{n}.py",)) for n in range(3))
            return LeafResult(leaf=node.id, status="split", subplans=parts)
        if fate == "nothing":
            return LeafResult(leaf=node.id, status="unchanged")
        path = "shared.py" if fate in ("shared", "again") else node.files[0]
        files: dict[str, Blob | None] = {path: Blob("100644", f"{node.id}-{fate}")}
        change = Change(leaf=node.id, title=node.title, files=files)
        return LeafResult(leaf=node.id, status="changed", change=change)

    def merge(self, item: PlanItem) -> MergeStep:
        """Of several that change one file the first is in, the others are in conflict."""
        leaves: list[str] = []
        conflicts = []
        owners: dict[str, str] = {}
        for change in item.changes:
            clash = [path for path in change.files if path in owners]
            if clash:
                others = tuple(owners[path] for path in clash)
                conflicts.append(
                    Conflict(kind="content", paths=tuple(clash), leaf=change.leaf, others=others)
                )
                continue
            owners |= dict.fromkeys(change.files, change.leaf)
            leaves.append(change.leaf)
        leaves += [change.leaf for change in item.on_top]
        name = "+".join(leaves)
        merged = MergeResult(tree=f"tree {name}", leaves=tuple(leaves), conflicts=tuple(conflicts))
        return MergeStep(merged=merged, commit=f"commit {name}")

    @property
    def came_to(self) -> object:
        """All that one can see of it."""
        board = self.board
        states = {
            name: (each.result and each.result.status, each.error, each.skipped_by, each.given_up,
                   each.left_out, each.again is not None)
            for name, each in sorted(board.entries.items())
        }  # fmt: skip
        merge_phase = board.merge_phase
        parts = merge_phase and (
            merge_phase.steps,
            merge_phase.checks,
            merge_phase.result,
            merge_phase.innocent,
        )
        return states, board.halted, parts, sorted((key, i.of) for key, i in self.items.items())
