"""Changes of leaves become one tree: each conflict named, nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.plan.model.leaf_result import Blob, Change
from fanwise.plan.model.merge_result import MergeResult
from fanwise.workspaces.git import Git
from tests.plan.merge.support import Content, blob, change, lines, merge, names, read, repository
from tests.workspaces.support import commit, everything, git, write

FILES = {
    "shared.py": lines(),
    "other.py": lines(40),
    "pkg/one.py": "import os\n\n\ndef one():\n    return os.name\n",
    "pkg/two.py": lines(12),
    "pkg/sub/three.py": "three\n",
    "run.sh": "#!/bin/sh\nexit 0\n",
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Git:
    """One repository for all: only objects are added to it."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
            patched.setenv(name, "/dev/null")
        return repository(tmp_path_factory.mktemp("merge") / "user's", FILES)


def merged(git: Git, *edits: dict[str, Content]) -> MergeResult:
    """The leaves A, B, C … make these edits."""
    return merge(git, "HEAD", [change(git, name, each) for name, each in leaves(edits)])


def leaves(edits: tuple[dict[str, Content], ...]) -> list[tuple[str, dict[str, Content]]]:
    return list(zip("ABCDEFGH", edits, strict=False))


def test_disjoint_changes_are_all_in_and_nothing_else_is_touched(shared: Git) -> None:
    before = everything(shared.cwd)
    found = merged(
        shared,
        {"shared.py": lines(l1="A"), "new/a.py": "a\n"},
        {"pkg/two.py": None, "empty": ""},
        {"pkg/one.py": "C\r\n"},
    )
    assert found.leaves == ("A", "B", "C")
    assert not found.conflicts
    assert names(shared, found.tree) == {*FILES, "new/a.py", "empty"} - {"pkg/two.py"}
    assert read(shared, found.tree, "pkg/one.py") == "C\r\n"
    assert read(shared, found.tree, "shared.py") == lines(l1="A")
    assert everything(shared.cwd) == before


def test_changes_far_from_one_another_in_one_file_are_all_in(shared: Git) -> None:
    """With an empty base this would be a conflict, with a moved one the last would win."""
    found = merged(
        shared,
        {"shared.py": lines(l1="A")},
        {"shared.py": lines(l15="B")},
        {"shared.py": lines(l30="C")},
    )
    assert found.leaves == ("A", "B", "C")
    assert not found.conflicts
    assert read(shared, found.tree, "shared.py") == lines(l1="A", l15="B", l30="C")


def test_the_base_is_the_commit_that_all_started_from_whatever_head_is(tmp_path: Path) -> None:
    user = repository(tmp_path / "r", FILES)
    base = user("rev-parse", "HEAD")
    one, two = change(user, "A", {"shared.py": lines(l1="A")}), change(
        user, "B", {"shared.py": lines(l30="B")}
    )  # fmt: skip
    write(user.cwd / "shared.py", lines(l15="the user, meanwhile"))
    commit(user.cwd, "meanwhile")
    found = merge(user, base, [one, two])
    assert read(user, found.tree, "shared.py") == lines(l1="A", l30="B")


def test_the_same_change_by_two_leaves_is_no_conflict(shared: Git) -> None:
    same: dict[str, Content] = {"shared.py": lines(l3="x"), "new.py": "n\n", "other.py": None}
    found = merged(shared, same, dict(same), {"pkg/one.py": "x\n"})
    assert found.leaves == ("A", "B", "C")
    assert not found.conflicts
    assert read(shared, found.tree, "new.py") == "n\n"


def test_what_a_leaf_left_as_it_was_is_no_change(shared: Git) -> None:
    unchanged: dict[str, Content] = {"shared.py": lines(), "not there": None}
    found = merged(shared, {"shared.py": lines(l3="x")}, unchanged)
    assert found.leaves == ("A", "B")
    assert read(shared, found.tree, "shared.py") == lines(l3="x")


CASES: dict[str, tuple[str, tuple[str, ...], dict[str, Content], dict[str, Content]]] = {
    "same line": (
        "content", ("shared.py",), {"shared.py": lines(l3="a")}, {"shared.py": lines(l3="b")},
    ),
    "adjacent lines": (
        "content", ("shared.py",), {"shared.py": lines(l3="a")}, {"shared.py": lines(l4="b")},
    ),
    "both add an import": (
        "content", ("pkg/one.py",),
        {"pkg/one.py": "import os\nimport re\n\n\ndef one():\n    return os.name\n"},
        {"pkg/one.py": "import os\nimport sys\n\n\ndef one():\n    return os.name\n"},
    ),
    "modify/delete": (
        "modify/delete", ("shared.py",), {"shared.py": lines(l3="a")}, {"shared.py": None},
    ),
    "delete/modify": (
        "modify/delete", ("shared.py",), {"shared.py": None}, {"shared.py": lines(l3="a")},
    ),
    "add/add": ("add/add", ("n.py",), {"n.py": "a\n"}, {"n.py": "b\n"}),
    "binary": (
        "content", ("shared.py",), {"shared.py": b"\0a"}, {"shared.py": b"\0b"},
    ),
    "file where a folder is": (
        "file/folder", ("n", "n/x.py"), {"n/x.py": "a\n"}, {"n": "b\n"},
    ),
    "folder where a file is": (
        "file/folder", ("n/x.py", "n"), {"n": "b\n"}, {"n/x.py": "a\n"},
    ),
    "a folder became a file": (
        "file/folder", ("pkg/sub/new.py", "pkg/sub"),
        {"pkg/sub": "x\n", "pkg/sub/three.py": None}, {"pkg/sub/new.py": "new\n"},
    ),
    "a file became a folder": (
        "modify/delete", ("shared.py",),
        {"shared.py": lines(l3="a")}, {"shared.py": None, "shared.py/x.py": "x\n"},
    ),
    "a name in other letters": (
        "add/add", ("docs/readme", "Docs/README"), {"Docs/README": "a\n"}, {"docs/readme": "b\n"},
    ),
    "a file where a folder in other letters is": (
        "file/folder", ("new", "New/x.py"), {"New/x.py": "a\n"}, {"new": "b\n"},
    ),
    "a folder where a file in other letters is": (
        "file/folder", ("new/x.py", "New"), {"New": "a\n"}, {"new/x.py": "b\n"},
    ),
    "beside a file that another changed": (
        "add/add", ("Shared.py", "shared.py"),
        {"shared.py": lines(l3="a")}, {"Shared.py": "b\n"},
    ),
    "renamed twice": (
        "rename", ("a.py", "b.py", "shared.py"),
        {"shared.py": None, "a.py": lines()}, {"shared.py": None, "b.py": lines()},
    ),
    "renamed and deleted": (
        "rename", ("a.py", "shared.py"),
        {"shared.py": None, "a.py": lines()}, {"shared.py": None},
    ),
    "renamed and changed in the same line": (
        "rename", ("a.py", "shared.py"),
        {"shared.py": None, "a.py": lines(l3="a")}, {"shared.py": lines(l3="b")},
    ),
    "changed and renamed with the same line": (
        "rename", ("a.py", "shared.py"),
        {"shared.py": lines(l3="b")}, {"shared.py": None, "a.py": lines(l3="a")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_conflict_is_named_with_its_files_and_both_leaves(shared: Git, case: str) -> None:
    kind, paths, ours, theirs = CASES[case]
    innocent: dict[str, Content] = {"other.py": lines(40, l7="C")}
    found = merged(shared, ours, innocent, theirs | {"more.py": "more\n"})
    assert found.leaves == ("A", "B")
    assert found.aside == ("C",)
    named = {each.kind: each for each in found.conflicts}
    conflict = named[kind]  # type: ignore[index]
    assert conflict.leaf == "C"
    assert conflict.others == ("A",)
    assert set(conflict.paths) >= set(paths)
    assert all(each.others == ("A",) for each in found.conflicts)
    assert "Title of A" in conflict.detail
    assert "Title of C" in conflict.detail
    for path in conflict.paths:
        assert path in conflict.detail
    assert "more.py" not in names(shared, found.tree), "all of a leaf, or nothing"
    alone = merged(shared, ours, innocent)
    assert found.tree == alone.tree


def test_two_that_delete_the_same_and_make_others_are_in(shared: Git) -> None:
    found = merged(
        shared,
        {"shared.py": None, "a.py": "nothing\nof it\n"},
        {"shared.py": None, "b.py": "something\nelse\n"},
    )
    assert found.leaves == ("A", "B")


def test_other_letters_are_no_conflict_where_only_one_leaf_writes_them(shared: Git) -> None:
    """One renames its file, another uses a folder that is there, two do the very same."""
    found = merged(
        shared,
        {"shared.py": None, "Shared.py": lines(), "made.py": "1\n", "Made.py": "2\n"},
        {"PKG/four.py": "4\n", "both": "b\n"},
        {"pkg/two.py": "2\n", "Pkg/five.py": "5\n", "both": "b\n"},
        {"pkg/Two.py.old": "2\n", "other.py": None, "OTHER.py": lines(40)},
    )
    assert not found.conflicts
    assert found.leaves == ("A", "B", "C", "D")


def test_changes_follow_a_file_whose_letters_another_leaf_changed(shared: Git) -> None:
    rename: dict[str, Content] = {"shared.py": None, "Shared.py": lines(l3="A")}
    edit: dict[str, Content] = {"shared.py": lines(l20="B")}
    for first, second in ((rename, edit), (edit, rename)):
        found = merged(shared, first, second)
        assert found.leaves == ("A", "B")
        assert read(shared, found.tree, "Shared.py") == lines(l3="A", l20="B")


def test_of_several_leaves_the_one_in_conflict_is_named(shared: Git) -> None:
    found = merged(
        shared,
        {"shared.py": lines(l3="A")},
        {"shared.py": lines(l15="B")},
        {"shared.py": lines(l27="C")},
        {"shared.py": lines(l15="D")},
    )
    assert [(each.leaf, each.others) for each in found.conflicts] == [("D", ("B",))]
    assert "<<<<<<< merged\nB\n=======\nD\n>>>>>>> leaf" in found.conflicts[0].detail


def test_changes_follow_a_file_that_was_renamed(shared: Git) -> None:
    rename: dict[str, Content] = {"shared.py": None, "a.py": lines(l3="A")}
    edit: dict[str, Content] = {"shared.py": lines(l27="B")}
    for first, second in ((rename, edit), (edit, rename)):
        found = merged(shared, first, second, {"other.py": None})
        assert found.leaves == ("A", "B", "C")
        assert read(shared, found.tree, "a.py") == lines(l3="A", l27="B")
        assert "shared.py" not in names(shared, found.tree)


def test_two_edits_follow_each_its_own_file(shared: Git) -> None:
    found = merged(
        shared,
        {"shared.py": None, "a.py": lines(l3="A"), "other.py": None, "b.py": lines(40, l3="A")},
        {"shared.py": lines(l27="B"), "other.py": lines(40, l27="B")},
    )
    assert read(shared, found.tree, "a.py") == lines(l3="A", l27="B")
    assert read(shared, found.tree, "b.py") == lines(40, l3="A", l27="B")


def test_a_mode_and_a_content_come_together(shared: Git) -> None:
    runs = blob(shared, FILES["run.sh"], "100755")
    found = merged(shared, {"run.sh": runs}, {"run.sh": "#!/bin/sh\nexit 1\n"})
    assert found.leaves == ("A", "B")
    assert shared("ls-tree", found.tree, "run.sh").startswith("100755")
    assert read(shared, found.tree, "run.sh") == "#!/bin/sh\nexit 1\n"


def test_links_are_merged_as_what_they_are(shared: Git) -> None:
    one, two = blob(shared, "pkg/one.py", "120000"), blob(shared, "pkg/two.py", "120000")
    assert not merged(shared, {"link": one}, {"link": one}).conflicts
    found = merged(shared, {"link": one}, {"link": two})
    assert [(each.kind, each.paths) for each in found.conflicts] == [("add/add", ("link",))]


def test_of_a_link_and_a_text_only_the_real_name_is_told(shared: Git) -> None:
    link = blob(shared, "pkg/one.py", "120000")
    found = merged(shared, {"run.sh": link}, {"run.sh": "exit 1\n"})
    assert [each.paths for each in found.conflicts] == [("run.sh",)]


def test_submodules_at_two_commits_are_a_conflict(shared: Git) -> None:
    one, two = (Blob("160000", name * 40) for name in "12")
    found = merged(shared, {"sub": one}, {"sub": two})
    assert [(each.paths, each.others) for each in found.conflicts] == [(("sub",), ("A",))]


@pytest.mark.parametrize("name", ['q"uo te\n.py', "-dash", "ü/é.py"])
def test_names_of_any_kind_are_merged_and_named(shared: Git, name: str) -> None:
    found = merged(shared, {name: "a\n"}, {name: "b\n"})
    assert [each.paths for each in found.conflicts] == [(name,)]


def test_what_attributes_say_of_a_merge_counts_as_at_the_start(tmp_path: Path) -> None:
    """A list to which everybody adds is merged line by line; another file is never mixed."""
    files = {
        ".gitattributes": "*.lock -merge\n",
        "docs/.gitattributes": "CHANGES merge=union\n",
        "marks/.gitattributes": "",
        "docs/CHANGES": "first\n",
        "CHANGES": "first\n",
        "a.lock": lines(),
    }
    user = repository(tmp_path / "r", files)
    found = merged(
        user,
        {"docs/CHANGES": "first\nA\n", "a.lock": lines(l1="A")},
        {"docs/CHANGES": "first\nB\n"},
        {"a.lock": lines(l30="C")},
        {".gitattributes": "* merge=union\n", "CHANGES": "first\nD\n"},
        {"CHANGES": "first\nE\n"},
    )
    assert read(user, found.tree, "docs/CHANGES") == "first\nA\nB\n"
    assert [(each.leaf, each.paths, each.others) for each in found.conflicts] == [
        ("C", ("a.lock",), ("A",)),
        ("E", ("CHANGES",), ("D",)),
    ]


def test_no_program_of_the_configuration_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `.gitattributes` may ask for a merge driver that the user has."""
    user = repository(tmp_path / "r", {**FILES, ".gitattributes": "*.py merge=evil diff=evil\n"})
    trap = f"touch '{tmp_path}/ran'; exit 0 #"
    for name in ("merge.evil.driver", "diff.evil.command", "diff.evil.textconv", "merge.default"):
        git(user.cwd, "config", name, "evil" if name == "merge.default" else trap)
    one, two = {"shared.py": lines(l1="A")}, {"shared.py": lines(l2="B")}
    git(user.cwd, "checkout", "-qb", "two")
    write(user.cwd / "shared.py", two["shared.py"])
    commit(user.cwd)
    git(user.cwd, "checkout", "-q", "main")
    write(user.cwd / "shared.py", one["shared.py"])
    commit(user.cwd)
    git(user.cwd, "merge", "-q", "two")
    assert (tmp_path / "ran").exists(), "the trap is one"
    (tmp_path / "ran").unlink()
    git(user.cwd, "reset", "-q", "--hard", "main~2")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(user.cwd / ".git" / "config"))
    merge(user, "HEAD", changes_of(user, one, two))
    assert not (tmp_path / "ran").exists()


def changes_of(git: Git, *edits: dict[str, str]) -> list[Change]:
    return [change(git, name, each) for name, each in zip("AB", edits, strict=True)]
