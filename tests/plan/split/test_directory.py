from __future__ import annotations

from fanwise.plan.split import Rules, split
from tests.plan.split.support import made


def test_folders_that_fit_are_leaves_and_small_ones_beside_one_another_are_packed() -> None:
    files = {f"{folder}/f{n}.txt": 1 for folder in ("a", "b", "c") for n in range(3)}
    found = split(made(files), Rules(mode="directory", max_files=6))
    assert [leaf.title for leaf in found.tree.leaves] == ["{a, b}", "c"]
    assert found.tree.root.title == "all files"


def test_folders_may_be_deeper_than_python_recurses() -> None:
    files = {f"{'a/' * depth}f.txt": 1 for depth in range(1500)}
    found = split(made(files), Rules(mode="directory", max_files=300))
    assert sorted(found.tree.owners) == sorted(files)
