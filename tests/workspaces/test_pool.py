"""Slots are made once, are as new for each use, and leave no trace."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from fanwise.errors import (
    BadCap,
    GitFailed,
    NoFreeWorkspace,
    NoWorkspaces,
    UsageError,
    WorkspaceError,
)
from fanwise.workspaces import Workspace, WorkspacePool
from fanwise.workspaces.source import start_of
from tests.processes.support import eventually_now
from tests.workspaces.support import commit, everything, files, git, make_repo, write


def traces(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*"))


def test_workspaces_are_the_commit_and_not_what_the_user_is_at(repo: Path, cache: Path) -> None:
    with WorkspacePool(repo, slots=2) as pool:
        assert pool.base == git(repo, "rev-parse", "HEAD")
        assert (len(pool), pool.lost, pool.plain) == (2, (), False)
        with pool.workspace() as one, pool.workspace() as two:
            assert one.root != two.root
            for each in (one, two):
                assert not each.root.is_relative_to(repo)
                assert (each.root / "a.txt").read_text() == "a\n"
                assert (each.root / "b.txt").exists()
                assert not (each.root / "staged.txt").exists()
                assert git(each.root, "status", "--porcelain") == ""
                assert git(each.root, "rev-parse", "--abbrev-ref", "HEAD") == "HEAD", "detached"
    assert traces(cache) == []


def test_dirty_workspaces_are_what_the_user_is_at(repo: Path) -> None:
    with WorkspacePool(repo, slots=1, dirty=True) as pool, pool.workspace() as ws:
        wanted = {name: digest for name, digest in files(repo).items() if name != "ignored.log"}
        assert files(ws.root) == wanted
        assert pool.base != git(repo, "rev-parse", "HEAD")
        assert git(repo, "rev-parse", f"{pool.base}^") == git(repo, "rev-parse", "HEAD")


def test_a_clean_tree_is_not_dirty(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "clean")
    with WorkspacePool(repo, slots=1, dirty=True) as pool:
        assert pool.base == git(repo, "rev-parse", "HEAD")


def edit_as_the_index_is_written(repo: Path, name: str, text: str) -> None:
    """Leave an edit whose size and times are those that the index has: as if within one tick."""
    tick = 1_700_000_000
    old = git(repo, "rev-parse", f":{name}")
    write(repo / name, text)
    os.utime(repo / name, (tick, tick))
    write(repo / ".git/info/attributes", f"{name} filter=old\n")
    git(repo, "-c", f"filter.old.clean=git cat-file blob {old}", "update-index", name)
    (repo / ".git/info/attributes").unlink()
    os.utime(repo / ".git/index", (tick, tick))
    assert git(repo, "rev-parse", f":{name}") == old


def test_an_edit_of_equal_size_in_the_tick_of_the_index_is_part_of_the_dirty_state(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path / "racy")
    edit_as_the_index_is_written(repo, "a.txt", "b\n")
    before = everything(repo)
    with WorkspacePool(repo, slots=1, dirty=True) as pool, pool.workspace() as ws:
        assert (ws.root / "a.txt").read_text() == "b\n"
    assert everything(repo) == before


def test_without_a_commit_there_is_only_the_dirty_state(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    git(tmp_path / "new", "init", "-q")
    write(tmp_path / "new" / "a.txt", "a")
    with pytest.raises(WorkspaceError, match="has no commit yet"):
        WorkspacePool(tmp_path / "new").open()
    with WorkspacePool(tmp_path / "new", slots=1, dirty=True) as pool, pool.workspace() as ws:
        assert files(ws.root).keys() == {"a.txt"}


def files_of_git(folder: Path) -> dict[str, bytes]:
    """A repository's files with what is in them, but for the index, which knows times."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in sorted(found.items()) if name != "index"}


def spoil(ws: Workspace, users: Path) -> None:
    """All that a candidate might do to its workspace."""
    root = ws.root
    (root / "a.txt").write_text("b\n")  # as long as it was, in the same second perhaps
    (root / "b.txt").unlink()
    write(root / "new" / "deep" / "file.txt", "new")
    write(root / "src" / "pkg" / "__pycache__" / "x.pyc", "ignored")
    (root / "src" / "link").symlink_to(users)
    shutil.rmtree(root / "src" / "pkg")
    (root / "src" / "pkg").symlink_to("/")
    git(root, "add", "-A")
    git(root, "init", "-q", "nested")
    write(root / "nested" / "file", "in a repository of its own")
    git(root, "update-index", "--assume-unchanged", "a.txt")
    git(root, "update-index", "--skip-worktree", ".gitignore")
    write(root / ".gitignore", "*\n")
    (root / "locked").mkdir()
    write(root / "locked" / "in" / "x", "x")
    (root / "locked").chmod(0)


@pytest.mark.parametrize("git_file", ["kept", "gone", "folder", "the user's", "link"])
def test_whatever_was_done_to_it_a_workspace_is_as_new(repo: Path, git_file: str) -> None:
    with WorkspacePool(repo, slots=1) as pool:
        with pool.workspace() as ws:
            new = files(ws.root)
            link = ws.root / ".git"
            theirs = files_of_git(link)
            spoil(ws, repo)
            (link / "index.lock").touch()
            if git_file != "kept":
                shutil.rmtree(link)
            if git_file == "folder":
                git(ws.root, "init", "-q")
                git(ws.root, "commit", "-q", "--allow-empty", "-m", "mine")
            elif git_file == "the user's":
                link.write_text(f"gitdir: {repo / '.git'}\n")
            elif git_file == "link":
                link.symlink_to(repo / ".git")
        with pool.workspace() as again:
            assert again.root == ws._slot.path
            assert files(again.root) == new
            top = {".git", ".gitignore", "a.txt", "b.txt", "src"}
            assert {path.name for path in again.root.iterdir()} == top
            assert not link.is_symlink()
            assert files_of_git(link) == theirs
            assert git(again.root, "status", "--porcelain", "--ignored") == ""


def test_a_change_of_the_same_size_in_the_same_second_is_undone(repo: Path) -> None:
    """Most builds of git compare times in whole seconds, and look closer only if they must."""
    for _ in range(20):
        with WorkspacePool(repo, slots=1) as pool:
            with pool.workspace() as ws:
                file = ws.root / "a.txt"
                made = file.stat()
                file.write_text("b\n")
                changed = file.stat()
            # That is when it would be missed: what git noted is of an earlier second by then.
            eventually_now(lambda: time.time() > int(changed.st_mtime) + 1)
            with pool.workspace():
                assert file.read_text() == "a\n"
        if int(made.st_mtime) == int(changed.st_mtime):
            return
    raise AssertionError("it never fell into one second")


@pytest.mark.parametrize("how", ["deleted", "a link", "a file", "without our notes"])
def test_a_slot_that_cannot_be_reset_is_made_again(repo: Path, how: str, tmp_path: Path) -> None:
    with WorkspacePool(repo, slots=1) as pool:
        with pool.workspace() as ws:
            new, root = files(ws.root), ws.root
            if how == "without our notes":
                shutil.rmtree(root.with_name(f"{root.name}.git"))
            else:
                shutil.rmtree(root)
            if how == "a link":
                root.symlink_to(repo)
            if how == "a file":
                root.write_text("x")
        with pool.workspace() as again:
            assert files(again.root) == new


def test_one_that_cannot_even_be_made_again_is_an_error_and_comes_back_later(repo: Path) -> None:
    with WorkspacePool(repo, slots=1) as pool:
        with pool.workspace() as ws:
            root = ws.root
        shutil.rmtree(root)
        objects = repo / ".git" / "objects"
        objects.rename(objects.with_name("away"))
        with pytest.raises(GitFailed):
            pool.take()
        objects.with_name("away").rename(objects)
        with pool.workspace() as ws:
            assert (ws.root / "a.txt").exists()


def test_slots_are_made_once_and_given_out_in_turn(repo: Path) -> None:
    with WorkspacePool(repo, slots=2) as pool:
        seen = []
        for _ in range(4):
            with pool.workspace() as ws:
                seen.append((ws.number, ws.root.stat().st_ino))
        assert [number for number, _ in seen] == [0, 1, 0, 1]
        assert len(set(seen)) == 2


def test_more_users_than_workspaces_are_told_what_to_do(repo: Path) -> None:
    with WorkspacePool(repo, slots=1) as pool:
        pool.take()
        with pytest.raises(NoFreeWorkspace, match=r"caps=Caps\(workspaces=1\)"):
            pool.take()


def test_a_workspace_that_was_given_back_is_nobodys(repo: Path) -> None:
    with WorkspacePool(repo, slots=1) as pool:
        with pool.workspace() as ws:
            pass
        for use in (lambda: ws.root, ws.diff, lambda: ws.write("x", "x"), lambda: ws.apply(b"")):
            with pytest.raises(WorkspaceError, match="was given back"):
                use()
    with pytest.raises(UsageError, match="not open"):
        pool.take()


def test_variables_of_a_git_around_us_lead_nowhere(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repo(tmp_path / "other", {"other.txt": "other"})
    before = everything(other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    with WorkspacePool(repo, slots=1, dirty=True) as pool, pool.workspace() as ws:
        assert (ws.root / "a.txt").read_text() == "changed\n"
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name)
    assert everything(other) == before


# -- slots that cannot be made -------------------------------------------------------------------


def with_filter(repo: Path, script: str) -> None:
    """Let git run a script for each file that it checks out."""
    write(repo / ".gitattributes", "*.dat filter=tested\n")
    write(repo / "x.dat", "data\n")
    commit(repo)
    git(repo, "config", "filter.tested.smudge", script)
    git(repo, "config", "filter.tested.required", "true")


def test_a_slot_that_cannot_be_made_leaves_the_others_and_is_told(
    tmp_path: Path, cache: Path
) -> None:
    repo = make_repo(tmp_path / "repo")
    count = tmp_path / "count"
    with_filter(repo, f"echo x >> '{count}'; test $(wc -l < '{count}') -ne 2 && cat")
    before = everything(repo)
    pool = WorkspacePool(repo, slots=3)
    with pytest.warns(RuntimeWarning, match=r"2 workspaces instead of 3: git reset failed"):
        pool.open()
    assert [lost.number for lost in pool.lost] == [1]
    assert len(pool) == 2
    with pool.workspace() as one, pool.workspace() as two:
        assert [(ws.root / "x.dat").read_text() for ws in (one, two)] == ["data\n"] * 2
        with pytest.raises(NoFreeWorkspace):
            pool.take()
    pool.close()
    assert (everything(repo), traces(cache)) == (before, [])


def test_no_slot_at_all_is_an_error_that_says_why(tmp_path: Path, cache: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    with_filter(repo, "false")
    before = everything(repo)
    with pytest.raises(NoWorkspaces, match=r"x\.dat") as caught:
        WorkspacePool(repo, slots=2).open()
    assert len(caught.value.reasons) == 2
    assert (everything(repo), traces(cache)) == (before, [])


@pytest.mark.parametrize("slots", [0, -1, True, 1.5])
def test_slots_is_a_number(slots: int) -> None:
    with pytest.raises(BadCap):
        WorkspacePool(".", slots=slots)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        WorkspacePool(tmp_path / "nowhere").open()
    git(tmp_path, "init", "-q", "--bare", "bare")
    with pytest.raises(WorkspaceError, match="must be run in a work tree"):
        WorkspacePool(tmp_path / "bare").open()


# -- what is not a plain repository --------------------------------------------------------------


def test_a_folder_without_git_is_copied_and_that_is_said(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "plain"
    write(folder / "a.txt", "a")
    write(folder / "deep" / "b.txt", "b")
    pool = WorkspacePool(folder, slots=2)
    with pytest.warns(RuntimeWarning, match="is not a git repository"):
        pool.open()
    assert pool.plain
    with pool.workspace() as ws:
        assert files(ws.root) == files(folder)
        (ws.root / "a.txt").write_text("changed")
        assert ws.changed_files() == ["a.txt"]
    pool.take(), pool.take()
    with pytest.raises(NoFreeWorkspace):
        pool.take()
    pool.close()
    assert {path.name for path in folder.iterdir()} == {"a.txt", "deep"}
    assert traces(cache) == []


def test_a_folder_that_only_lies_in_a_repository_is_not_part_of_it(repo: Path) -> None:
    write(repo.parent / "elsewhere" / "x.txt", "x")
    home = make_repo(repo.parent.parent / "home", {".bashrc": "x"})
    write(home / "project" / "a.txt", "a")
    pool = WorkspacePool(home / "project", slots=1)
    with pytest.warns(RuntimeWarning, match="project is not a git repository"):
        pool.open()
    with pool.workspace() as ws:
        assert files(ws.root).keys() == {"a.txt"}
    pool.close()


def test_a_part_of_a_repository_is_a_workspace_with_that_part(repo: Path) -> None:
    with WorkspacePool(repo / "src", slots=1) as pool, pool.workspace() as ws:
        assert ws.path == ws.root / "src"
        assert (ws.path / "pkg" / "__init__.py").exists()


def test_a_linked_work_tree_of_the_user_is_a_repository_too(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"), "other")
    write(tmp_path / "linked" / "a.txt", "linked\n")
    before = git(repo, "worktree", "list")
    with WorkspacePool(tmp_path / "linked", slots=1, dirty=True) as pool, pool.workspace() as ws:
        assert (ws.root / "a.txt").read_text() == "linked\n"
        assert not (ws.root / "staged.txt").exists()
    assert git(repo, "worktree", "list") == before
    git(repo, "worktree", "remove", "--force", str(tmp_path / "linked"))


def test_a_cache_inside_the_users_tree_is_not_used(
    repo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FANWISE_CACHE", str(repo / ".cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as ws:
        assert ws.root.is_relative_to(tmp_path / "tmp")
    monkeypatch.setattr("tempfile.tempdir", str(repo / "tmp"))
    with pytest.raises(UsageError, match="Set FANWISE_CACHE"):
        WorkspacePool(repo, slots=1).open()


@pytest.fixture
def with_submodules(tmp_path: Path) -> Path:
    """One that has another inside, and one that the user has not checked out."""
    inner = make_repo(tmp_path / "inner", {"inner.txt": "inner"})
    middle = make_repo(tmp_path / "middle", {"middle.txt": "middle"})
    git(middle, "submodule", "add", "-q", str(inner), "inner")
    commit(middle)
    repo = make_repo(tmp_path / "repo")
    git(repo, "submodule", "add", "-q", str(middle), "libs/middle")
    git(repo, "submodule", "add", "-q", str(inner), "libs/absent")
    commit(repo)
    git(repo, "submodule", "update", "-q", "--init", "--recursive")
    git(repo, "submodule", "deinit", "-q", "--force", "libs/absent")
    shutil.rmtree(middle)  # where they came from cannot be asked
    shutil.rmtree(inner)
    return repo


def test_submodules_are_checked_out_and_reset_and_the_network_is_not_asked(
    with_submodules: Path,
) -> None:
    repo = with_submodules
    before = everything(repo)
    wanted = {"middle/.gitmodules", "middle/middle.txt", "middle/inner/inner.txt"}
    with WorkspacePool(repo, slots=1) as pool:
        made = pool._slots[0].path.stat().st_ino
        for _ in range(3):
            with pool.workspace() as ws:
                assert files(ws.root / "libs").keys() == wanted
                assert not ws.changed_files()
                (ws.root / "libs/middle/middle.txt").write_text("spoilt")
                shutil.rmtree(ws.root / "libs/middle/inner")
                shutil.rmtree(ws.root / "libs/middle/.git")
        assert pool._slots[0].path.stat().st_ino == made, "reset, and not made again"
    assert everything(repo) == before


def test_git_runs_nothing_that_a_workspace_has_put_into_a_submodule(
    with_submodules: Path, tmp_path: Path
) -> None:
    """Git would, inside a submodule: it reads the configuration that it finds there."""
    mark = tmp_path / "ran"
    script = f"touch '{mark}'; cat"
    with WorkspacePool(with_submodules, slots=1) as pool:
        with pool.workspace() as ws:
            module = ws.root / "libs" / "middle"
            shutil.rmtree(module / ".git")
            git(module, "init", "-q")
            git(module, "add", "-A")
            git(module, "commit", "-q", "-m", "mine")
            git(module, "config", "filter.trap.clean", script)
            write(module / ".gitattributes", "* filter=trap\n")
            # As long as it was: of another length, git knows without a look that it has changed,
            # and reads (and so filters) only what is as young as its index, by chance.
            assert len("edited") == (module / "middle.txt").stat().st_size
            (module / "middle.txt").write_text("edited")
            git(ws.root, "status")
            assert mark.exists(), "the trap is one"
            mark.unlink()
            ws.write("a.txt", "changed")
            ws.diff(), ws.changed_files(), ws.commit_tree("x")
            assert ws.undo_in_submodules()
        with pool.workspace():
            assert not mark.exists()


def test_a_pool_may_start_where_another_one_did_although_all_has_changed_since(repo: Path) -> None:
    start = start_of(repo, dirty=True)
    write(repo / "a.txt", "changed again\n")
    try:
        with WorkspacePool(repo, slots=1, base=start.commit) as pool, pool.workspace() as ws:
            assert (ws.root / "a.txt").read_text() == "changed\n"
            assert (pool.base, pool.tree) == (start.commit, start.tree)
    finally:
        write(repo / "a.txt", "changed\n")


def test_a_commit_that_is_gone_is_an_error_that_names_it(repo: Path) -> None:
    with pytest.raises(WorkspaceError, match="f" * 40):
        WorkspacePool(repo, slots=1, base="f" * 40).open()


def test_the_tree_of_a_plain_folder_tells_whether_it_is_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    write(folder / "a.txt", "a\n")
    start = start_of(folder, dirty=False)
    assert start.plain
    assert start_of(folder, dirty=False).tree == start.tree
    write(folder / "a.txt", "b\n")
    with pytest.warns(RuntimeWarning), WorkspacePool(folder, slots=1) as pool:
        assert pool.tree not in ("", start.tree)
