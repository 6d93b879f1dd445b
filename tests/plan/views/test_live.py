"""The live tree: events in, lines out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise import Budget, fan_out
from fanwise.core.outcome import Outcome
from fanwise.kernel import events
from fanwise.kernel.run import open_run
from fanwise.kernel.stages import begin_stage
from fanwise.plan.model.leaf_result import SubPlan
from fanwise.plan.model.node import Tree
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import LEAF_FAN_OUT
from fanwise.plan.state.policy import PlanPolicy
from fanwise.plan.views.live_tree import LiveTree
from tests.plan.views import made
from tests.plan.views.made import leaf, tree
from tests.profiles import examples


def started(key: str, at: float = 0.0, path: str = "plan") -> events.Event:
    return events.ItemStarted(at=at, path=path, index=0, key=key, needs=())


def stage(key: str, name: str, number: int, at: float = 0.0) -> events.Event:
    return events.StageBegan(at=at, path="plan", index=0, key=key, stage=name, number=number)


def ended(key: str, status: Any = "done", value: Any = None, at: float = 0.0) -> events.ItemEnded:
    error = ValueError("too hard") if status == "failed" else None
    outcome: Outcome[Any] = Outcome(0, status, msgspec.to_builtins(value), error, given_key=key)
    return events.ItemEnded(at=at, path="plan", outcome=outcome)


def changed(key: str, status: str = "changed", **more: Any) -> events.ItemEnded:
    return ended(key, value=made.ended(key.partition(":")[2], status, **more))


class Live(LiveTree):
    """With a board that takes what has ended, as the driver lets it."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self.board = PlanBoard(tree, PlanPolicy(base="b", check="true"), grow)
        self.items = {item.key: item for item in self.board.begin()}

    def __call__(self, event: events.Event) -> None:
        super().__call__(event)
        if isinstance(event, events.ItemEnded) and event.outcome.status in ("done", "failed"):
            item = self.items.pop(event.outcome.key)
            self.items |= {each.key: each for each in self.board.take(item, event.outcome)}
            self.took(self.board, item)


def grow(grown: Tree, leaf: str, subplans: Sequence[SubPlan]) -> Tree:
    return tree({"g": ["b"], "a": ["a/1", "a/2", "a/3"]})


def seen(live: LiveTree, now: float = 0.0, rows: int = 20, width: int = 100) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in live.lines(now, rows, width)]


def small() -> Live:
    return Live(tree({"src": ["src/a", "src/b", "src/c"], "tests": ["tests/a", "tests/b"]}))


def test_before_anything_runs_all_are_queued() -> None:
    assert seen(small()) == ["the goal  5 queued"]


def test_the_active_part_is_shown_with_its_states_and_the_rest_is_counted() -> None:
    live = small()
    live(started("leaf:src/a"))
    live(started("leaf:src/c", 2.0))
    live(stage("leaf:src/c", "verify", 2, 5.0))
    live(started("leaf:tests/a"))
    live(ended("leaf:tests/a", "failed"))
    assert seen(live, 13.9) == [
        "the goal  1 running, 1 verifying, 1 failed, 2 queued",
        "├─ ▸ src/a    running, 13 s",
        "├─ ◆ src/c    verifying, try 2, 11 s",
        "├─ ✗ tests/a  failed",
        "└─ … 2 queued",
    ]


def test_stages_of_what_a_leaf_fans_out_itself_are_not_its_own() -> None:
    live = small()
    live(started("leaf:src/a"))
    before = seen(live)
    for path in ("plan/leaf:src/a/other", "other/leaf:src/a/sub-plan", "plan/leaf:src/a"):
        live(events.StageBegan(at=0, path=path, index=0, key="x:src/a", stage="verify", number=1))
    assert seen(live) == before


def test_each_way_in_which_a_leaf_ends_has_its_word() -> None:
    live = small()
    live(changed("leaf:src/a"))
    live(changed("leaf:src/b", "unchanged"))
    live(ended("leaf:tests/a", "failed"))
    live(started("leaf:tests/b"))
    live(ended("leaf:tests/b", "cancelled"))
    assert seen(live)[0] == "the goal  1 failed, 1 done, 1 unchanged, 2 queued"


def test_a_conflict_is_shown_until_the_leaf_was_run_again() -> None:
    live = small()
    for name in ("src/a", "src/b", "src/c", "tests/a", "tests/b"):
        live(changed(f"leaf:{name}"))
    live(started("merge:0", 1.0))
    assert seen(live, 4.0)[-1] == "▸ merging, 3 s"
    conflicts = [made.conflict("src/b", "src/a"), made.conflict("src/c", "src/a")]
    live(ended("merge:0", value=made.merged(["src/a", "tests/a", "tests/b"], *conflicts)))
    assert seen(live)[0] == "the goal  2 conflict, 3 done"
    live(started("again:src/b"))
    live(stage("again:src/b", "verify", 1))
    assert seen(live)[0] == "the goal  1 merging, 1 conflict, 3 done"
    live(changed("again:src/b"))
    live(ended("merge:1", value=made.merged(["src/a", "tests/a", "tests/b", "src/b"])))
    live(started("again:src/c"))
    live(ended("again:src/c", "failed"))
    assert seen(live)[0] == "the goal  1 given up, 4 done"
    live(started("check:0"))
    assert "checking the merged tree" in seen(live)[-1]


def test_followers_of_a_failure_are_skipped_and_only_those() -> None:
    after_a, after_b = leaf("b", after=("a",)), leaf("c", after=("b",))
    live = Live(tree({"g": ["a", after_a, after_b, leaf("d"), leaf("e", after=("d",))]}))
    live(started("leaf:a"))
    live(ended("leaf:a", "failed"))
    assert seen(live)[0] == "the goal  1 failed, 2 skipped, 2 queued"


def test_returned_sub_plans_grow_the_tree() -> None:
    live = Live(tree({"g": ["a", "b"]}))
    live(changed("leaf:a", "split"))
    live(started("leaf:a/2"))
    assert seen(live, 1.0) == [
        "the goal  1 running, 3 queued",
        "├─ ▸ a/2  running, 1 s",
        "└─ … 3 queued",
    ]


def test_a_plan_of_one_leaf_says_what_that_does() -> None:
    live = Live(tree({}))
    live(started("leaf:root"))
    assert seen(live, 3.0) == ["the goal  running, 3 s"]
    live(changed("leaf:root"))
    assert seen(live, 3.0) == ["the goal  done"]


def test_what_other_fan_outs_do_is_not_the_tree_s() -> None:
    live = small()
    live(started("leaf:src/a", path="plan/leaf:src%2Fa/inner"))
    assert seen(live) == ["the goal  5 queued"]


def big(leaves: int, groups: int) -> Live:
    found: dict[str, list[str]] = {f"group {n}": [] for n in range(groups)}
    for number in range(leaves):
        found[f"group {number % groups}"].append(f"leaf {number}")
    return Live(tree({name: tuple(members) for name, members in found.items()}))


KINDS = st.sampled_from(["start", "verify", "done", "unchanged", "fail", "cancel"])


@examples(0.5)
@given(
    st.lists(st.tuples(KINDS, st.integers(0, 29)), max_size=80),
    st.integers(0, 30),
    st.integers(1, 120),
    st.integers(1, 8),
)
def test_there_are_never_more_lines_than_rows_and_every_leaf_is_counted_once(
    happened: list[tuple[str, int]], rows: int, width: int, groups: int
) -> None:
    live = big(30, groups)
    for kind, number in happened:
        key = f"leaf:leaf {number}"
        if kind == "start":
            live(started(key))
        elif kind == "verify":
            live(stage(key, "verify", 1))
        elif kind == "cancel":
            live(ended(key, "cancelled"))
        elif key in live.items and kind in ("done", "unchanged"):
            live(changed(key, {"done": "changed"}.get(kind, kind)))
        elif key in live.items:
            live(ended(key, "failed"))
    lines = seen(live, rows=rows, width=width)
    assert len(lines) <= rows
    if lines:
        counted = [int(part.split()[0]) for part in lines[0].removeprefix("the goal  ").split(", ")]
        assert sum(counted) == 30


def test_those_at_work_are_shown_rather_than_what_stands_above_them() -> None:
    live = big(40, 10)
    for number in range(10):
        live(started(f"leaf:leaf {number}"))
    lines = seen(live, rows=14)
    assert [line.split("leaf ")[1][0] for line in lines if "running, 0 s" in line] == list(
        "0123456789"
    )
    assert lines[-1] == "└─ … 30 queued"


def test_a_long_title_keeps_its_end_and_what_the_leaf_does() -> None:
    live = Live(tree({"g": [f"{'very/' * 30}long"]}))
    live(started(f"leaf:{'very/' * 30}long"))
    line = seen(live, width=60)[-1]
    assert line.endswith("very/long  running, 0 s")
    assert "…" in line
    assert len(line) <= 60


@pytest.mark.parametrize("budget", [None, Budget(requests=5)])
def test_an_item_says_which_stage_it_begins_and_nobody_needs_to_listen(
    budget: Budget | None,
) -> None:
    live = Live(tree({"g": ["a"]}))
    told: list[str] = []

    async def work(key: str) -> Any:
        begin_stage("work", 2)
        told.extend(seen(live)[-1:])
        begin_stage("verify", 2)
        told.extend(seen(live)[-1:])
        return msgspec.to_builtins(made.ended("a"))

    async def within(key: str) -> Any:
        found = await fan_out(work, ["x"], cap=1, key=str, name=LEAF_FAN_OUT, budget=budget)
        return found[0].unwrap()

    async def main() -> None:
        async with open_run(journal=":memory:", subscribers=[live]) as run:
            outer = work if budget is None else within
            await fan_out(outer, ["leaf:a"], cap=1, key=str, run=run, name="plan")
        begin_stage("work")  # outside of an item
        await fan_out(work, ["leaf:a"], cap=1, key=str)  # in one that nobody listens to

    asyncio.run(main())
    assert "running, try 2" in told[0]
    assert "verifying, try 2" in told[1]
    assert seen(live)[0] == "the goal  1 done"
