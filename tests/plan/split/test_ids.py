from __future__ import annotations

import pytest

from fanwise.plan.split import Rules, split
from tests.plan.split.support import made

FILES: dict[str, str | int] = {
    f"{folder}/m{n}.py": f"x = {n}\n" for folder in "abc" for n in range(4)
}
RULES = Rules(mode="directory", max_files=4)


def ids(files: dict[str, str | int], rules: Rules = RULES, goal: str = "g") -> dict[str, str]:
    return {leaf.title: leaf.id for leaf in split(made(files), rules, goal=goal).tree.leaves}


def test_an_unchanged_leaf_keeps_its_id_when_another_one_changes() -> None:
    before, after = ids(FILES), ids({**FILES, "b/m0.py": "x = 'other'\n"})
    assert before["a"] == after["a"]
    assert before["c"] == after["c"]
    assert before["b"] != after["b"]


@pytest.mark.parametrize("mode", ["independent", "dependency"])
def test_the_grouping_does_not_move_with_contents_that_change_no_import(mode: str) -> None:
    files: dict[str, str | int] = {
        f"p{n % 5}/m{n}.py": f"import p{(n * 7) % 5}.m{(n * 7) % 60}\nx = 1\n" for n in range(60)
    }
    rules = Rules(mode=mode, max_files=10)  # type: ignore[arg-type]
    before = split(made(files), rules)
    changed = {**files, "p0/m0.py": str(files["p0/m0.py"]) + "y = 2\n"}
    after = split(made(changed), rules)
    same = [a.id == b.id for a, b in zip(before.tree.leaves, after.tree.leaves, strict=True)]
    assert same.count(False) == 1


def test_goal_rules_paths_and_contents_are_all_in_the_id() -> None:
    known = set(ids(FILES).values())
    assert known.isdisjoint(ids(FILES, goal="another").values())
    assert known.isdisjoint(ids(FILES, Rules(mode="directory", max_files=4, max_depth=3)).values())
    renamed: dict[str, str | int] = {path.replace("/m", "/n"): text for path, text in FILES.items()}
    assert known.isdisjoint(ids(renamed).values())
    swapped = {**FILES, "a/m0.py": FILES["a/m1.py"], "a/m1.py": FILES["a/m0.py"]}
    assert ids(swapped)["a"] != ids(FILES)["a"]


def test_the_id_is_the_same_on_any_machine() -> None:
    """Pinned: a change of this is a change of every plan that is on disk."""
    found = split(made({"a.py": "x = 1\n"}), Rules(), goal="g")
    assert found.tree.root.id == "87a15c303959f1dee5f1d69f"
