"""The driver on the real kernel, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fanwise import Caps
from fanwise.kernel.virtual_time import run_virtual
from fanwise.plan.model.leaf_result import LeafResult
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.run.drive import drive
from fanwise.plan.split.scorecard import makespan
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import PlanItem
from fanwise.plan.state.policy import PlanPolicy
from tests.profiles import examples


@st.composite
def forests(draw: st.DrawFn) -> list[Node]:
    leaves: list[Node] = []
    for number in range(draw(st.integers(1, 12))):
        before = [each.id for each in leaves]
        after = draw(st.lists(st.sampled_from(before), max_size=3, unique=True)) if before else []
        # No two sums are alike: of two that end at once, one is told first, and may start another.
        tokens = draw(st.integers(1, 50)) * 8192 + (1 << number)
        leaves.append(Node(id=f"n{number}", title="", tokens=tokens, after=tuple(after)))
    return leaves


async def takes(leaves: list[Node], max_parallel: int) -> float:
    """How long the leaves take, each as many seconds as it has tokens."""

    async def perform(item: PlanItem) -> Any:
        assert item.leaf is not None
        await asyncio.sleep(item.leaf.tokens)
        ended = LeafResult(leaf=item.leaf.id, status="unchanged")
        return {**msgspec.to_builtins(ended), "of": item.of}

    root = Node(id="root", title="", children=tuple(leaf.id for leaf in leaves))
    tree = Tree(nodes=(root, *leaves))
    board = PlanBoard(tree, PlanPolicy(base="base"), grow=lambda tree, leaf, subplans: tree)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await drive(board, perform, max_parallel, Caps(workspaces=max_parallel), None)
    assert all(entry.done for entry in board.entries.values())
    return loop.time() - began


def leaf(name: str, seconds: int, *after: str) -> Node:
    return Node(id=name, title=name, tokens=seconds, after=after)


def test_the_start_of_a_long_chain_goes_before_what_nobody_waits_for() -> None:
    alone = [leaf(f"alone{number}", 10) for number in range(6)]
    chain = [leaf("first", 1), leaf("second", 30, "first"), leaf("third", 20, "second")]
    predicted = makespan([*alone, *chain], 2)
    assert predicted == 60  # in the order in which they are given it would be 81
    assert run_virtual(takes([*alone, *chain], 2)) == predicted


@examples(0.5)
@given(forests(), st.integers(1, 4))
def test_the_leaves_take_as_long_as_the_scorecard_predicts(
    leaves: list[Node], max_parallel: int
) -> None:
    assert run_virtual(takes(leaves, max_parallel)) == makespan(leaves, max_parallel)
