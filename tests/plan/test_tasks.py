"""A list of tasks instead of one goal and a split."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import BadSpec
from fanwise.plan import PlanResult, Work, run_plan_sync
from tests.plan.support import commit, git, make_repo, run_cli, show, write
from tests.plan.work.test_agent import install, words

LINES = "".join(f"line {number}\n" for number in range(10))


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return make_repo(tmp_path / "repo", {"a.txt": LINES, "b.txt": "b\n", "deep/c.txt": "c\n"})


def run(repo: Path, each: Any, tasks: Any, **more: Any) -> PlanResult:
    fields = {"tasks": tasks, "sandbox": False}
    return run_plan_sync("", each, repo=repo, fields=fields, folder=repo.parent, **more)


def task(name: str, goal: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "goal": goal, **more}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, f"{old!r} is not in {text!r}"
    path.write_text(text.replace(old, new))


def test_tasks_change_any_file_and_each_is_a_commit_of_its_own(repo: Path) -> None:
    prompts = {}

    def work(work: Work) -> None:
        prompts[work.title] = work.prompt
        if work.title == "one":
            edit(work.root / "a.txt", "line 1\n", "first\n")
            write(work.root / "new.txt", "new\n")
        else:
            edit(work.root / "a.txt", "line 8\n", "second\n")
            (work.root / "b.txt").unlink()

    found = run(repo, work, [task("one", "Do the first"), task("two", "Do more", files="deep/*")])
    assert found.ok, found.notes
    assert found.commit is not None
    text = LINES.replace("line 1\n", "first\n").replace("line 8\n", "second\n")
    assert show(repo, found.commit, "a.txt") + "\n" == text
    log = git(repo, "log", "--format=%s", f"main..{found.branch}").splitlines()
    assert sorted(log) == ["Do more: two", "Do the first: one"]
    assert all(leaf.requests == () for leaf in found.leaves)
    assert "You may change any file" in prompts["one"]
    assert "Begin with these files:\n\n- deep/c.txt\n" in prompts["two"]


def test_one_in_conflict_is_tried_again_on_what_is_merged_with_both_sides_shown(
    repo: Path,
) -> None:
    told: list[str] = []

    def work(work: Work) -> None:
        path = work.root / "a.txt"
        other = "two" if work.title == "one" else "one"
        if work.tries:
            told.append(work.prompt)
            edit(path, f"of {other}\n", "of both\n")
        else:
            edit(path, "line 5\n", f"of {work.title}\n")

    found = run(repo, work, [task("one", "x"), task("two", "y")], check="grep both a.txt")
    assert found.ok, found.notes
    (prompt,) = told
    assert "of one" in prompt
    assert "of two" in prompt
    assert found.commit is not None
    assert "of both" in show(repo, found.commit, "a.txt")
    assert [leaf.state for leaf in found.leaves] == ["done", "done"]
    assert len(found.state.conflicts) == 1


def test_tasks_are_merged_as_they_finish_while_others_still_run(repo: Path) -> None:
    """The slow one ends only after one of the others was tried again on top of the merge."""
    tried_again = threading.Event()

    def work(work: Work) -> None:
        path = work.root / "a.txt"
        if work.title == "slow":
            assert tried_again.wait(60), "nothing was merged before this one has ended"
            edit(path, "line 5\n", "of slow\n") if not work.tries else edit(path, "of", "at")
        elif work.tries:
            edit(path, "of", "again of")
            tried_again.set()
        else:
            edit(path, "line 5\n", f"of {work.title}\n")

    found = run(repo, work, [task(name, "x") for name in ("slow", "one", "two")])
    assert found.ok, found.notes
    assert found.commit is not None
    assert "\nagain at " in show(repo, found.commit, "a.txt"), "each began with what was merged"
    subjects = git(repo, "log", "--format=%s", f"main..{found.branch}").splitlines()
    assert subjects[0] == "x: slow", "the last to finish is the last commit"


@pytest.mark.parametrize("second", ["write", "edit and write"])
def test_one_that_makes_a_file_anew_that_a_merged_task_deleted_is_done(
    repo: Path, second: str
) -> None:
    """First a conflict with the deletion; then its file is a new one on top of what is merged."""

    def work(work: Work) -> None:
        if work.title == "one":
            (work.root / "b.txt").unlink()
        elif work.tries:
            assert not (work.root / "b.txt").exists()
            write(work.root / "b.txt", "made anew\n")
            if second == "edit and write":
                edit(work.root / "a.txt", "line 5\n", "five\n")
        else:
            edit(work.root / "b.txt", "b\n", "edited\n")

    found = run(repo, work, [task("one", "x"), task("two", "y")], cap=1)
    assert [(leaf.state, leaf.reason) for leaf in found.leaves] == [("done", ""), ("done", "")]
    assert found.commit is not None
    assert show(repo, found.commit, "b.txt") == "made anew"
    assert len(found.state.conflicts) == 1


def test_one_that_needs_a_task_in_conflict_begins_with_its_second_version(repo: Path) -> None:
    def work(work: Work) -> None:
        path = work.root / "a.txt"
        if work.title == "then":
            edit(path, "both\n", "both, and then\n")
        elif work.tries:
            edit(path, "of a\n" if work.title == "b" else "of b\n", "both\n")
        else:
            edit(path, "line 5\n", f"of {work.title}\n")

    tasks = [task("a", "x"), task("b", "x"), task("then", "y", needs=["a", "b"])]
    found = run(repo, work, tasks)
    assert found.ok, found.notes
    assert found.commit is not None
    assert "both, and then" in show(repo, found.commit, "a.txt")


def test_one_that_needs_two_begins_with_the_lines_of_both_in_one_file(repo: Path) -> None:
    def work(work: Work) -> None:
        path = work.root / "a.txt"
        if work.title == "then":
            assert {"of a", "of b"} < set(path.read_text().splitlines())
            edit(path, "line 5\n", "of then\n")
        else:
            edit(path, f"line {1 if work.title == 'a' else 8}\n", f"of {work.title}\n")

    tasks = [task("a", "x"), task("b", "x"), task("then", "y", needs=["a", "b"])]
    assert run(repo, work, tasks).ok


def test_one_that_needs_a_task_that_was_given_up_is_skipped(repo: Path) -> None:
    def work(work: Work) -> None:
        if work.tries:
            raise ValueError("cannot be settled")
        edit(work.root / "a.txt", "line 5\n", f"of {work.title}\n")

    tasks = [task("a", "x"), task("b", "x"), task("then", "y", needs=["a", "b"])]
    found = run(repo, work, tasks, retry=0)
    assert sorted(leaf.state for leaf in found.leaves) == ["done", "given up", "skipped"]
    assert found.commit is not None, "what could be merged is the result"


def test_one_that_needs_another_begins_with_its_changes_and_goes_on_with_them(repo: Path) -> None:
    def work(work: Work) -> None:
        path = work.root / "a.txt"
        if work.title == "first":
            edit(path, "line 5\n", "five\n")
        else:
            edit(path, "five\nline 6\n", "five\nsix\n")  # beside it: lines of both

    found = run(repo, work, [task("then", "y", needs=["first"]), task("first", "x")])
    assert found.ok, found.notes
    assert found.state.conflicts == ()
    assert [leaf.title for leaf in found.leaves] == ["first", "then"]
    assert found.commit is not None
    assert "five\nsix\n" in show(repo, found.commit, "a.txt")
    assert git(repo, "diff", "--name-only", f"{found.commit}~1", found.commit) == "a.txt"


def test_one_whose_need_failed_is_skipped(repo: Path) -> None:
    def work(work: Work) -> None:
        raise ValueError("too hard")

    found = run(repo, work, [task("a", "x"), task("b", "y", needs=["a"])], retry=0)
    assert [leaf.state for leaf in found.leaves] == ["failed", "skipped"]


def test_tasks_are_kept_on_a_resume_and_done_anew_from_another_commit(repo: Path) -> None:
    done: list[str] = []

    def work(work: Work) -> None:
        done.append(work.title)
        write(work.root / f"{work.title}.txt", "x\n")

    durable = {"run": "r", "journal": repo.parent / "journal.db"}
    tasks = [task("a", "x"), task("b", "y")]
    assert run(repo, work, tasks, **durable).ok
    assert run(repo, work, tasks, **durable).ok
    assert sorted(done) == ["a", "b"]
    write(repo / "b.txt", "edited\n")
    commit(repo)
    assert run(repo, work, tasks, **durable).ok
    assert sorted(done) == ["a", "a", "b", "b"]


@pytest.mark.parametrize("form", ["jsonl", "yaml", "folder"])
def test_tasks_may_be_in_a_file_or_a_folder(
    repo: Path, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = [task("one", "Do the first"), task("two", "Do more", needs=["one"])]
    if form == "jsonl":
        Path("tasks.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    elif form == "yaml":
        text = "- {id: one, goal: Do the first}\n- {id: two, goal: Do more, needs: [one]}\n"
        Path("tasks.yaml").write_text(text)
    else:
        write(Path("tasks/one.md"), "Do the first\n")
        write(Path("tasks/two.txt"), "Do more\n")
        write(Path("tasks/image.png"), "not a task")
    source = "tasks" if form == "folder" else f"tasks.{form}"
    plan = {"tasks": source, "each": {"command": "echo {goal} > $FANWISE_PLAN_TITLE.out"}}
    Path("plan.json").write_text(json.dumps({"plan": {"repo": "repo", "sandbox": False, **plan}}))
    assert run_cli("check", "plan.json") == 0
    assert "2 tasks, 10 at once" in capfd.readouterr().out
    assert run_cli("run", "plan.json", "--yes", "--json") == 0
    found = json.loads(capfd.readouterr().out)["result"]
    assert [(leaf["title"], leaf["state"]) for leaf in found["leaves"]] == [
        ("one", "done"), ("two", "done"),
    ]  # fmt: skip
    assert show(repo, found["result"]["branch"], "two.out") == "Do more"
    assert run_cli("report", "plan") == 0
    assert run_cli("show", "plan", "--items") == 0


def test_a_task_may_have_an_agent_of_its_own(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo.parent / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{repo.parent / 'bin'}:/usr/bin:/bin")
    install(repo, "codex", "echo of codex > codex.txt; rm -r p00", "exit 0")
    (repo.parent / "bin/codex").write_text(
        (repo.parent / "bin/codex").read_text().replace("echo more >> p00/m0.py", "mkdir p00")
    )
    tasks = [task("a", "x", agent="codex"), task("b", "y")]
    found = run(repo, {"command": "echo b > command.txt"}, tasks)
    assert found.ok, found.notes
    assert found.commit is not None
    assert show(repo, found.commit, "codex.txt") == "of codex"
    assert words(repo)[0] == "exec"


@pytest.mark.parametrize(
    ("tasks", "more", "why"),
    [
        ([], {}, "there are no tasks"),
        ([task("a", "x"), task("a", "y")], {}, "there are two tasks 'a'"),
        ([task("a", "x", needs=["b"])], {}, "needs 'b', which is not there"),
        ([task("a", "x", needs=["b"]), task("b", "y", needs=["a"])], {}, "in a circle"),
        ([task("a", "x", files=["nowhere/*"])], {}, "no file matches nowhere"),
        ([task("a", "x", agent="nobody")], {}, "there is no integration 'nobody'"),
        ([{"id": "a"}], {}, "goal"),
        ("missing.jsonl", {}, "cannot be read"),
        ([task("a", "x")], {"split": {"max_files": 2}}, "cannot be used with `tasks`"),
        (None, {}, "must not be empty"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(
    repo: Path, tasks: Any, more: dict[str, Any], why: str
) -> None:
    with pytest.raises(BadSpec, match=why):
        run(repo, lambda work: None, tasks, **more)
