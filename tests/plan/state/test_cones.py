"""Which folders a workspace has."""

from __future__ import annotations

from fanwise.plan.work.sparse_folders import NOTHING, SparseFolders, code_beside, is_sparse

IMPORTS = {
    "a/x.py": ("b/y.py",),
    "b/y.py": ("c/z.py",),
    "c/z.py": ("a/x.py",),
    "t/t.py": ("d/q.py",),
}


def test_who_edits_sees_its_files_and_what_they_import() -> None:
    cones = SparseFolders(IMPORTS, ["docs/"], runs=False)
    assert cones.of(["a/x.py"], []) == ("a/*", "b/*", "docs")
    assert cones.of(["c/z.py"], ["t/t.py"]) == ("a/*", "c/*", "d/*", "docs", "t/*")


def test_what_is_run_has_all_that_it_imports_in_a_circle_too() -> None:
    assert SparseFolders(IMPORTS, [], runs=True).of(["a/x.py"], []) == ("a", "b", "c")


def test_files_at_the_top_are_always_there() -> None:
    assert SparseFolders({}, [], runs=False).of(["setup.py"], []) == NOTHING


def test_code_that_is_in_no_sub_plan_stays_for_nobody_read_what_it_imports() -> None:
    names = ["a/x.py", "lib/u.py", "lib/data.txt", "img/logo.svg", "top.py"]
    assert code_beside(names, {"a/x.py": ""}) == {"lib"}


def test_big_ones_are_sparse_unless_the_file_says() -> None:
    assert [is_sparse(None, 5_000), is_sparse(None, 5_001)] == [False, True]
    assert [is_sparse(False, 9_000), is_sparse(True, 1), is_sparse(("a",), 1)] == [
        False, True, True,
    ]  # fmt: skip
