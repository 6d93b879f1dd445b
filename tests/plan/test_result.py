"""What a plan leaves behind, how it gets into the user's tree, and out of it again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from fanwise.errors import NotApplied, UsageError
from fanwise.plan.merge.publish import (
    PATCH,
    RolledBack,
    apply,
    branch_name,
    check_result,
    leave,
    rollback,
)
from fanwise.plan.merge.step import Signature, merge_step
from fanwise.plan.model.leaf_result import Change
from fanwise.plan.model.merge_result import MergeStep, PublishedResult
from fanwise.plan.model.node import FileNote
from fanwise.workspaces.git import Git
from fanwise.workspaces.source import start_of
from tests.plan.merge.support import Content, blob, change
from tests.workspaces.support import everything, files, git, make_repo, write

FILES = {
    "a.py": "a\n",
    "pkg/b.py": "b\n",
    "gone.py": "gone\n",
    "turns": "a file\n",
    "folder/one.py": "1\n",
    "run.sh": "exit\n",
}
EDITS: dict[str, Content] = {
    "a.py": "A\n",
    "gone.py": None,
    'odd "na\nme é.py': "new\n",
    "turns": None,
    "turns/into.py": "a folder\n",
    "folder/one.py": None,
    "folder": "a file\n",
    "binary": b"\0\1\2\xff" * 100,
    "empty": "",
}
ROOT = "0123456789abcdef"
NAME = "fanwise/plan-0123456789ab"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user in the middle of work: a staged file, a changed one, an untracked one, a hook."""
    monkeypatch.setenv("FANWISE_CACHE", str(tmp_path / "cache"))
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    repo = make_repo(tmp_path / "user's project", FILES)
    write(repo / "pkg/b.py", "stashed\n")
    git(repo, "stash")
    write(repo / "staged.txt", "staged\n")
    git(repo, "add", "staged.txt")
    write(repo / "pkg/b.py", "changed\n")
    write(repo / "untracked.txt", "untracked\n")
    hook = repo / ".git" / "hooks" / "reference-transaction"
    write(hook, f"#!/bin/sh\ntouch '{tmp_path}/hook-ran'\n")
    hook.chmod(0o755)
    return repo


def step_of(repo: Path, edits: dict[str, Content] = EDITS) -> tuple[str, MergeStep]:
    user = Git(repo)
    base = user("rev-parse", "HEAD")
    runs = blob(user, "exit\n", "100755")
    changes = [change(user, "L1", edits), change(user, "L2", {"run.sh": runs})]
    return base, merge_step(user, base, changes, Signature(goal="g"))


def left(repo: Path, folder: Path, *, branch: str | None = NAME) -> tuple[str, PublishedResult]:
    base, step = step_of(repo)
    return base, leave(repo, base, step, branch=branch, folder=folder)


def without_branch(state: dict[str, object]) -> dict[str, object]:
    inner = state["git"]
    assert isinstance(inner, dict)
    kept = {name: digest for name, digest in inner.items() if "fanwise" not in name}
    return {"tree": state["tree"], "git": kept}


def test_a_branch_and_a_patch_are_made_and_nothing_else(repo: Path, tmp_path: Path) -> None:
    base, step = step_of(repo)
    before = everything(repo)
    said = (FileNote("L9", "in conflict"),)
    result = leave(repo / "pkg", base, step, branch=branch_name(ROOT), folder=tmp_path / "run",
                   left_out=said)  # fmt: skip
    assert result == PublishedResult(
        commit=step.commit, branch=NAME, patch=PATCH, leaves=("L1", "L2"), left_out=said
    )
    after = everything(repo)
    assert without_branch(after) == without_branch(before)
    assert git(repo, "rev-parse", NAME) == step.commit
    assert git(repo, "rev-list", "--count", f"{base}..{NAME}") == "2"
    assert not (tmp_path / "hook-ran").exists()
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "-q", str(repo), str(copy))
    git(copy, "apply", "--index", str(tmp_path / "run" / PATCH))
    assert git(copy, "write-tree") == step.merged.tree


def test_a_second_call_finds_the_first_ones_branch(repo: Path, tmp_path: Path) -> None:
    first = left(repo, tmp_path)
    before = everything(repo)
    assert left(repo, tmp_path) == first
    assert everything(repo) == before


def test_a_branch_of_an_earlier_run_is_not_moved(repo: Path, tmp_path: Path) -> None:
    git(repo, "branch", NAME)
    check_result(repo, ROOT)
    base, result = left(repo, tmp_path)
    assert result.branch == f"{NAME}-2"
    assert git(repo, "rev-parse", NAME) == base
    assert left(repo, tmp_path)[1] == result


def test_a_name_that_cannot_be_is_said_before(repo: Path, tmp_path: Path) -> None:
    git(repo, "branch", "fanwise")
    with pytest.raises(UsageError, match="together"):
        check_result(repo, ROOT)
    before = everything(repo)
    with pytest.raises(NotApplied, match="was not made"):
        left(repo, tmp_path)
    assert everything(repo) == before
    assert (tmp_path / PATCH).exists(), "the work is not lost"


def test_a_patch_only_and_no_change_at_all(repo: Path, tmp_path: Path) -> None:
    before = everything(repo)
    _, result = left(repo, tmp_path / "one", branch=None)
    assert (result.branch, result.patch) == (None, PATCH)
    base, step = step_of(repo)
    nothing = merge_step(Git(repo), base, [], Signature(goal="g"))
    result = leave(repo, base, nothing, branch=NAME, folder=tmp_path / "two")
    assert (result.branch, result.patch, result.commit) == (None, None, base)
    assert step.commit != base
    assert everything(repo) == before


def test_applied_and_rolled_back_all_is_as_before(repo: Path, tmp_path: Path) -> None:
    before = everything(repo)
    base, result = left(repo, tmp_path / "run")
    written = apply(repo, base, result.commit)
    assert sorted(written) == sorted({*EDITS, "run.sh"})
    assert (repo / "turns/into.py").read_text() == "a folder\n"
    assert (repo / "folder").read_text() == "a file\n"
    assert (repo / "run.sh").stat().st_mode & 0o100
    applied = everything(repo)
    assert without_branch(applied)["git"] == without_branch(before)["git"]
    assert apply(repo, base, result.commit) == [], "a second time there is nothing to do"
    assert rollback(repo, base, result) == RolledBack(files=tuple(written), branch=NAME)
    after = everything(repo)
    assert without_branch(after) == without_branch(before)
    assert after["refs"] == before["refs"]
    assert rollback(repo, base, result) == RolledBack(), "a second time there is nothing to undo"
    assert not (tmp_path / "hook-ran").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.py", "mine\n"), ("gone.py", "mine\n"), ("binary", "in the way\n"), ("a.py", None)],
)
def test_files_that_are_not_as_they_were_are_refused_and_none_is_written(
    repo: Path, tmp_path: Path, name: str, text: str | None
) -> None:
    base, result = left(repo, tmp_path / "run")
    if text is None:
        (repo / name).unlink()
    else:
        write(repo / name, text)
    before = everything(repo)
    with pytest.raises(NotApplied, match="as in the commit that the plan started from") as raised:
        apply(repo, base, result.commit)
    assert raised.value.files == [name]
    assert everything(repo) == before


@pytest.mark.parametrize("name", ["a.py", "gone.py", "turns/into.py", "empty"])
def test_what_was_changed_after_it_was_applied_is_not_rolled_back(
    repo: Path, tmp_path: Path, name: str
) -> None:
    base, result = left(repo, tmp_path / "run")
    apply(repo, base, result.commit)
    write(repo / name, "mine, later\n")
    before = everything(repo)
    with pytest.raises(NotApplied, match="as the plan left them") as raised:
        rollback(repo, base, result)
    assert raised.value.files == [name]
    assert everything(repo) == before, "the branch is there, too"


def test_what_was_never_applied_does_not_keep_the_branch(repo: Path, tmp_path: Path) -> None:
    base, result = left(repo, tmp_path / "run")
    write(repo / "a.py", "my own work, meanwhile\n")
    before = files(repo)
    assert rollback(repo, base, result) == RolledBack(branch=NAME)
    assert files(repo) == before


def test_a_dirty_start_is_applied_onto_the_dirty_files_and_undone(repo: Path) -> None:
    start = start_of(repo, dirty=True)
    before = files(repo)
    user = Git(repo)
    edits: dict[str, Content] = {"pkg/b.py": "changed twice\n", "untracked.txt": None}
    changes = [change(user, "L1", edits)]
    step = merge_step(user, start.commit, changes, Signature(goal="g"))
    assert sorted(apply(repo, start.commit, step.commit)) == sorted(edits)
    assert (repo / "pkg/b.py").read_text() == "changed twice\n"
    rollback(repo, start.commit, PublishedResult(commit=step.commit))
    assert files(repo) == before


def test_what_was_broken_off_in_the_middle_is_finished_by_a_second_call(
    repo: Path, tmp_path: Path
) -> None:
    before = files(repo)
    base, result = left(repo, tmp_path / "run")
    write(repo / "a.py", "A\n")
    (repo / "gone.py").unlink()
    assert "a.py" not in apply(repo, base, result.commit)
    applied = files(repo)
    write(repo / "a.py", "a\n")
    write(repo / "gone.py", "gone\n")
    (repo / "empty").unlink()
    assert set(rollback(repo, base, result).files) == {*EDITS, "run.sh"} - {
        "a.py", "gone.py", "empty",
    }  # fmt: skip
    assert files(repo) == before
    apply(repo, base, result.commit)
    assert files(repo) == applied


KILLED = """
import os, signal, sys
from pathlib import Path
from fanwise.plan.merge import publish as result
real = result.make_branch
def dies(*args):
    if sys.argv[5] == "after":
        real(*args)
    os.kill(os.getpid(), signal.SIGKILL)
result.make_branch = dies
import msgspec
from fanwise.plan.model.merge_result import MergeStep
step = msgspec.json.decode(sys.argv[3], type=MergeStep)
result.leave(Path(sys.argv[1]), sys.argv[2], step, branch=sys.argv[4], folder=Path(sys.argv[6]))
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_around_the_branch_is_made_good_by_a_second_call(
    repo: Path, tmp_path: Path, moment: str
) -> None:
    base, step = step_of(repo)
    told = msgspec.json.encode(step).decode()
    argv = [sys.executable, "-c", KILLED, str(repo), base, told, NAME, moment, str(tmp_path / "r")]
    assert subprocess.run(argv, check=False).returncode == -9
    result = leave(repo, base, step, branch=NAME, folder=tmp_path / "r")
    assert result.branch == NAME
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/heads/fanwise").split() == [
        f"refs/heads/{NAME}"
    ]


def test_a_branch_that_was_gone_on_with_or_is_checked_out_stays(repo: Path, tmp_path: Path) -> None:
    base, result = left(repo, tmp_path / "run")
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"), NAME)
    undone = rollback(repo, base, result)
    assert undone.branch is None
    assert "checked out" in undone.kept
    write(tmp_path / "tree" / "more.py", "more\n")
    git(tmp_path / "tree", "add", "-A")
    git(tmp_path / "tree", "commit", "-qm", "more")
    assert "other commits" in rollback(repo, base, result).kept
    shutil.rmtree(tmp_path / "tree")
    git(repo, "worktree", "prune")
    assert git(repo, "rev-parse", f"{NAME}^") == result.commit


def test_a_commit_that_is_gone_is_said(repo: Path) -> None:
    with pytest.raises(NotApplied, match="not there any more"):
        apply(repo, "HEAD", "f" * 40)


def test_thousands_of_files_are_no_matter(repo: Path) -> None:
    """More names than a command line can hold."""
    user = Git(repo)
    one = blob(user, "x\n")
    many = {f"deep/{'folder' * 20}/{number:05}.py": one for number in range(600)}
    step = merge_step(user, "HEAD", [Change(leaf="L", title="L", files=many)],
                      Signature(goal="g"))  # fmt: skip
    base = user("rev-parse", "HEAD")
    assert len(apply(repo, base, step.commit)) == 600
    result = PublishedResult(commit=step.commit)
    assert len(rollback(repo, base, result).files) == 600
