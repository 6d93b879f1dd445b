"""A run that is made again, or killed at any moment: what was done is not done again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fanwise.plan import PlanResult, Work, run_plan_sync
from tests.cli.support import Place
from tests.marks import slow
from tests.plan.support import (
    commit,
    git,
    make_repo,
    packages,
    run_cli,
    show,
    write,
    write_plan,
)

SPLIT = {"mode": "directory", "max_files": 2, "min_files": 1}


class Counting:
    """A function that does the work, and remembers of which sub-plans."""

    def __init__(self, name: str = "counting") -> None:
        self.__qualname__ = name
        self.titles: list[str] = []
        self.fails: set[str] = set()

    def __call__(self, work: Work) -> None:
        self.titles.append(work.title)
        if work.title in self.fails:
            raise ValueError("too hard")
        for name in work.files:
            path = work.root / name
            path.write_text(f"{path.read_text()}# {self.__qualname__}\n")


def run(repo: Path, each: Any, **options: Any) -> PlanResult:
    given = {"split": SPLIT, "retry": 0, "fields": {"sandbox": False}, **options}
    return run_plan_sync(
        "go", each, repo=repo, run="r", journal=repo.parent / "journal.db", cap=1, **given
    )


def again(repo: Path, each: Counting, **options: Any) -> tuple[list[str], PlanResult]:
    """The same once more; which sub-plans were done."""
    each.titles.clear()
    found = run(repo, each, **options)
    return list(each.titles), found


def test_made_again_only_what_has_changed_is_done(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(4))
    each = Counting()
    assert again(repo, each)[0] == ["p00", "p01", "p02", "p03"]
    assert again(repo, each)[0] == [], "nothing has changed"
    write(repo / "p01/m0.py", "VALUE = 'edited'\n")
    base = commit(repo, "edited")
    titles, found = again(repo, each)
    assert titles == ["p01"]
    assert found.ok
    assert found.base == base
    assert found.commit is not None
    assert git(repo, "merge-base", found.commit, "main") == base, "the result is on the new commit"
    assert show(repo, found.commit, "p01/m0.py") == "VALUE = 'edited'\n# counting"
    assert show(repo, found.commit, "p03/m1.py") == "VALUE = 31\n# counting"
    every = ["p00", "p01", "p02", "p03"]
    assert sorted(again(repo, each, verify="true")[0]) == every, "verified anew"
    other = Counting("other")
    assert sorted(again(repo, other)[0]) == every, "done by another"


def test_failures_are_kept_until_they_are_asked_for_again(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(3))
    each = Counting()
    each.fails = {"p01"}
    assert not again(repo, each)[1].ok
    titles, found = again(repo, each)
    assert titles == []
    assert found.leaf("p01").state == "failed"
    assert found.leaf("p01").reason == "work failed: ValueError: too hard"
    each.fails = set()
    titles, found = again(repo, each, retry_failed=True)
    assert titles == ["p01"]
    assert found.ok


def test_fail_fast_made_again_starts_nothing_beyond_the_failure(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(3))
    each = Counting()
    each.fails = {"p01"}
    assert again(repo, each, fail_fast=True)[0] == ["p00", "p01"]
    titles, found = again(repo, each, fail_fast=True)
    assert titles == []
    assert found.state.halted == found.leaf("p01").id
    each.fails = set()
    assert again(repo, each, fail_fast=True, retry_failed=True)[0] == ["p01", "p02"]


def test_what_git_has_thrown_away_is_done_anew(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(2))
    each = Counting()
    found = run(repo, each)
    assert found.branch is not None
    git(repo, "branch", "-D", found.branch)
    assert again(repo, each)[0] == [], "all its objects are there"
    assert git(repo, "branch", "--list", found.branch), "and the branch is there again"
    git(repo, "branch", "-D", found.branch)
    git(repo, "gc", "-q", "--prune=now")
    titles, found = again(repo, each)
    assert titles == ["p00", "p01"]
    assert found.ok


def test_sub_plans_that_were_returned_are_not_done_again(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(1, files=4))
    begun: list[int] = []

    def work(work: Work) -> Any:
        begun.append(len(work.files))
        if len(work.files) == 4:
            parts = (work.files[:1], work.files[1:])
            return {"subplans": [{"goal": f"{len(p)}", "files": [*p]} for p in parts]}
        if len(work.files) == 3 and begun.count(3) == 1:
            raise ValueError("once")
        (work.root / work.files[0]).write_text("D = 1\n")
        return None

    split = {"mode": "directory", "max_files": 4}
    assert [leaf.state for leaf in run(repo, work, split=split).leaves] == [
        "split", "done", "failed",
    ]  # fmt: skip
    assert sorted(begun) == [1, 3, 4]
    found = run(repo, work, split=split, retry_failed=True)
    assert begun[3:] == [3]
    assert found.ok


# -- SIGKILL ---------------------------------------------------------------------------------------

WORKER = """
import os, sys
with open(os.environ["LOG"], "a") as log:
    log.write(os.environ["FANWISE_PLAN_TITLE"] + "\\n")
for name in sys.argv[1:]:
    with open(name, "a") as file:
        file.write("# done\\n")
if os.environ["FANWISE_PLAN_TITLE"] != "p00":
    lines = open("list.txt").read()
    open("list.txt", "w").write(lines + os.environ["FANWISE_PLAN_TITLE"] + "\\n")
"""
POINTS = (
    "item.worked:2",  # the first leaf is done; the second has ended, and nobody knows
    "item.recorded:3",  # both others are done, and merged
    "item.worked:1",  # the one in conflict was done again, and nobody knows
    "item.recorded:3",  # it is merged, and all of it was checked
    "item.worked:1",  # the branch is there, and nobody knows
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    found = Place(tmp_path)
    yield found
    found.clean_up()


def state(repo: Path) -> tuple[object, ...]:
    """What is the user's: to the byte."""
    tree = {str(p): p.read_bytes() for p in sorted(repo.rglob("*.*")) if ".git" not in p.parts}
    return tree, (repo / ".git/index").read_bytes(), (repo / ".git/HEAD").read_bytes()


@slow
def test_killed_at_every_stage_it_goes_on_and_comes_to_the_same(place: Place, cache: Path) -> None:
    repo = make_repo(place.path / "repo", {**packages(3), "list.txt": "start\n"})
    write(place.path / "worker.py", WORKER)
    check = f"echo checked >> {place.path / 'log'}"
    write_plan(
        place.path, files="**/*.py", shared="list.txt", max_parallel=1, retry=0, sandbox=False,
        each={"command": f"python3 {place.path / 'worker.py'} {{files}}"}, check=check,
        split=SPLIT,
    )  # fmt: skip
    log = place.path / "log"
    env = {"LOG": str(log), "FANWISE_CACHE": str(cache.parent)}
    before, refs = state(repo), git(repo, "for-each-ref")
    words: tuple[str, ...] = ("run", "plan.json", "--yes")
    for point in POINTS:
        assert git(repo, "for-each-ref") == refs, "no branch before all is checked"
        killed = place.run(*words, given=b"", **env, FANWISE_CRASH_AT=point)
        assert killed.returncode == -9, (point, killed.stderr)
        assert state(repo) == before
        words = ("resume", "plan")
    done = place.run(*words, "--json", given=b"", **env)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["result"]
    assert log.read_text().split() == [
        "p00", "p01", "p01", "p02", "p02", "p02", "checked",
    ], "only what had not been recorded was done twice"  # fmt: skip
    assert state(repo) == before
    branches = git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/fanwise")
    assert branches == found["result"]["branch"], "there is one"
    lines = show(repo, branches, "list.txt").split()
    assert lines == ["start", "p01", "p02"]
    assert not list(cache.rglob("*.py")), "no workspace is left"
    assert git(repo, "worktree", "list").count("\n") == 0


def test_what_may_have_run_twice_is_named_once(place: Place, cache: Path) -> None:
    make_repo(place.path / "repo", packages(3))
    each = {"command": "for f in {files}; do echo more >> $f; done"}
    write_plan(place.path, each=each, split=SPLIT, max_parallel=1)
    env = {"FANWISE_CACHE": str(cache.parent)}
    words = ("run", "plan.json", "--yes")
    killed = place.run(*words, given=b"", **env, FANWISE_CRASH_AT="item.worked:2")
    assert killed.returncode == -9, killed.stderr
    first = place.run("resume", "plan", given=b"", **env)
    assert first.returncode == 0
    assert first.stderr.decode().endswith(
        "1 had been started before and not finished; it may have run twice:\n  p01\n"
    )
    assert b"twice" not in place.run("resume", "plan", given=b"", **env).stderr


def test_a_step_of_a_workflow_goes_on_with_its_sub_plans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first time one fails; the resume does that one again, and no other."""
    repo = make_repo(tmp_path / "repo", packages(3, files=1))
    write(repo / "odd.txt", "not committed\n")
    log = tmp_path / "log"
    write_plan(
        tmp_path, split={**SPLIT, "max_files": 1}, retry=0, sandbox=False,
        each={
            "command": f"echo $FANWISE_PLAN_TITLE >> {log}; for f in {{files}}; do echo x > $f; "
            f"done; test $FANWISE_PLAN_TITLE != p01/m0.py || test -e {tmp_path}/fixed"
        },
    )  # fmt: skip
    step = {"id": "migrate", "type": "plan", "file": "plan.json"}
    said = {"id": "say", "type": "shell", "run": "echo {{ steps.migrate.output.stdout }} > said"}
    flow = {"workflow": {"id": "w", "name": "w"}, "steps": [step, said]}
    write(tmp_path / "flow.yaml", json.dumps(flow))
    monkeypatch.chdir(tmp_path)
    assert run_cli("run", "flow.yaml", "--run", "w") == 1
    assert sorted(log.read_text().split()) == ["p00/m0.py", "p01/m0.py", "p02/m0.py"]
    why = "migrate: 1 failed: p01/m0.py: work failed: the command exited with code 1"
    assert why in capfd.readouterr().err, "and not that something was not committed"
    write(tmp_path / "fixed", "")
    assert run_cli("resume", "w", "--retry-failed") == 0
    assert log.read_text().split()[3:] == ["p01/m0.py"]
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/heads/fanwise")
    told = (tmp_path / "said").read_text()
    assert "the result: branch fanwise/plan-" in told
    assert "fanwise resume" not in told, "a workflow knows no --apply"
