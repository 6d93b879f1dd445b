"""Tasks are merged in the order in which they finish, and a resume repeats no merge."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fanwise.core.outcome import Outcome
from fanwise.journal.codec import JSON
from fanwise.journal.port import ItemRecord
from fanwise.plan.model.leaf_result import Blob, Change, LeafResult
from fanwise.plan.model.merge_result import Conflict, MergeCheck, MergeResult, MergeStep
from fanwise.plan.model.merge_result import PublishedResult as Published
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import PlanItem
from fanwise.plan.state.policy import PlanPolicy
from fanwise.plan.state.replay import merged_tasks, replay, reusable
from tests.profiles import examples

POLICY = PlanPolicy(base="base", as_finished=True, check="make check")


def tree_of(needs: list[list[int]]) -> Tree:
    leaves = [
        Node(id=f"t{n}", title=f"t{n}", parent="root", is_task=True,
             after=tuple(f"t{each}" for each in sorted(set(before))))
        for n, before in enumerate(needs)
    ]  # fmt: skip
    root = Node(id="root", title="", children=tuple(leaf.id for leaf in leaves))
    return Tree(nodes=(root, *leaves))


def board_of(tree: Tree, merged: list[str]) -> PlanBoard:
    return PlanBoard(tree, POLICY, lambda *_: tree, merged=merged)


def outcome_of(item: PlanItem, chance: random.Random) -> Any:
    """What becomes of an item; by its digest, so that the same item has the same outcome."""
    dice = random.Random(item.of).random()
    if item.leaf is not None:
        if dice < 0.15:
            return None
        path = f"f{int(dice * 100) % 3}"
        change = Change(leaf=item.leaf.id, title="", files={path: Blob("100644", item.of)})
        return LeafResult(leaf=item.leaf.id, status="changed", change=change)
    if item.kind == "merge":
        taken: dict[str, str] = {}
        conflicts = []
        for change in item.changes:
            (path,) = change.files
            again = random.Random(change.files[path].name).random() < 0.5  # type: ignore[union-attr]
            if path in taken and not again:
                conflicts.append(Conflict(kind="content", paths=(path,), leaf=change.leaf,
                                          others=(taken[path],)))  # fmt: skip
            else:
                taken.setdefault(path, change.leaf)
        aside = {each.leaf for each in conflicts}
        leaves = tuple(each.leaf for each in item.changes if each.leaf not in aside)
        merged = MergeResult(tree=item.of, leaves=leaves, conflicts=tuple(conflicts))
        return MergeStep(merged=merged, commit=item.of)
    return MergeCheck(passed=True) if item.kind == "check" else Published(commit=item.at)


def run(tree: Tree, records: dict[str, ItemRecord], chance: random.Random, stop: int) -> PlanBoard:
    """Finish items in a random order until so many are done; note each in the records."""
    board = board_of(tree, merged_tasks(records.values()))
    known = replay(board, list(records.values()), reusable)
    waiting = list(known.left)
    for _ in range(stop):
        if not waiting:
            break
        item = waiting.pop(chance.randrange(len(waiting)))
        value = outcome_of(item, chance)
        plain = None if value is None else {**msgspec.to_builtins(value), "of": item.of}
        error = None if plain is not None else ValueError("no luck")
        waiting += board.take(item, Outcome(0, "failed" if error else "done", plain, error))
        if plain is not None:
            records[item.key] = ItemRecord(
                fan_out=1, key=item.key, index=0, status="done", value=JSON.encode(plain)
            )
    return board


@examples(1)
@given(
    needs=st.lists(st.lists(st.integers(0, 5), max_size=2), min_size=1, max_size=6),
    seed=st.integers(0, 10_000),
    stop=st.integers(0, 30),
)
def test_a_run_that_was_killed_anywhere_goes_on_with_the_same_merges(
    needs: list[list[int]], seed: int, stop: int
) -> None:
    tree = tree_of([[each for each in before if each < n] for n, before in enumerate(needs)])
    records: dict[str, ItemRecord] = {}
    run(tree, records, random.Random(seed), stop)
    before = dict(records)
    board = run(tree, records, random.Random(seed + 1), 1000)
    assert board.over
    assert {key: records[key] for key in before} == before, "what was recorded was not done again"
    again = board_of(tree, merged_tasks(records.values()))
    left = replay(again, list(records.values()), reusable).left
    assert {item.kind for item in left} <= {"leaf", "again"}, "only what failed is open"
    for leaf in tree.leaves:
        entry = board.entries[leaf.id]
        assert entry.over
        if any(board.entries[each].lost or board.entries[each].skipped_by for each in leaf.after):
            assert entry.skipped_by is not None
    if board.merge_phase is not None and board.merge_phase.step is not None:
        inside = {leaf for leaf, entry in board.entries.items() if entry.is_in}
        assert set(board.merge_phase.step.merged.leaves) == inside
