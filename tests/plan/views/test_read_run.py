"""A run read from a real journal: what became of each leaf, at any moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.plan.model.leaf_result import SubPlan
from fanwise.plan.split.grow import grow
from fanwise.plan.split.rules import Rules
from fanwise.plan.state.read_run import RecordedPlan
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
def whole(tmp_path_factory: pytest.TempPathFactory) -> RecordedPlan:
    return recorded(tmp_path_factory.mktemp("run"), split_of(STORY), story())


def states(found: RecordedPlan) -> dict[str, str]:
    return {each.title: each.state for each in found.state.leaves}


def test_every_leaf_has_its_state_in_the_order_of_the_tree(whole: RecordedPlan) -> None:
    assert states(whole) == {
        "src/a": "done", "src/b": "done", "src/c": "failed", "src/d": "skipped",
        "tests/e": "unchanged", "tests/f": "done", "tests/g": "given up", "tests/h": "left out",
        "tests/i": "split", "tests/i.py": "done", "tests/j.py": "done", "costly": "done",
    }  # fmt: skip
    ids = list(whole.state.by_id)
    assert ids == [node.id for node in whole.state.tree.nodes if node.id in ids]


def test_every_state_that_is_no_success_says_why(whole: RecordedPlan) -> None:
    why = {each.id: each.reason for each in whole.state.leaves if each.reason}
    assert why["src/c"] == "verify failed (try 2): 2 tests failed"
    assert why["src/d"] == "not begun: src/c failed"
    assert "no edits" in why["tests/g"]
    assert why["tests/h"] == "the check fails with it"
    assert set(why) == {"src/c", "src/d", "tests/g", "tests/h", "tests/i"}


def test_the_tries_of_a_leaf_are_there_whether_it_was_done_or_given_up(whole: RecordedPlan) -> None:
    told = {
        name: [(t.stage, t.reason) for t in each.tries] for name, each in whole.state.by_id.items()
    }
    assert told["src/a"] == []
    assert told["src/b"] == [("verify", "2 tests failed")]
    assert told["src/c"] == [("work", "exit code 1"), ("verify", "2 tests failed")]
    assert told["tests/f"] == [("merge", "shared.txt: conflict")]
    assert told["tests/g"] == [("edits", "no edits")]
    assert whole.state.by_id["src/c"].kept == "src-c.patch"


def test_requests_conflicts_checks_and_the_result_are_there(whole: RecordedPlan) -> None:
    assert [(r.path, r.owner) for r in whole.state.by_id["tests/e"].requests] == [
        ("src/a.py", "src/a"),
        ("setup.cfg", None),
    ]
    state = whole.state
    assert [(c.leaf, c.others) for c in state.conflicts] == [
        ("tests/f", ("src/a",)),
        ("tests/g", ("src/a", "src/b")),
    ]
    first, *bisection = state.checks
    assert (first.passed, first.without) == (False, ())
    assert (bisection[-1].passed, bisection[-1].without) == (True, ("tests/h",))
    assert state.result is not None
    assert state.result.branch == "fanwise/plan-abc"
    assert [step.kind for step in whole.steps] == [
        "merge", "merge", "check", *(["merge", "check"] * len(bisection)), "result",
    ]  # fmt: skip
    assert state.broken == ()  # of the last merge
    assert (whole.goal, whole.base.commit) == ("Replace the assertions", "b" * 40)


def test_what_a_leaf_cost_and_how_long_it_took_is_its_own(whole: RecordedPlan) -> None:
    assert whole.state.by_id["costly"].calls.usd.total == 0.02
    assert whole.state.by_id["costly"].calls.tokens.total == 700
    assert whole.state.by_id["src/a"].calls.attempts == 0
    assert [span.key for span in whole.state.by_id["tests/f"].spans] == [
        "leaf:tests/f",
        "again:tests/f",
    ]
    assert whole.state.by_id["src/d"].spans == ()


def test_a_run_is_read_as_far_as_it_is(tmp_path: Path) -> None:
    """Each beginning of the story can be read, and says what is known then."""
    happened = story()
    seen = []
    for number in (0, 3, 11, 12, 13, 16):
        place = tmp_path / str(number)
        place.mkdir()
        found = recorded(place, split_of(STORY), happened[:number])
        seen.append(
            [found.state.by_id[name].state for name in ("src/a", "src/d", "tests/f", "tests/h")]
        )
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
    assert found.steps == ()
    more = [("leaf:a", ended("a")), ("leaf:c", ended("c")), ("merge:0", merged(["a", "c"]))]
    found = recorded(tmp_path, after, more, may_change=True)
    assert [step.span.key for step in found.steps] == ["merge:0"]
    assert states(found) == {"a": "done", "c": "done"}


def test_only_the_followers_of_a_failure_are_skipped(tmp_path: Path) -> None:
    nodes = [leaf("a"), leaf("b", after=("a",)), leaf("c", after=("b",)), leaf("d")]
    found = recorded(tmp_path, split_of(tree({"g": nodes})), [("leaf:a", ValueError("no"))])
    assert states(found) == {"a": "failed", "b": "skipped", "c": "skipped", "d": "queued"}
    assert found.state.by_id["c"].reason == "not begun: a failed"


def test_what_was_merged_before_a_leaf_ran_again_does_not_count(tmp_path: Path) -> None:
    made = split_of(tree({"g": ["a", "b"]}))
    happened = [("leaf:a", ValueError("no")), ("leaf:b", ended("b")), ("merge:0", merged(["b"]))]
    found = recorded(tmp_path, made, happened)
    assert [step.span.key for step in found.steps] == ["merge:0"]
    found = recorded(tmp_path, made, [("leaf:a", ended("a"))], may_change=True)
    assert states(found) == {"a": "done", "b": "done"}
    assert found.steps == ()


def test_sub_plans_of_sub_plans_are_in_the_tree(tmp_path: Path) -> None:
    paths = ("x/1.py", "x/2.py", "x/3.py")
    made = split_of(tree({"g": [leaf("big", files=paths)]}))
    goal = "Replace the assertions"
    first = (SubPlan(goal="two", files=paths[:2]), SubPlan(goal="one", files=paths[2:]))
    second = (SubPlan(goal="b", files=paths[1:2]), SubPlan(goal="a", files=paths[:1]))
    digests, tokens = dict.fromkeys(paths, "d"), dict.fromkeys(paths, 100)
    once = grow(made.tree, "big", first, rules=Rules(), digests=digests, tokens=tokens, goal=goal)
    two, one = once.by_id["big"].children
    twice = grow(once, two, second, rules=Rules(), digests=digests, tokens=tokens, goal=goal)
    happened = [
        ("leaf:big", ended("big", "split", subplans=first)),
        (f"leaf:{two}", ended(two, "split", subplans=second)),
        (f"leaf:{one}", ended(one)),
        *((f"leaf:{each}", ended(each)) for each in twice.by_id[two].children),
    ]
    found = recorded(tmp_path, made, happened)
    assert [found.state.by_id[leaf.id].state for leaf in found.state.tree.leaves] == ["done"] * 3
    assert [leaf.goal for leaf in found.state.tree.leaves] == ["b", "a", "one"]
    assert found.state.by_id[two].state == "split"
