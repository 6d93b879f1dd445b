"""A run read from a real journal: what became of each leaf, at any moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.plan.model.leaf_result import SubPlan
from fanwise.plan.split.grow import grow
from fanwise.plan.split.rules import Rules
from fanwise.plan.state.recorded import Recorded
from tests.plan.views.made import (
    STORY,
    conflict,
    ended,
    leaf,
    merged,
    recorded,
    split_of,
    story,
    tree,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded(tmp_path_factory.mktemp("run"), split_of(STORY), story())


def states(found: Recorded) -> dict[str, str]:
    return {found.title(name): each.state for name, each in found.leaves.items()}


def test_every_leaf_has_its_state_in_the_order_of_the_tree(whole: Recorded) -> None:
    assert states(whole) == {
        "src/a": "done", "src/b": "done", "src/c": "failed", "src/d": "skipped",
        "tests/e": "unchanged", "tests/f": "done", "tests/g": "given up", "tests/h": "left out",
        "tests/i": "split", "tests/i.py": "done", "tests/j.py": "done", "costly": "done",
    }  # fmt: skip
    assert list(whole.leaves) == [node.id for node in whole.tree.nodes if node.id in whole.leaves]


def test_every_state_that_is_no_success_says_why(whole: Recorded) -> None:
    why = {name: each.why for name, each in whole.leaves.items() if each.why}
    assert why["src/c"] == "verify failed (try 2): 2 tests failed"
    assert why["src/d"] == "src/c, which it comes after, failed"
    assert "no edits" in why["tests/g"]
    assert why["tests/h"] == "the check fails with it"
    assert set(why) == {"src/c", "src/d", "tests/g", "tests/h", "tests/i"}


def test_the_tries_of_a_leaf_are_there_whether_it_was_done_or_given_up(whole: Recorded) -> None:
    told = {name: [(t.stage, t.reason) for t in each.tries] for name, each in whole.leaves.items()}
    assert told["src/a"] == []
    assert told["src/b"] == [("verify", "2 tests failed")]
    assert told["src/c"] == [("work", "exit code 1"), ("verify", "2 tests failed")]
    assert told["tests/f"] == [("merge", "shared.txt: conflict")]
    assert told["tests/g"] == [("edits", "no edits")]
    assert whole.leaves["src/c"].kept == "src-c.patch"


def test_requests_conflicts_checks_and_the_result_are_there(whole: Recorded) -> None:
    assert [(r.path, r.owner) for r in whole.leaves["tests/e"].requests] == [
        ("src/a.py", "src/a"),
        ("setup.cfg", None),
    ]
    joined = whole.joined
    assert [(c.leaf, c.others) for c in joined.conflicts] == [
        ("tests/f", ("src/a",)),
        ("tests/g", ("src/a", "src/b")),
    ]
    assert [(c.passed, c.without) for c in joined.checks] == [(False, ()), (True, ("tests/h",))]
    assert joined.result is not None
    assert joined.result.branch == "fanwise/plan-abc"
    assert [step.kind for step in joined.steps] == [
        "merge", "merge", "check", "merge", "check", "result",
    ]  # fmt: skip
    assert joined.broken == ()  # of the last merge
    assert (whole.goal, whole.base) == ("Replace the assertions", "b" * 40)


def test_what_a_leaf_cost_and_how_long_it_took_is_its_own(whole: Recorded) -> None:
    assert whole.leaves["costly"].calls.usd.total == 0.02
    assert whole.leaves["costly"].calls.tokens.total == 700
    assert whole.leaves["src/a"].calls.attempts == 0
    assert [span.key for span in whole.leaves["tests/f"].spans] == ["leaf:tests/f", "again:tests/f"]
    assert whole.leaves["src/d"].spans == ()


def test_a_run_is_read_as_far_as_it_is(tmp_path: Path) -> None:
    """Each beginning of the story can be read, and says what is known then."""
    happened = story()
    seen = []
    for number in (0, 3, 11, 12, 13, 16):
        place = tmp_path / str(number)
        place.mkdir()
        found = recorded(place, split_of(STORY), happened[:number])
        seen.append([found.leaves[name].state for name in ("src/a", "src/d", "tests/f", "tests/h")])
    assert seen == [
        ["queued", "queued", "queued", "queued"],
        ["done", "skipped", "queued", "queued"],
        ["done", "skipped", "done", "done"],
        ["done", "skipped", "conflict", "done"],
        ["done", "skipped", "done", "done"],
        ["done", "skipped", "done", "done"],
    ]


def test_steps_of_an_earlier_execution_do_not_count(tmp_path: Path) -> None:
    """The plan was edited: leaf `b` is another one, and everything is merged anew."""
    before = split_of(tree({"g": ["a", "b"]}))
    happened = [
        ("leaf:a", ended("a")), ("leaf:b", ended("b")),
        ("merge:0", merged(["a"], conflict("b", "a"))), ("again:b", ended("b")),
        ("merge:1", merged(["a", "b"])),
    ]  # fmt: skip
    recorded(tmp_path, before, happened)
    after = split_of(tree({"g": ["a", "c"]}))
    found = recorded(tmp_path, after, [("leaf:a", ended("a"))], may_change=True)
    assert states(found) == {"a": "done", "c": "queued"}
    assert found.joined.steps == ()
    more = [("leaf:a", ended("a")), ("leaf:c", ended("c")), ("merge:0", merged(["a", "c"]))]
    found = recorded(tmp_path, after, more, may_change=True)
    assert [step.key for step in found.joined.steps] == ["merge:0"]
    assert states(found) == {"a": "done", "c": "done"}


def test_only_the_followers_of_a_failure_are_skipped(tmp_path: Path) -> None:
    nodes = [leaf("a"), leaf("b", after=("a",)), leaf("c", after=("b",)), leaf("d")]
    found = recorded(tmp_path, split_of(tree({"g": nodes})), [("leaf:a", ValueError("no"))])
    assert states(found) == {"a": "failed", "b": "skipped", "c": "skipped", "d": "queued"}
    assert found.leaves["c"].why == "a, which it comes after, failed"


def test_what_was_merged_before_a_leaf_ran_again_does_not_count(tmp_path: Path) -> None:
    made = split_of(tree({"g": ["a", "b"]}))
    happened = [("leaf:a", ValueError("no")), ("leaf:b", ended("b")), ("merge:0", merged(["b"]))]
    found = recorded(tmp_path, made, happened)
    assert [step.key for step in found.joined.steps] == ["merge:0"]
    found = recorded(tmp_path, made, [("leaf:a", ended("a"))], may_change=True)
    assert states(found) == {"a": "done", "b": "done"}
    assert found.joined.steps == ()


def test_sub_plans_of_sub_plans_are_in_the_tree(tmp_path: Path) -> None:
    paths = ("x/1.py", "x/2.py", "x/3.py")
    made = split_of(tree({"g": [leaf("big", files=paths)]}))
    goal = "Replace the assertions"
    first = (SubPlan(goal="two", files=paths[:2]), SubPlan(goal="one", files=paths[2:]))
    second = (SubPlan(goal="b", files=paths[1:2]), SubPlan(goal="a", files=paths[:1]))
    digests = dict.fromkeys(paths, "d")
    once = grow(made.tree, "big", first, rules=Rules(), digests=digests, goal=goal)
    two, one = once.by_id["big"].children
    twice = grow(once, two, second, rules=Rules(), digests=digests, goal=goal)
    happened = [
        ("leaf:big", ended("big", "split", subplans=first)),
        (f"leaf:{two}", ended(two, "split", subplans=second)),
        (f"leaf:{one}", ended(one)),
        *((f"leaf:{each}", ended(each)) for each in twice.by_id[two].children),
    ]
    found = recorded(tmp_path, made, happened)
    assert [found.leaves[leaf.id].state for leaf in found.tree.leaves] == ["done"] * 3
    assert [leaf.goal for leaf in found.tree.leaves] == ["b", "a", "one"]
    assert found.leaves[two].state == "split"
