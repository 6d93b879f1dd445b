"""Each workspace is a repository of its own: what git does in one stays there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fanwise.workspaces import WorkspacePool, environment
from tests.workspaces.support import commit, everything, files, git, make_repo, write

COMMANDS = """
git config user.name Worker
git config user.email worker@example.org
git config core.hooksPath hooks
git config --unset core.hooksPath
echo 1 >> a.txt
git stash
git stash list
git stash pop
git add -A
git commit -qm one
git commit -q --amend -m amended
git tag v9
git tag -a v10 -m annotated
git tag -d v1
git branch feature
git branch -D other
git branch -f main HEAD~1
git switch -q feature
git checkout -q -b topic
echo 2 >> a.txt
git commit -qam two
git rebase -q feature
git merge -q --no-ff -m merged feature
git cherry-pick --allow-empty HEAD~1
git revert --no-edit HEAD
git reset -q --hard HEAD~1
git worktree add -q ../more HEAD
git worktree prune
git notes add -m note
git update-ref refs/heads/main HEAD
git update-ref refs/stash HEAD
git symbolic-ref HEAD refs/heads/elsewhere
git reflog expire --expire=now --all
git gc -q --prune=now
git repack -qad
git prune
git pack-refs --all
git remote add origin /nowhere
git submodule init
git submodule update
git sparse-checkout set src
git sparse-checkout disable
git clean -qffdx
printf '#!/bin/sh\\ntouch ran\\n' > .git/hooks/post-commit
git update-index --assume-unchanged a.txt
git push origin main
git filter-branch -f HEAD
git checkout -q --orphan empty
git rm -rqf .
""".strip().splitlines()


def run(ws: Path, *commands: str, env: dict[str, str] | None = None) -> None:
    """Run them in one shell, whatever comes of each."""
    script = "\n".join(commands)
    subprocess.run(["sh", "-c", script], cwd=ws, capture_output=True, check=False, env=env)


def test_the_users_repository_is_as_it_was_whatever_git_is_told_in_a_workspace(repo: Path) -> None:
    """The fixture compares it, to the byte: the index, refs, stash, configuration and hooks."""
    assert len(COMMANDS) >= 30
    with WorkspacePool(repo, slots=2) as pool:
        with pool.workspace() as one, pool.workspace() as two:
            before = everything(repo), everything(two.root)
            for command in COMMANDS:
                run(one.root, command)
                assert (everything(repo), everything(two.root)) == before, command
            assert one.changed_files() != []
        with pool.workspace() as first, pool.workspace() as second:
            for again in (first, second):  # one of them is the slot of `one`
                assert again.changed_files() == []
                assert git(again.root, "stash", "list") == ""
                assert "v9" not in git(again.root, "tag")


def test_a_stash_in_one_workspace_is_seen_in_no_other(repo: Path) -> None:
    with WorkspacePool(repo, slots=2) as pool, pool.workspace() as one, pool.workspace() as two:
        for name, ws in (("one", one), ("two", two)):
            assert git(ws.root, "stash", "list") == "", "the user has one, and it stays theirs"
            assert git(ws.root, "for-each-ref", "refs/stash") == ""
            ws.write("a.txt", f"{name}\n")
            git(ws.root, "stash")
        git(one.root, "stash", "pop")
        git(two.root, "stash", "pop")
        assert (one.root / "a.txt").read_text() == "one\n"
        assert (two.root / "a.txt").read_text() == "two\n"


def test_what_was_committed_is_a_change_like_any_other(repo: Path) -> None:
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as ws:
        ws.write("a.txt", "committed\n")
        git(ws.root, "commit", "-qam", "mine")
        ws.write("new.txt", "not committed\n")
        assert ws.changed_files() == ["a.txt", "new.txt"]
        made = ws.commit_tree("both")
        assert git(repo, "show", f"{made}:a.txt") == "committed"
        assert git(repo, "rev-parse", f"{made}^") == pool.base


def test_refs_and_history_are_there_to_look_at_and_no_remote_to_push_to(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    git(repo, "tag", "v1")
    git(repo, "remote", "add", "origin", "https://user:secret@example.org/x.git")
    git(repo, "config", "http.https://example.org/.extraheader", "AUTHORIZATION: secret")
    git(repo, "config", "user.name", 'A "quoted" \\ name')
    write(repo / "a.txt", "two\n")
    commit(repo)
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as ws:
        assert git(ws.root, "rev-parse", "main") == pool.base
        assert git(ws.root, "diff", "--name-only", "v1", "main") == "a.txt"
        assert len(git(ws.root, "log", "--format=%H").split()) == 2
        assert git(ws.root, "remote") == ""
        assert "secret" not in git(ws.root, "config", "--list")
        assert git(ws.root, "config", "user.name") == 'A "quoted" \\ name'


def test_a_shallow_clone_is_a_repository_too(tmp_path: Path) -> None:
    origin = make_repo(tmp_path / "origin")
    write(origin / "a.txt", "two\n")
    commit(origin)
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{origin}", "shallow")
    with WorkspacePool(tmp_path / "shallow", slots=1) as pool, pool.workspace() as ws:
        assert len(git(ws.root, "log", "--format=%H").split()) == 1
        assert git(ws.root, "status", "--porcelain") == ""


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_whatever_the_format_of_its_objects(tmp_path: Path, kind: str) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", f"--object-format={kind}")
    write(repo / "a.txt", "a\n")
    commit(repo)
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as ws:
        ws.write("a.txt", "b\n")
        git(ws.root, "commit", "-qam", "mine")
        assert ws.changed_files() == ["a.txt"]


def test_without_its_repository_git_finds_no_other_one_above(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")  # somebody's home, with the cache in it
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as ws:
        run(ws.root, "rm -rf .git; git add -A; git config a.b c", env=environment(ws))
    assert not (tmp_path / ".git" / "index").exists()
    assert "[a]" not in (tmp_path / ".git" / "config").read_text()


# -- submodules ----------------------------------------------------------------------------------


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    inner = make_repo(tmp_path / "inner", {"in.txt": "in\n"})
    first = git(inner, "rev-parse", "HEAD")
    write(inner / "in.txt", "second\n")
    commit(inner)
    outer = make_repo(tmp_path / "outer")
    git(outer, "submodule", "add", "-q", str(inner), "libs/inner")
    git(outer / "libs/inner", "tag", "first", first)
    commit(outer)
    return outer


@pytest.mark.parametrize("how", ["edited", "committed", "new file"])
def test_edits_in_a_submodule_are_undone_and_returned(outer: Path, how: str) -> None:
    before = everything(outer)
    with WorkspacePool(outer, slots=1) as pool, pool.workspace() as ws:
        new = files(ws.root)
        inner = ws.root / "libs/inner"
        assert ws.undo_in_submodules() == {}
        write(inner / ("new.txt" if how == "new file" else "in.txt"), "edited\n")
        if how == "committed":
            git(inner, "commit", "-qam", "mine")
            assert ws.changed_files() == ["libs/inner"]
        (patch,) = ws.undo_in_submodules().values()
        assert b"+edited\n" in patch
        assert b" b/libs/inner/" in patch
        assert (files(ws.root), ws.changed_files()) == (new, [])
    assert everything(outer) == before


def test_another_commit_of_a_submodule_is_a_change_of_the_outer_repository(outer: Path) -> None:
    with WorkspacePool(outer, slots=1) as pool, pool.workspace() as ws:
        git(ws.root / "libs/inner", "checkout", "-q", "first")
        assert ws.undo_in_submodules() == {}
        assert ws.changed_files() == ["libs/inner"]
