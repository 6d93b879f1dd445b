"""Leaves that end in any order, with real merges: always the same commits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import pytest

from fanwise import Caps
from fanwise.kernel.virtual_time import run_virtual
from fanwise.plan.merge.step import Signature, merge_step
from fanwise.plan.model.leaf_result import Change, LeafResult
from fanwise.plan.model.merge_result import MergeCheck, MergeStep, PublishedResult
from fanwise.plan.run.drive import drive
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import PlanItem
from fanwise.plan.state.policy import PlanPolicy
from fanwise.workspaces.git import Git
from tests.plan.merge.support import Content, change, lines, read, repository
from tests.plan.state.world import grow, leaf, tree

LEAVES = [leaf("a"), leaf("b"), leaf("c", ["d"]), leaf("d"), leaf("e")]
SHARED = "shared.txt"
DONE: dict[str, dict[str, Content]] = {
    "a": {"a.py": "a\n", SHARED: lines(l3="of a")},
    "b": {"b.py": "b\n", SHARED: lines(l3="of b")},
    "c": {"c.py": "c\n", SHARED: lines(l20="of c"), "new.txt": "of c\n"},
    "d": {"d.py": None, "moved/d.py": lines(9)},
    "e": {"e.py": "e\n", "new.txt": "of e\n"},
}
"""In conflict: `b` with `a`, `e` with `c`."""
Seen = tuple[list[str], list[MergeStep], PublishedResult | None]


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Git:
    with pytest.MonkeyPatch.context() as patched:
        for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
            patched.setenv(name, "/dev/null")
        own = {f"{name}.py": lines(9) for name in "abcde"}
        return repository(tmp_path_factory.mktemp("order") / "repo", {**own, SHARED: lines()})


def again(git: Git, item: PlanItem) -> Change:
    """What a leaf adds to the files that it was in conflict about, as they are by then."""
    assert item.leaf is not None
    paths = {path for each in item.conflicts for path in each.paths}
    texts = {path: read(git, item.at, path) + f"{item.leaf.id} again\n" for path in paths}
    return change(git, item.leaf.id, texts)


async def came_to(git: Git, seconds: dict[str, float]) -> Seen:
    """The order in which leaves ended, and all that came of it."""
    made = {name: change(git, name, files) for name, files in DONE.items()}
    order: list[str] = []

    async def perform(item: PlanItem) -> Any:
        return {**msgspec.to_builtins(await done(item)), "of": item.of}

    async def done(item: PlanItem) -> Any:
        if item.kind == "leaf":
            assert item.leaf is not None
            await asyncio.sleep(seconds[item.leaf.id])
            order.append(item.leaf.id)
            return LeafResult(leaf=item.leaf.id, status="changed", change=made[item.leaf.id])
        if item.kind == "again":
            assert item.leaf is not None
            return LeafResult(leaf=item.leaf.id, status="changed", change=again(git, item))
        if item.kind == "merge":
            signed = Signature(goal="g")
            return merge_step(git, "HEAD", item.changes, signed, on_top=item.on_top)
        if item.kind == "check":
            return MergeCheck(passed=True)
        return PublishedResult(commit=item.at, left_out=item.left_out)

    wanted = PlanPolicy(base=git("rev-parse", "HEAD"), check="test",
                    shared=lambda path: path == SHARED)  # fmt: skip
    board = PlanBoard(tree(*LEAVES), wanted, grow)
    await drive(board, perform, 5, Caps(workspaces=5), None)
    assert board.fatal is None
    assert board.merge_phase is not None
    return order, board.merge_phase.steps, board.merge_phase.result


def orders() -> Sequence[dict[str, float]]:
    """The first is the quickest, the last is, and some between."""
    found = [list("abcde"), list("edcba")]
    found += [Random(seed).sample("abcde", 5) for seed in range(3)]
    return [{name: 1.0 + 2**place for place, name in enumerate(each)} for each in found]


def test_whoever_is_quicker_the_same_is_merged_to_the_same_commits(user: Git) -> None:
    seen = [run_virtual(came_to(user, each)) for each in orders()]
    assert len({tuple(order) for order, _, _ in seen}) > 3, "they did end in different orders"
    assert any(order.index("b") < order.index("a") for order, _, _ in seen)
    _, steps, result = seen[0]
    assert all(each[1:] == (steps, result) for each in seen)
    assert result is not None
    assert [each.leaf for each in steps[0].merged.conflicts] == ["b", "e"]
    assert steps[-1].merged.leaves == ("a", "c", "d", "b", "e")
    assert read(user, result.commit, SHARED) == lines(l3="of a", l20="of c") + "b again\n"
    assert read(user, result.commit, "new.txt") == "of c\ne again\n"
