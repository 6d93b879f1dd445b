"""A merge as commits: one a leaf, with what it says; leaves that were run again lie on top."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fanwise.plan.merge.step import (
    MOST_FILES,
    Signature,
    author_of,
    merge_step,
    message_of,
    rests_on,
)
from fanwise.plan.merge.trees import commit_with
from fanwise.plan.model.leaf_result import Change
from fanwise.plan.model.merge_result import MergeStep
from tests.plan.merge.support import change, lines, read, repository
from tests.workspaces.support import everything, git

SIGNED = Signature(goal="Say what\nit is", author="Jo <jo@example.org>", when=1_700_000_000)


def test_one_commit_a_leaf_in_order_each_with_what_it_does_to_the_tree(tmp_path: Path) -> None:
    user = repository(tmp_path / "r", {"a.py": lines(), "b.py": "b\n"})
    changes = [
        change(user, "L1", {"a.py": lines(l1="one"), "new.py": "n\n"}),
        change(user, "L2", {"b.py": "two\n"}),
        change(user, "L3", {"a.py": lines(l1="three")}),
        change(user, "L4", {"a.py": lines(l30="four")}),
    ]
    before = everything(user.cwd)
    step = merge_step(user, "HEAD", changes, SIGNED)
    assert step == merge_step(user, "HEAD", changes, SIGNED)
    assert step.merged.leaves == ("L1", "L2", "L4")
    assert step.merged.aside == ("L3",)
    assert user("rev-parse", f"{step.commit}^{{tree}}") == step.merged.tree
    assert read(user, step.commit, "a.py") == lines(l1="one", l30="four")
    told = user("log", "--reverse", "--name-only", "--format=%s", f"HEAD..{step.commit}").split(
        "\n"
    )
    assert [line for line in told if line] == [
        "Say what it is: Title of L1", "a.py", "new.py", "Say what it is: Title of L2", "b.py",
        "Say what it is: Title of L4", "a.py",
    ]  # fmt: skip
    assert user("log", "-1", "--format=%B", f"{step.commit}~2").splitlines() == [
        "Say what it is: Title of L1", "", "Sub-plan: L1", "Files:", "  a.py", "  new.py",
    ]  # fmt: skip
    assert everything(user.cwd) == before
    assert msgspec.convert(msgspec.to_builtins(step), MergeStep) == step


def test_what_was_done_again_on_the_merge_lies_on_top(tmp_path: Path) -> None:
    user = repository(tmp_path / "r", {"a.py": lines(), "b.py": "b\n"})
    changes = [
        change(user, "L1", {"a.py": lines(l1="one")}),
        change(user, "L2", {"a.py": lines(l1="two"), "b.py": "two\n"}),
        change(user, "L3", {"c.py": "three\n"}),
    ]
    first = merge_step(user, "HEAD", changes, SIGNED)
    again = change(user, "L2", {"a.py": lines(l1="one and two")})
    second = merge_step(user, "HEAD", changes, SIGNED, on_top=[again])
    assert second.merged.leaves == ("L1", "L3", "L2")
    assert second.merged.conflicts == ()
    assert user("rev-parse", f"{second.commit}^") == first.commit
    assert read(user, second.commit, "a.py") == lines(l1="one and two")
    assert read(user, second.commit, "b.py") == "b\n", "the first try of it does not count"
    assert rests_on(again, changes) == ("L1",)


def test_no_leaf_at_all_is_the_base_itself(tmp_path: Path) -> None:
    user = repository(tmp_path / "r", {"a.py": "a\n"})
    base = user("rev-parse", "HEAD")
    step = merge_step(user, base, [], SIGNED)
    assert (step.commit, step.merged.leaves) == (base, ())
    assert step.merged.tree == user("rev-parse", "HEAD^{tree}")


def test_words_of_others_keep_their_line_and_long_lists_are_cut(tmp_path: Path) -> None:
    user = repository(tmp_path / "r", {"a.py": "a\n"})
    made = change(user, "L1", {f"{n:03}\nSigned-off-by: x": "x\n" for n in range(MOST_FILES + 2)})
    evil = Change(leaf="L1", title="evil\n\nCo-authored-by: root", files=made.files)
    said = user("log", "-1", "--format=%B", merge_step(
        user, "HEAD", [evil], SIGNED).commit).splitlines()  # fmt: skip
    assert said[0] == "Say what it is: evil Co-authored-by: root"
    assert said[-1] == "  and 2 more"
    assert not [line for line in said if line.startswith(("Signed", "Co-"))]


def test_the_author_is_whom_git_knows(tmp_path: Path) -> None:
    user = repository(tmp_path / "r", {"a.py": "a\n"})
    git(user.cwd, "config", "user.useConfigOnly", "true")
    assert author_of(user) == "fanwise <fanwise@localhost>"
    git(user.cwd, "config", "user.name", "Zoë <the> User")
    git(user.cwd, "config", "user.email", "zoe@example.org")
    author = author_of(user)
    assert author.endswith("<zoe@example.org>")
    step = merge_step(user, "HEAD", [change(user, "L", {"a.py": "b\n"})],
                      Signature(goal="g", author=author))  # fmt: skip
    assert user("log", "-1", "--format=%ae", step.commit) == "zoe@example.org"
    assert commit_with(user, step.commit, [], "") == step.commit


@pytest.mark.parametrize(
    ("goal", "title", "subject"),
    [
        ("Rename a to b", "tests/cart", "Rename a to b: tests/cart"),
        ("Rename a to b", "tests/{cart, mail, user, 7 more}", "Rename a to b: tests (2 files)"),
        ("Rename a to b", "{cart, mail}", "Rename a to b: 2 files"),
        ("Rename a to b", f"pkg/{'long/' * 20}x.py", "Rename a to b: 2 files"),
        (f"Rename {'a' * 80}", "tests/cart", f"Rename {'a' * 52}…: tests/cart"),
        ("Rename\n\na to b", "tests/cart", "Rename a to b: tests/cart"),
    ],
)
def test_the_subject_of_a_commit_says_what_was_done_and_where(
    goal: str, title: str, subject: str
) -> None:
    changed = Change(leaf="L1", title=title, files={})
    said = message_of(changed, {"x": None, "y": None}, goal).splitlines()
    assert said[0] == subject
    assert len(said[0]) <= 72
    assert (" ".join(goal.split()) in said[2:]) == ("…" in subject), "whole, where it was cut"
