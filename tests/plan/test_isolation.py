"""Whatever a worker does with git, sub-plans do not meet, and nothing is lost in silence."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from fanwise.journal.open import open_journal
from fanwise.plan import PlanResult, Work, run_plan_sync
from fanwise.plan.system import SYSTEM
from tests.plan.support import commit, git, make_repo, packages, run_cli, show, write, write_plan
from tests.workspaces.support import everything

SPLIT = {"mode": "directory", "max_files": 1, "min_files": 1}


def run(repo: Path, command: str, **options: object) -> PlanResult:
    return run_plan_sync(
        "do it", {"command": command}, repo=repo, split=SPLIT, retry=0, files=["p*/**"],
        fields={"sandbox": False}, **options,  # type: ignore[arg-type]
    )  # fmt: skip


def test_twelve_that_stash_and_pop_all_keep_their_edits(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {**packages(12, files=1), "mine.txt": "mine\n"})
    write(repo / "mine.txt", "stashed by the user\n")
    git(repo, "stash")
    before = everything(repo)
    found = run(repo, 'echo "# {id}" >> {files} && git stash -q && git stash pop -q', cap=12)
    assert found.ok, found.notes
    assert [leaf.state for leaf in found.leaves] == ["done"] * 12
    assert found.commit is not None
    for leaf in found.leaves:
        assert show(repo, found.commit, leaf.files[0]).endswith(f"# {leaf.id}")
    assert show(repo, found.commit, "mine.txt") == "mine"
    git(repo, "update-ref", "-d", f"refs/heads/{found.branch}")
    assert everything(repo) == before


def test_what_is_committed_is_part_of_the_change(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(2, files=1))
    who = "-c user.name=w -c user.email=w@example.org"
    found = run(repo, f"echo more >> {{files}} && git {who} commit -qam mine && git tag v1")
    assert found.ok, found.notes
    assert found.commit is not None
    assert show(repo, found.commit, "p01/m0.py") == "VALUE = 10\nmore"
    assert git(repo, "tag") == ""


def test_a_folder_can_become_a_link(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(2, files=1))
    found = run(repo, "test $FANWISE_PLAN_TITLE = p01/m0.py || { rm -r p00 && ln -s p01 p00; }")
    assert found.ok, found.notes
    assert found.commit is not None
    listed = git(repo, "ls-tree", "-r", "--name-only", found.commit).split()
    assert listed == ["p00", "p01/m0.py"]
    assert show(repo, found.commit, "p00") == "p01"
    assert not any("deleted all" in note for note in found.notes)


def test_no_git_of_a_worker_waits_for_an_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_EDITOR", "false")
    repo = make_repo(tmp_path / "repo", packages(1, files=1))
    who = "git -c user.name=w -c user.email=w@example.org"
    found = run(repo, f"echo 1 >> {{files}}; {who} commit -qam one; {who} commit -q --amend")
    assert found.ok, found.notes


def test_edits_in_a_submodule_are_kept_aside_and_said(tmp_path: Path) -> None:
    inner = make_repo(tmp_path / "inner", {"in.txt": "in\n"})
    repo = make_repo(tmp_path / "repo", packages(1, files=1))
    git(repo, "submodule", "add", "-q", str(inner), "libs/inner")
    commit(repo)
    found = run(repo, "echo edited > libs/inner/in.txt")
    (leaf,) = found.leaves
    assert leaf.state == "unchanged"
    (request,) = leaf.requests
    assert request.path == "libs/inner"
    assert "+edited" in request.patch
    assert any("libs/inner (no sub-plan has it): wanted by" in note for note in found.notes)
    assert (repo / "libs/inner/in.txt").read_text() == "in\n"


def test_a_file_whose_name_is_no_text_is_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    repo = make_repo(tmp_path / "repo", packages(1, files=1))
    write(repo / "p00" / os.fsdecode(b"caf\xe9.py"), "X = 1\n")
    commit(repo)
    write_plan(tmp_path, each={"command": "echo more >> {files}"}, split=SPLIT, sandbox=False)
    assert run_cli("run", "plan.json", "--yes", "--json") == 0
    shown = capfd.readouterr()
    (leaf,) = json.loads(shown.out)["result"]["leaves"]
    assert leaf["files"] == ["p00/m0.py"]
    assert run_cli("check", "plan.json") == 0
    assert "its name is not valid UTF-8" in capfd.readouterr().out


def test_what_a_worker_does_to_the_users_repository_is_said_by_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    repo = make_repo(tmp_path / "repo", {**packages(1, files=1), "mine.txt": "mine\n"})
    write(repo / "dirty.txt", "dirty\n")
    write(repo / "untracked/one.txt", "one\n")
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))

    def work(work: Work) -> None:
        git(repo, "tag", "v1")
        git(repo, "config", "a.b", "c")
        write(repo / "mine.txt", "stash\n")
        git(repo, "stash")
        write(repo / "dirty.txt", "changed\n")
        write(repo / ".git/hooks/post-commit", "#!/bin/sh\n")
        write(repo / "new.txt", "new\n")
        write(repo / "untracked/one.txt", "two\n")
        write(repo / ".git/config.worktree", "[a]\n\tb = c\n")
        write(tmp_path / "gitconfig", "[a]\n\tb = c\n")
        git(repo, "add", "new.txt")
        git(repo, "branch", "mine")
        git(repo, "checkout", "-q", "mine")
        git(repo, "worktree", "remove", "--force", str(tmp_path / "linked"))
        (work.root / work.files[0]).write_text("done\n")

    journal = tmp_path / ".fanwise/journal.db"
    found = run_plan_sync("do it", work, repo=repo, split=SPLIT, files=["p*/**"], retry=0,
                          run="r", journal=journal)  # fmt: skip
    told = (
        "HEAD was changed", "file dirty.txt was changed", "file new.txt is new",
        "file untracked/one.txt was changed",
        "hooks/post-commit is new", "refs/heads/mine is new", "refs/stash is new",
        "refs/tags/v1 is new", "the configuration was changed",
        "the configuration of the work tree was changed", "the index was changed",
        "the stash was changed", "worktrees/linked/gitdir is gone",
        "your global git configuration was changed",
    )  # fmt: skip
    assert found.state.outside == told
    assert "  HEAD was changed" in found.notes
    with closing(open_journal(journal, read_only=True)) as opened:
        assert SYSTEM.report(opened, opened.run("r")).document["outside"] == list(told)
    assert run_cli("show", "r") == 0
    assert "refs/tags/v1 is new" in capfd.readouterr().out


def test_a_run_that_changes_nothing_else_says_nothing_of_the_kind(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(2, files=1))
    write(repo / "dirty.txt", "dirty\n")
    assert run(repo, "echo more >> {files}").state.outside == ()


def test_what_has_changed_is_recorded_also_if_the_run_is_cancelled(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(1, files=1))

    def work(work: Work) -> None:
        git(repo, "tag", "v1")
        raise KeyboardInterrupt

    journal = tmp_path / "journal.db"
    with pytest.raises(KeyboardInterrupt):
        run_plan_sync("do it", work, repo=repo, split=SPLIT, run="r", journal=journal)
    with closing(open_journal(journal, read_only=True)) as opened:
        document = SYSTEM.report(opened, opened.run("r")).document
    assert document["outside"] == ["refs/tags/v1 is new"]
