"""Commits made of changes: nothing of the user's is touched, and nothing of theirs runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanwise.errors import GitFailed
from fanwise.plan.merge.trees import ChainCommit, blobs_at, chain, change_of, commit_with
from fanwise.plan.model.leaf_result import Blob, Change
from fanwise.workspaces import WorkspacePool
from fanwise.workspaces.git import Git
from tests.plan.merge.support import blob, change, names, read, repository
from tests.workspaces.support import everything, files, git, make_repo, write

FILES = {"a.py": "a\n", "pkg/b.py": "b\n", "pkg/sub/c.py": "c\n", "pkg/d.py": "d\n"}
ODD = [
    "with space.py",
    'quo"te.py',
    "new\nline.py",
    "back\\slash.py",
    "-dash.py",
    "tab\t.py",
    "ünï/cødé.py",
    os.fsdecode(b"latin-\xe9.py"),
    ".hidden",
]


def test_changes_are_put_on_a_commit_and_the_later_one_counts(tmp_path: Path) -> None:
    user = repository(tmp_path / "r", FILES)
    base = user("rev-parse", "HEAD")
    one = change(user, "one", {"a.py": "1\n", "pkg/sub/c.py": None, "new/x.py": "x\n"})
    two = change(user, "two", {"a.py": "2\n"})
    before = everything(user.cwd)
    made = commit_with(user, base, [one, two], "Both\n\nof them\n")
    assert names(user, made) == {"a.py", "pkg/b.py", "pkg/d.py", "new/x.py"}
    assert read(user, made, "a.py") == "2\n"
    assert user("rev-parse", f"{made}^") == base
    assert user("log", "-1", "--format=%B", made) == "Both\n\nof them"
    assert commit_with(user, base, [one, two], "Both\n\nof them\n") == made
    assert commit_with(user, base, [], "nothing") == base
    assert everything(user.cwd) == before
    user("fsck", "--strict", "--no-dangling", made)


@pytest.mark.parametrize("name", ODD)
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    user = repository(tmp_path / "r", FILES)
    made = commit_with(user, "HEAD", [change(user, "one", {name: "odd\n"})], "odd")
    assert names(user, made) == {*FILES, name}
    gone = commit_with(user, made, [change(user, "two", {name: None})], "gone")
    assert names(user, gone) == FILES.keys()


def test_a_folder_makes_room_for_a_file_and_the_other_way(tmp_path: Path) -> None:
    user = repository(tmp_path / "r", FILES)
    edits: dict[str, str | None] = {"pkg/sub": "file\n", "pkg/sub/c.py": None}
    edits |= {"a.py/inside.py": "x\n", "a.py": None}
    made = commit_with(user, "HEAD", [change(user, "one", edits)], "turned")
    assert names(user, made) == {"pkg/b.py", "pkg/d.py", "pkg/sub", "a.py/inside.py"}
    user("fsck", "--strict", "--no-dangling", made)


def test_a_chain_has_one_commit_for_each_step_with_author_and_time(tmp_path: Path) -> None:
    user = repository(tmp_path / "r", FILES)
    steps = [
        ChainCommit(change(user, str(n), {f"n{n}.py": f"{n}\n"}).files, f"Step {n}") for n in (1, 2)
    ]
    steps.append(ChainCommit({}, "Nothing"))
    commits = chain(user, "HEAD", steps, author="Jo <jo@example.org>", when=1_700_000_000)
    told = user("log", "--format=%s|%an|%ae|%ct", f"HEAD..{commits[-1]}").splitlines()
    assert told == [f"{what}|Jo|jo@example.org|1700000000"
                    for what in ("Nothing", "Step 2", "Step 1")]  # fmt: skip
    assert user("rev-list", "--reverse", f"HEAD..{commits[-1]}").split() == commits
    assert chain(user, "HEAD", []) == []
    again = chain(user, "HEAD", steps)
    assert again == chain(user, "HEAD", steps), "the very same commits"
    assert user("log", "-1", "--format=%ct", again[0]) == user("log", "-1", "--format=%ct", "HEAD")


def test_modes_and_links_stay_what_they_are(tmp_path: Path) -> None:
    user = repository(tmp_path / "r", FILES)
    run, link = blob(user, "#!/bin/sh\n", "100755"), blob(user, "a.py", "120000")
    made = commit_with(user, "HEAD", [change(user, "one", {"run": run, "link": link})], "modes")
    found = blobs_at(user, made)
    assert (found["run"], found["link"]) == (run, link)


def test_a_blob_that_is_gone_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    user = repository(tmp_path / "r", FILES)
    before = everything(user.cwd)
    lost = Change(leaf="x", title="x", files={"a.py": Blob("100644", "f" * 40)})
    with pytest.raises(GitFailed):
        commit_with(user, "HEAD", [lost], "lost")
    assert everything(user.cwd) == before


def test_what_is_in_a_workspace_is_its_change(tmp_path: Path) -> None:
    user = repository(tmp_path / "r", FILES)
    write(user.cwd / ".gitignore", "*.log\n")
    git(user.cwd, "add", "-A")
    git(user.cwd, "commit", "-qm", "ignore")
    with WorkspacePool(user.cwd, slots=1) as pool, pool.workspace(sparse=["pkg/sub"]) as ws:
        for name in ODD:
            ws.write(name, f"{name!r}\n")
        ws.write("pkg/sub/c.py", b"\r\ncrlf\r\n\0\xff")
        ws.write("empty", "")
        ws.write("out.log", "ignored\n")
        (ws.root / "a.py").unlink()
        (ws.root / "pkg/b.py").chmod(0o755)
        found = change_of(ws, "leaf", "Leaf")
        tree = files(ws.root)
        assert found.files.keys() == {*ODD, "pkg/sub/c.py", "empty", "a.py", "pkg/b.py"}
    assert found.files["a.py"] is None
    made = commit_with(user, "HEAD", [found], "made")
    with WorkspacePool(user.cwd, slots=1, base=made) as pool, pool.workspace() as ws:
        tree.pop("out.log")
        assert files(ws.root) == {**tree, "pkg/d.py": files(user.cwd)["pkg/d.py"]}


def test_a_repository_with_other_names_of_objects_and_a_linked_tree_work_too(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "sha256"
    folder.mkdir()
    git(folder, "init", "-q", "--object-format=sha256", "-b", "main")
    write(folder / "a.py", "a\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    git(folder, "worktree", "add", "-q", str(tmp_path / "linked"))
    user = Git(tmp_path / "linked")
    made = commit_with(user, "HEAD", [change(user, "x", {"b.py": "b\n"})], "b")
    assert len(made) == 64
    assert names(Git(folder), made) == {"a.py", "b.py"}


def test_the_rights_of_a_shared_repository_are_kept(tmp_path: Path) -> None:
    folder = make_repo(tmp_path / "r", FILES)
    git(folder, "config", "core.sharedRepository", "group")
    before = set((folder / ".git/objects").iterdir())
    user = Git(folder)
    commit_with(user, "HEAD", [Change(leaf="x", title="x", files={"a.py": None})], "shared")
    made = set((folder / ".git/objects").iterdir()) - before
    assert made
    assert all(path.stat().st_mode & 0o020 for path in made)
