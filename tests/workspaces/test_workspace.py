"""What was changed in a workspace; files that git does not know; sparse checkouts; Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fanwise.errors import PatchFailed, UsageError, WorkspaceError
from fanwise.workspaces import WorkspacePool, environment
from fanwise.workspaces.sparse import cone
from tests.workspaces.support import commit, files, git, make_repo, write


def test_a_diff_made_in_one_workspace_makes_the_same_of_another(repo: Path) -> None:
    with WorkspacePool(repo, slots=2) as pool, pool.workspace() as one, pool.workspace() as two:
        assert (one.diff(), one.changed_files()) == (b"", [])
        one.write("a.txt", "new text\n")
        one.write("deep/new.bin", bytes(range(256)) * 4)
        one.write("grün und blau.txt", "ü\n")
        one.write("empty.txt", "")
        (one.root / "b.txt").unlink()
        (one.root / "link").symlink_to("a.txt")
        (one.root / ".gitignore").chmod(0o755)
        write(one.root / "x.log", "ignored")
        assert one.changed_files() == [
            ".gitignore", "a.txt", "b.txt", "deep/new.bin", "empty.txt", "grün und blau.txt",
            "link",
        ]  # fmt: skip
        two.apply(one.diff())
        (one.root / "x.log").unlink()
        assert files(two.root) == files(one.root)
        assert two.diff() == one.diff()


def test_a_patch_applies_as_a_whole_or_not_at_all(repo: Path) -> None:
    good = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n"
    bad = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-nothing like it\n+b\n"
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as ws:
        with pytest.raises(PatchFailed, match=r"patch failed: b.txt:1"):
            ws.apply((good + bad).encode())
        assert ws.diff() == b""
        ws.apply(good.encode())
        assert (ws.root / "a.txt").read_text() == "b\n"


@pytest.mark.parametrize("name", ["../out.txt", "link/out.txt", "a/../../out.txt", ".git/config"])
def test_a_patch_does_not_reach_out_of_the_workspace(repo: Path, name: str, tmp_path: Path) -> None:
    patch = f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+out\n".encode()
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as ws:
        (tmp_path / "outside").mkdir()
        (ws.root / "link").symlink_to(tmp_path / "outside")
        with pytest.raises(PatchFailed):
            ws.apply(patch)
        assert list((tmp_path / "outside").iterdir()) == []
        with pytest.raises(UsageError, match="is not in the workspace"):
            ws.write(name, "out")
        with pytest.raises(UsageError):
            ws.write(str(tmp_path / "outside" / "x"), "out")
        assert list((tmp_path / "outside").iterdir()) == []


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(
    repo: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.write_text("kept")
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as ws:
        (ws.root / "a.txt").unlink()
        (ws.root / "a.txt").symlink_to(target)
        ws.write("a.txt", "new")
        (ws.root / "b.txt").unlink()
        os.link(target, ws.root / "b.txt")
        ws.write("b.txt", "new")
        ws.write("tool", "#!/bin/sh\n")
        (ws.root / "tool").chmod(0o755)
        ws.write("tool", "#!/bin/sh\ntrue\n")
        assert target.read_text() == "kept"
        assert (ws.root / "a.txt").read_text() == "new"
        assert os.access(ws.root / "tool", os.X_OK)


def test_what_was_changed_becomes_a_commit_that_nothing_names(repo: Path) -> None:
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as ws:
        ws.write("a.txt", "committed\n")
        ws.write("new.txt", "new\n")
        found = ws.commit_tree("Make it new\n\nA body")
        other = ws.commit_tree("No parents", parents=[])
        assert ws.changed_files() == ["a.txt", "new.txt"], "the workspace is as it was"
        patch = ws.diff()
    assert git(repo, "rev-parse", f"{found}^") == ws.base
    assert git(repo, "log", "-1", "--format=%B", found) == "Make it new\n\nA body"
    assert git(repo, "log", "--format=%H", other) == other
    assert git(repo, "diff", "--binary", "--full-index", ws.base, found) == patch.decode().strip()


# -- copies --------------------------------------------------------------------------------------


def test_files_that_git_does_not_know_are_there_in_each_use_and_in_no_diff(repo: Path) -> None:
    write(repo / "data" / "deep" / "one.log", "one")
    write(repo / "data" / "[odd] *.log", "odd")
    write(repo / ".env.test", "X=1")
    try:
        patterns = ["data", ".env*", "*.txt"]
        with WorkspacePool(repo, slots=1, copy=patterns) as pool:
            for _ in range(2):
                with pool.workspace() as ws:
                    assert (ws.root / "data/deep/one.log").read_text() == "one"
                    assert (ws.root / "data/[odd] *.log").read_text() == "odd"
                    assert (ws.root / ".env.test").read_text() == "X=1"
                    assert (ws.root / "untracked.txt").exists()
                    assert (ws.root / "a.txt").read_text() == "a\n", "tracked: as committed"
                    assert ws.changed_files() == []
                    ws.write(".env.test", "spoilt")
                    (ws.root / "data/deep/one.log").unlink()
                    ws.write("data/new.txt", "new")
                    assert ws.changed_files() == ["data/new.txt"]
                    assert git(repo, "ls-tree", "-r", "--name-only", ws.commit_tree("x")) == (
                        ".gitignore\na.txt\nb.txt\ndata/new.txt\nsrc/pkg/__init__.py"
                    )
            assert (repo / ".env.test").read_text() == "X=1"
    finally:
        for name in ("data/deep/one.log", "data/[odd] *.log", ".env.test"):
            (repo / name).unlink()


@pytest.mark.parametrize("pattern", ["/etc/hosts", "../*", "a/../../x", ".git/config", ""])
def test_patterns_stay_in_the_repository(repo: Path, pattern: str) -> None:
    with pytest.raises(UsageError, match="does not stay in the repository"):
        WorkspacePool(repo, slots=1, copy=[pattern]).open()


def test_links_do_not_lead_out_of_the_repository(repo: Path, tmp_path: Path) -> None:
    write(tmp_path / "secret" / "key", "secret")
    links = {"to-file.log": tmp_path / "secret/key", "to-folder.log": tmp_path / "secret"}
    for name, target in links.items():
        (repo / name).symlink_to(target)
    try:
        for pattern in (*links, "*.log", "to-folder.log/*"):
            with pytest.raises(UsageError, match="outside of the repository"):
                WorkspacePool(repo, slots=1, copy=[pattern]).open()
    finally:
        for name in links:
            (repo / name).unlink()


def test_a_link_inside_is_copied_as_what_it_leads_to(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.txt": "a", ".gitignore": "*.log"})
    (repo / "x.log").symlink_to(repo / "a.txt")
    with WorkspacePool(repo, slots=1, copy=["*.log"]) as pool, pool.workspace() as ws:
        assert (ws.root / "x.log").read_text() == "a"
        assert not (ws.root / "x.log").is_symlink()
        ws.write("x.log", "b")
    assert (repo / "a.txt").read_text() == "a"


def test_nothing_is_copied_through_a_committed_link_into_the_users_tree(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"real/a.txt": "a", ".gitignore": "*.log"})
    (repo / "alias").symlink_to(repo / "real")
    commit(repo)
    write(repo / "real" / "x.log", "x")
    with pytest.raises(UsageError, match="leads out of the repository"):
        WorkspacePool(repo, slots=1, copy=["alias/*.log"]).open()


def test_a_pattern_that_matches_nothing_is_said(repo: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing matches copy: 'tests/\*\.bin'"):
        WorkspacePool(repo, slots=1, copy=["tests/*.bin"]).open()


# -- sparse --------------------------------------------------------------------------------------

TREE = {
    "top.txt": "top", "a/a.txt": "a", "a/b/b.txt": "b", "a/b/c/c.txt": "c", "a/x/x.txt": "x",
    "z/z.txt": "z",
}  # fmt: skip


def test_a_sparse_workspace_has_the_folders_that_were_named(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", TREE)
    config = (repo / ".git" / "config").read_text()
    with WorkspacePool(repo, slots=1, sparse=["a/b"]) as pool:
        for _ in range(2):
            with pool.workspace() as ws:
                assert files(ws.root).keys() == {"top.txt", "a/a.txt", "a/b/b.txt", "a/b/c/c.txt"}
                assert ws.changed_files() == [], "what is not checked out is not deleted"
                ws.write("a/b/new.txt", "new")
                (ws.root / "a/b/b.txt").unlink()
                assert ws.changed_files() == ["a/b/b.txt", "a/b/new.txt"]
                ws.write("z/z.txt", "not checked out, and changed")
                assert ws.changed_files() == ["a/b/b.txt", "a/b/new.txt", "z/z.txt"]
                tree = git(repo, "ls-tree", "-r", "--name-only", ws.commit_tree("x")).split()
                assert set(tree) == {*TREE, "a/b/new.txt"} - {"a/b/b.txt"}
    assert (repo / ".git" / "config").read_text() == config


def test_of_some_folders_only_the_files_are_there(tmp_path: Path) -> None:
    folders = ("a", "a/b", "a/b/c", "a/d", "e", "e/f", "g/h")
    repo = make_repo(tmp_path / "repo", {f"{name}/x": "x" for name in folders})
    with WorkspacePool(repo, slots=1, sparse=["a/b/*", "e", "e/f/*", "g/*"]) as pool:
        root = pool.take().root
        there = sorted(str(each.relative_to(root)) for each in root.glob("**/x"))
        assert there == ["a/b/x", "a/x", "e/f/x", "e/x"]


def test_cones_are_written_as_git_writes_them(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", TREE)
    for folders in (["a/b"], ["a/b/c", "z"], ["a", "a/b"], ["z", "a/x", "a/b/c"], ["we[ird] *"]):
        git(repo, "sparse-checkout", "set", "--cone", "--skip-checks", *folders)
        theirs = (repo / ".git" / "info" / "sparse-checkout").read_text()
        assert sorted(cone(folders).splitlines()) == sorted(theirs.splitlines())
    for bad in ("/a", "../a", ""):
        with pytest.raises(UsageError):
            cone([bad])


# -- base ----------------------------------------------------------------------------------------


def test_files_are_put_back_as_they_are_at_the_base(repo: Path) -> None:
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as ws:
        ws.write("a.txt", "changed\n")
        (ws.root / "b.txt").unlink()
        ws.write("new [x]*.txt", "new\n")
        ws.write("kept.txt", "kept\n")
        assert ws.at_base("a.txt") == ("100644", b"a\n")
        assert ws.at_base("new [x]*.txt") is None
        assert ws.at_base("src") is None
        ws.restore(["a.txt", "b.txt", "new [x]*.txt"])
        assert ws.changed_files() == ["kept.txt"]
        assert (ws.root / "b.txt").read_text() == "b\n"
        with pytest.raises(UsageError):
            ws.restore(["../a.txt"])


def test_a_commit_counts_for_what_it_changed_since_it_left(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.txt": "a\n", "b.txt": "b\n"})
    git(repo, "checkout", "-q", "-b", "other")
    write(repo / "a.txt", "other\n")
    tip = commit(repo, "x")
    git(repo, "checkout", "-q", "main")
    write(repo / "b.txt", "goes on\n")
    commit(repo, "goes on")
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as ws:
        patch = ws.changes_of(tip)
        assert ws.names_in(patch) == ["a.txt"]
        ws.apply(patch)
        assert ws.diff() == patch
        with pytest.raises(PatchFailed):
            ws.names_in(b"nonsense")


# -- Python --------------------------------------------------------------------------------------


def test_python_imports_from_the_workspace_of_this_very_use(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(repo / "src"), "/elsewhere"]))
    ask = [sys.executable, "-c", "import pkg; print(pkg.WHO, pkg.__file__)"]
    with WorkspacePool(repo, slots=2) as pool:
        for who in ("one", "two", "six"):  # of one size: a compiled file would pass for another's
            with pool.workspace() as ws:
                ws.write("src/pkg/__init__.py", f"WHO = {who!r}\n")
                env = {**os.environ, **environment(ws)}
                out = subprocess.check_output(ask, cwd=ws.path, env=env, text=True)
                assert out.split() == [who, str(ws.root / "src/pkg/__init__.py")]
                ws.write("src/pkg/__init__.py", "WHO = 'new'\n")
                out = subprocess.check_output(ask, cwd=ws.path, env=env, text=True)
                assert out.startswith("new ")
                assert env["PYTHONPATH"].split(os.pathsep)[-1] == "/elsewhere"
                assert str(repo) not in env["PYTHONPATH"]
        with pytest.raises(WorkspaceError, match="was given back"):
            environment(ws)


def test_a_package_that_is_installed_from_the_users_tree_comes_from_the_workspace(
    tmp_path: Path,
) -> None:
    """As `pip install -e` does it: a .pth file in a virtual environment in the user's own tree."""
    repo = make_repo(
        tmp_path / "repo", {"libs/one/pkg.py": "WHO = 'base'\n", ".gitignore": ".venv"}
    )
    venv = repo / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "editable.pth").write_text(f"{repo / 'libs' / 'one'}\n")
    (site / "ours.pth").write_text("\n".join(each for each in sys.path if each) + "\n")
    code = (
        "import os, subprocess, sys\n"
        "from fanwise.workspaces import WorkspacePool, environment\n"
        "with WorkspacePool('.', slots=1) as pool, pool.workspace() as ws:\n"
        "    ws.write('libs/one/pkg.py', 'WHO = \"candidate\"\\n')\n"
        "    env = {**os.environ, **environment(ws)}\n"
        "    code = 'import pkg, sys; print(pkg.WHO, sys.prefix)'\n"
        "    argv = ['python', '-c', code]\n"
        "    print(subprocess.check_output(argv, cwd=ws.path, env=env, text=True))"
    )
    env = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    argv = [str(venv / "bin/python"), "-c", code]
    out = subprocess.check_output(argv, cwd=repo, text=True, env=env)
    assert out.split() == ["candidate", str(venv)]
