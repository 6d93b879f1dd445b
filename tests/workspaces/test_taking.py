"""A workspace at another commit than the pool's, and with other folders of it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from fanwise.errors import NoFreeWorkspace, UsageError, WorkspaceError
from fanwise.kernel.workspaces import open_workspaces, workspace
from fanwise.workspaces import WorkspacePool
from tests.workspaces.support import everything, files, git, make_repo, write

FILES = {
    "top.txt": "top\n",
    "a/one.py": "A = 1\n",
    "a/deep/two.py": "B = 1\n",
    "b/three.py": "C = 1\n",
    "c/four.py": "D = 1\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "project", FILES)


def other_commit(project: Path) -> str:
    """A commit that no branch names: b is changed, c is gone, d is new."""
    with WorkspacePool(project, slots=1) as pool, pool.workspace() as ws:
        ws.write("b/three.py", "C = 2\n")
        (ws.root / "c/four.py").unlink()
        ws.write("d/five.py", "E = 1\n")
        return ws.commit_tree("other")


def test_a_workspace_at_another_commit_is_compared_with_that(project: Path) -> None:
    other = other_commit(project)
    before = everything(project)
    with WorkspacePool(project, slots=1) as pool:
        with pool.workspace(at=other) as ws:
            assert ws.base == other
            assert (ws.root / "b/three.py").read_text() == "C = 2\n"
            assert (ws.root / "d/five.py").exists()
            assert not (ws.root / "c").exists()
            assert ws.changed_files() == []
            assert ws.diff() == b""
            assert git(ws.root, "rev-parse", "HEAD") == other
            ws.write("d/five.py", "E = 2\n")
            assert ws.changed_files() == ["d/five.py"]
            assert ws.at_base("d/five.py") == ("100644", b"E = 1\n")
            ws.restore(["d/five.py"])
            assert ws.changed_files() == []
            ws.write("left", "behind\n")
            made = ws.commit_tree("on top")
            assert git(project, "rev-parse", f"{made}^") == other
        with pool.workspace() as ws:
            assert ws.base == pool.base
            assert files(ws.root) == files(project)
            assert ws.changed_files() == []
    assert everything(project) == before


def test_other_folders_are_checked_out_and_none_counts_as_deleted(project: Path) -> None:
    with WorkspacePool(project, slots=1) as pool:
        for sparse, wanted in [
            (["b"], {"top.txt", "b/three.py"}),
            (["a/deep"], {"top.txt", "a/one.py", "a/deep/two.py"}),
            ([], set(FILES)),
            (["c", "a"], {"top.txt", "a/one.py", "a/deep/two.py", "c/four.py"}),
            (None, set(FILES)),
        ]:
            with pool.workspace(sparse=sparse) as ws:
                assert files(ws.root).keys() == wanted
                assert ws.changed_files() == []
                assert ws.changed_blobs() == {}
                ws.write("top.txt", "changed\n")
                ws.write("new/file.py", "new\n")
                assert ws.changed_files() == ["new/file.py", "top.txt"]
                assert list(ws.changed_blobs()) == ["new/file.py", "top.txt"]


def test_a_slot_of_a_sparse_pool_may_have_all_and_goes_back(project: Path) -> None:
    with WorkspacePool(project, slots=1, sparse=["a"]) as pool:
        for sparse, wanted in [(None, 3), ([], 5), (["b"], 2), (None, 3)]:
            with pool.workspace(sparse=sparse) as ws:
                assert len(files(ws.root)) == wanted


def test_another_commit_and_other_folders_at_once_over_and_over(project: Path) -> None:
    other = other_commit(project)
    with WorkspacePool(project, slots=2) as pool:
        for _ in range(2):
            with pool.workspace(at=other, sparse=["b", "d"]) as ws, pool.workspace() as full:
                assert files(ws.root).keys() == {"top.txt", "b/three.py", "d/five.py"}
                assert ws.changed_blobs() == {}
                assert files(full.root).keys() == FILES.keys()
                shutil.rmtree(ws.root)  # what works there may do anything
                full.write("b/three.py", "spoilt")


def test_a_file_outside_of_the_folders_can_be_changed_and_is_gone_afterwards(project: Path) -> None:
    with WorkspacePool(project, slots=1) as pool:
        with pool.workspace(sparse=["b"]) as ws:
            ws.write("a/one.py", "A = 2\n")
            assert ws.changed_files() == ["a/one.py"]
            assert list(ws.changed_blobs()) == ["a/one.py"]
        with pool.workspace(sparse=["c"]) as ws:
            assert files(ws.root).keys() == {"top.txt", "c/four.py"}
            assert ws.changed_files() == []


def test_what_its_own_index_was_told_changes_nothing(project: Path) -> None:
    """A `git reset` or `read-tree` of whoever works there forgets what is not checked out."""
    with WorkspacePool(project, slots=1) as pool, pool.workspace(sparse=["b"]) as ws:
        ws.write("b/three.py", "C = 2\n")
        git(ws.root, "read-tree", "HEAD")
        assert " D a/one.py" in git(ws.root, "status", "--short"), "the trap is one"
        assert ws.changed_files() == ["b/three.py"]
        assert list(ws.changed_blobs()) == ["b/three.py"]
        assert b"a/one.py" not in ws.diff()
        git(ws.root, "update-index", "--assume-unchanged", "b/three.py")
        assert ws.changed_files() == ["b/three.py"]
        made = ws.commit_tree("made")
        assert git(project, "diff", "--name-only", pool.base, made) == "b/three.py"


def test_changed_blobs_are_modes_and_names(project: Path) -> None:
    with WorkspacePool(project, slots=1) as pool, pool.workspace() as ws:
        (ws.root / "a/one.py").chmod(0o755)
        (ws.root / "link").symlink_to("nowhere")
        (ws.root / "c/four.py").unlink()
        ws.write('na"me\n é', "x\n")
        blobs = ws.changed_blobs()
        assert blobs["c/four.py"] is None
        modes = {name: blob[0] for name, blob in blobs.items() if blob is not None}
        assert modes == {"a/one.py": "100755", "link": "120000", 'na"me\n é': "100644"}
        found = blobs['na"me\n é']
        assert found is not None
        assert git(project, "cat-file", "blob", found[1]) == "x"


def test_what_is_not_there_and_what_is_no_list_are_errors(project: Path) -> None:
    with WorkspacePool(project, slots=1) as pool:
        with pytest.raises(WorkspaceError, match="no commit"):
            pool.take(at="f" * 40)
        with pytest.raises(WorkspaceError):
            pool.take(at="--all")
        with pytest.raises(UsageError, match="sparse"):
            pool.take(sparse="a")
        with pytest.raises(UsageError, match="sparse"):
            pool.take(sparse=["../outside"])
        pool.take(at="HEAD")  # none of them has cost the slot
        with pytest.raises(NoFreeWorkspace):
            pool.take(at="HEAD")


def test_on_an_event_loop_too(project: Path) -> None:
    other = other_commit(project)

    async def main() -> None:
        async with open_workspaces(project, slots=1) as pool:
            async with workspace(pool, at=other, sparse=["d"]) as ws:
                assert files(ws.root).keys() == {"top.txt", "d/five.py"}
            async with workspace(pool, sparse=()) as ws:
                assert files(ws.root).keys() == FILES.keys()
            async with workspace(pool) as ws:
                assert ws.base == pool.base

    asyncio.run(main())


def test_a_submodule_outside_of_the_folders_comes_back(project: Path, tmp_path: Path) -> None:
    inner = make_repo(tmp_path / "inner", {"in.txt": "in\n"})
    git(project, "submodule", "add", "-q", str(inner), "libs/inner")
    git(project, "commit", "-qm", "with a submodule")
    with WorkspacePool(project, slots=1) as pool:
        for sparse in (None, ["a"], None, ["libs"]):
            with pool.workspace(sparse=sparse) as ws:
                assert ws.changed_blobs() == {}
                if sparse != ["a"]:
                    assert (ws.root / "libs/inner/in.txt").read_text() == "in\n"
                write(ws.root / "top.txt", "x\n")


def test_one_more_slot_has_everything_and_is_made_meanwhile(project: Path) -> None:
    other = other_commit(project)
    with WorkspacePool(project, slots=1, sparse=["a"], whole=True) as pool:
        assert len(pool) == 1
        with pool.workspace() as ws, pool.workspace(sparse=[], at=other) as full:
            assert files(ws.root).keys() == {"top.txt", "a/one.py", "a/deep/two.py"}
            assert "d/five.py" in files(full.root)
            assert full.changed_files() == []
            write(full.root / "new.txt", "left behind\n")
            root = full.root
            with pytest.raises(NoFreeWorkspace):
                pool.take()
        with pool.workspace(sparse=[]) as full:
            assert full.root == root, "it is not made a second time"
            assert files(full.root) == files(project)
        with pool.workspace(sparse=["b"]) as ws:
            assert ws.root != root, "who needs a part does not get it"


def test_a_pool_is_closed_while_git_still_makes_a_slot(project: Path, cache: Path) -> None:
    with WorkspacePool(project, slots=1, sparse=["a"], whole=True):
        pass
    assert list(cache.rglob("*")) == []
