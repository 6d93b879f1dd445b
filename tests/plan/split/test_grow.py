from __future__ import annotations

import pytest

from fanwise.errors import BadSubPlans
from fanwise.plan.model.leaf_result import SubPlan
from fanwise.plan.model.node import Tree
from fanwise.plan.split import Rules, split
from fanwise.plan.split.grow import grow
from tests.plan.split.support import made

RULES = Rules(mode="dependency", max_files=4, max_depth=3)
FILES: dict[str, str | int] = {
    f"m{n:02}.py": f"import m{n + 1:02}" if n < 11 else "x" for n in range(12)
}
DIGESTS = {file.path: file.digest for file in made(FILES)}


@pytest.fixture
def tree() -> Tree:
    return split(made(FILES), RULES, goal="all").tree


def plan(files: tuple[str, ...], goal: str = "") -> SubPlan:
    return SubPlan(goal=goal, files=files)


def grown(tree: Tree, leaf: str, *plans: SubPlan) -> Tree:
    tokens = dict.fromkeys(DIGESTS, 7)
    return grow(tree, leaf, plans, rules=RULES, digests=DIGESTS, tokens=tokens, goal="all")


def test_children_stand_below_the_leaf_and_inherit_its_order(tree: Tree) -> None:
    first, second, third = tree.leaves
    after = grown(tree, second.id, plan(second.files[:1], "one"), plan(second.files[2:]))
    inner = after.by_id[second.id]
    one, other = (after.by_id[name] for name in inner.children)
    assert inner.files == ()
    assert inner.after == ()
    assert (one.parent, one.depth, one.goal, one.files) == (
        second.id, second.depth + 1, "one", second.files[:1],
    )  # fmt: skip
    assert other.goal == ""
    assert one.after == other.after == second.after == (first.id,)
    assert set(after.by_id[third.id].after) >= {one.id, other.id}
    assert second.id not in after.by_id[third.id].after
    assert [node.id for node in after.leaves] == [first.id, one.id, other.id, third.id]
    assert len({node.id for node in after.nodes}) == len(after.nodes)
    assert grown(tree, second.id, plan(second.files[:1], "one"), plan(second.files[2:])) == after


def test_what_cannot_be_sub_plans_is_refused_with_the_reason(tree: Tree) -> None:
    leaf, other, _ = tree.leaves
    half = leaf.files[:2]
    for plans, reason in (
        ([], "none"),
        ([plan(())], "no files"),
        ([plan((*half, other.files[0]))], "not among its own"),
        ([plan(("../../etc/passwd",))], "not among its own"),
        ([plan(half), plan(half[:1])], "more than one"),
        ([plan((half[0], half[0]))], "more than one"),
        ([plan(leaf.files)], "same goal"),
        ([plan(leaf.files, " all ")], "same goal"),
    ):
        with pytest.raises(BadSubPlans, match=reason) as error:
            grown(tree, leaf.id, *plans)
        assert error.value.leaf == leaf.id
    with pytest.raises(BadSubPlans, match="already"):
        grown(tree, tree.root.id, plan(half))


def test_all_of_it_with_another_goal_goes_on_to_max_depth_and_no_deeper(tree: Tree) -> None:
    leaf = tree.leaves[0]
    for step in range(RULES.max_depth - leaf.depth):
        tree = grown(tree, leaf.id, plan(leaf.files, f"step {step}"))
        leaf = tree.by_id[tree.by_id[leaf.id].children[0]]
    assert leaf.depth == RULES.max_depth
    with pytest.raises(BadSubPlans, match="max_depth"):
        grown(tree, leaf.id, plan(leaf.files[:1]))


def test_tokens_are_those_of_the_files(tree: Tree) -> None:
    leaf = tree.leaves[0]
    exact = grown(tree, leaf.id, plan(leaf.files[:1]), plan(leaf.files[1:]))
    assert [exact.by_id[n].tokens for n in exact.by_id[leaf.id].children] == [7, 21]
