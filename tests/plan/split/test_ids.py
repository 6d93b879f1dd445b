from __future__ import annotations

from random import Random

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


def layout(seed: int) -> dict[str, str | int]:
    """300 files in 20 packages, which import within them, and here and there a neighbour's."""
    random = Random(seed)

    def imports(package: int, count: int) -> list[str]:
        found = (random.randrange(15) for _ in range(count))
        return [f"from p{package % 20:02}.m{number:02} import x" for number in found]

    files: dict[str, str | int] = {}
    for package in range(20):
        for number in range(15):
            own = imports(package, random.randint(1, 3))
            others = imports(package + random.randint(1, 2), int(random.random() < 0.3))
            text = "\n".join([*own, *others, f"x = {number}", ""])
            files[f"p{package:02}/m{number:02}.py"] = text
    return files


@pytest.mark.parametrize("seed", range(3))
def test_most_leaves_keep_their_id_when_a_file_is_added_elsewhere(seed: int) -> None:
    files = layout(seed)
    before = set(kept(files))
    added = {
        "p07/new.py": "from p07.m01 import x\n",
        "p12/new.py": "from p12.m03 import x\nfrom p13.m02 import x\n",
        "p00/aaa.py": "x = 1\n",
        "new.md": "Hello\n",
    }
    assert len(before) > 25
    for path, text in added.items():
        after = set(kept({**files, path: text}))
        assert len(before & after) >= 0.7 * len(before), path
        assert before != after


def kept(files: dict[str, str | int]) -> list[str]:
    rules = Rules(mode="independent", max_files=10)
    return [leaf.id for leaf in split(made(files), rules).tree.leaves]


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
    assert found.tree.root.id == "79600123a3a0b38c2bdc8965"
