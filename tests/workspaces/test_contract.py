"""What every pool of workspaces promises: the real one of git, and the fake of plain folders."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanwise import Caps, fan_out
from fanwise.errors import BadCap, NoFreeWorkspace, PatchFailed, UsageError, WorkspaceError
from fanwise.kernel.workspaces import workspace
from fanwise.testing import FolderWorkspaces
from fanwise.workspaces import WorkspacePool, environment
from fanwise.workspaces.port import Pool
from tests.workspaces.support import files, git, make_repo

FILES = {
    "a.txt": "".join(f"line {number}\n" for number in range(30)),
    "b.txt": "b",
    "empty.txt": "",
    "src/pkg/__init__.py": "WHO = 'base'\n",
}
AnyPool = Pool[Any]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repo(tmp_path_factory.mktemp("user") / "project", FILES)


@pytest.fixture(params=["git", "folders"])
def pool(request: pytest.FixtureRequest, repository: Path) -> Iterator[AnyPool]:
    if request.param == "git":
        with WorkspacePool(repository, slots=2) as real:
            yield real
    else:
        with FolderWorkspaces(FILES, slots=2) as fake:
            yield fake


def contents(root: Path) -> dict[str, str]:
    return {name: (root / name).read_text() for name in files(root)}


def test_a_workspace_has_the_files_and_is_as_new_for_each_use(pool: AnyPool) -> None:
    assert len(pool) == 2
    one, two = pool.take(), pool.take()
    assert one.root != two.root
    assert {one.number, two.number} == {0, 1}
    assert one.base == two.base == pool.base
    for each in (one, two):
        assert each.path == each.root
        assert contents(each.root) == FILES
        (each.root / "a.txt").unlink()
        (each.root / "new").mkdir()
        (each.root / "new" / "file").write_text("new")
        (each.root / "b.txt").write_text("other")
    pool.give_back(two)
    again = pool.take()
    assert again.number == two.number
    assert contents(again.root) == FILES
    assert (again.diff(), again.changed_files()) == (b"", [])
    assert "new/file" in contents(one.root), "and the other one is as it was left"


def test_more_than_there_are_is_an_error_and_nobody_waits(pool: AnyPool) -> None:
    first, _ = pool.take(), pool.take()
    with pytest.raises(NoFreeWorkspace):
        pool.take()
    pool.give_back(first)
    pool.take()


def test_after_it_was_given_back_it_is_another_ones(pool: AnyPool) -> None:
    taken = pool.take()
    pool.give_back(taken)
    for use in (
        lambda: taken.root, lambda: taken.path, taken.diff, taken.changed_files,
        lambda: taken.write("a.txt", "x"), lambda: taken.apply(b""), lambda: taken.commit_tree("x"),
    ):  # fmt: skip
        with pytest.raises(WorkspaceError, match="given back"):
            use()


def test_a_diff_made_in_one_makes_the_same_of_another(pool: AnyPool) -> None:
    one, two = pool.take(), pool.take()
    one.write("a.txt", FILES["a.txt"].replace("line 3\n", "three\n").replace("line 27\n", ""))
    one.write("b.txt", "b\n")
    one.write("deep/new.txt", b"no end")
    one.write("deep/empty.txt", "")
    one.write("with a space.txt", "ü\n")
    (one.root / "empty.txt").unlink()
    (one.root / "src/pkg/__init__.py").unlink()
    changed = [
        "a.txt", "b.txt", "deep/empty.txt", "deep/new.txt", "empty.txt", "src/pkg/__init__.py",
        "with a space.txt",
    ]  # fmt: skip
    assert one.changed_files() == changed
    two.apply(one.diff())
    assert contents(two.root) == contents(one.root)
    assert two.diff() == one.diff()
    assert two.changed_files() == changed


def test_a_patch_applies_as_a_whole_or_not_at_all(pool: AnyPool) -> None:
    taken = pool.take()
    good = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-line 0\n+zero\n line 1\n"
    for bad in (
        "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-nothing like it\n+b\n",
        "--- a/missing.txt\n+++ b/missing.txt\n@@ -1 +1 @@\n-b\n+c\n",
        "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+there already\n",
        "--- a/b.txt\n+++ b/b.txt\n@@ -1,3 +1,3 @@\n-b\n",
    ):
        with pytest.raises(PatchFailed):
            taken.apply((good + bad).encode())
        assert contents(taken.root) == FILES
    with pytest.raises(PatchFailed):
        taken.apply(b"no patch at all\n")
    taken.apply(good.encode())
    assert (taken.root / "a.txt").read_text().startswith("zero\nline 1\n")


@pytest.mark.parametrize("name", ["../out.txt", "link/out.txt", ".git/config"])
def test_nothing_is_written_outside(pool: AnyPool, name: str, tmp_path: Path) -> None:
    taken = pool.take()
    outside = tmp_path / "outside"
    outside.mkdir()
    (taken.root / "link").symlink_to(outside)
    with pytest.raises(PatchFailed):
        taken.apply(f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+out\n".encode())
    with pytest.raises(UsageError, match="is not in the workspace"):
        taken.write(name, "out")
    assert list(outside.iterdir()) == []


def test_what_is_there_can_be_kept_under_a_name(pool: AnyPool) -> None:
    taken = pool.take()
    taken.write("b.txt", "one")
    first = taken.commit_tree("one")
    taken.write("b.txt", "two")
    second = taken.commit_tree("one", parents=[first])
    assert len({pool.base, first, second}) == 3


def test_in_a_fan_out_a_cap_does_the_waiting(pool: AnyPool) -> None:
    async def use(item: int) -> str:
        async with workspace(pool) as taken:
            taken.write("src/pkg/__init__.py", f"WHO = {item}\n")
            await asyncio.sleep(0)
            return contents(taken.root)["src/pkg/__init__.py"]

    async def main() -> list[str]:
        caps = Caps(workspaces=len(pool))
        found = await fan_out(use, range(6), cap=6, caps=caps, needs=lambda _: "workspaces")
        return found.values()

    assert asyncio.run(main()) == [f"WHO = {item}\n" for item in range(6)]


def test_the_fake_counts_and_knows_its_limits() -> None:
    with FolderWorkspaces(FILES, slots=3) as pool:
        with pool.workspace() as one, pool.workspace():
            assert (pool.in_use, pool.most_in_use) == (2, 2)
            assert str(one.root / "src") in environment(one)["PYTHONPATH"]
            root = one.root
        with pool.workspace():
            pass
        assert (pool.uses, pool.in_use, pool.most_in_use) == (3, 0, 2)
    assert not root.exists()
    assert len(pool) == 0
    with pytest.raises(UsageError, match="not open"):
        pool.take()
    with pytest.raises(BadCap):
        FolderWorkspaces(FILES, slots=0)


def test_git_takes_the_diffs_of_the_fake(repository: Path) -> None:
    with FolderWorkspaces(FILES, slots=1) as fake, fake.workspace() as made:
        made.write("a.txt", FILES["a.txt"].replace("line 9\n", "nine\n"))
        made.write("b.txt", "b\n")
        made.write("new.txt", "no end")
        (made.root / "empty.txt").unlink()
        patch, wanted = made.diff(), contents(made.root)
    with WorkspacePool(repository, slots=1) as real, real.workspace() as ws:
        ws.apply(patch)
        assert contents(ws.root) == wanted
        assert git(ws.root, "status", "--porcelain") != ""
