from __future__ import annotations

import pytest

from fanwise.errors import UsageError
from fanwise.plan.model.node import Node, Split
from fanwise.plan.split import PlanFile, Rules, split
from tests.plan.split.support import made


def leaf_of(found: Split, path: str) -> Node:
    return found.tree.by_id[found.tree.owners[path]]


def two_worlds() -> dict[str, str | int]:
    """Two clusters of files that import one another; folders go across both."""
    files: dict[str, str | int] = {}
    for n in range(10):
        for world in ("x", "y"):
            near = (f"from part{(n + step) % 10}.{world} import a\n" for step in (1, 2))
            files[f"part{n}/{world}.py"] = "".join(near)
    return files


def test_independent_finds_what_belongs_together_across_folders() -> None:
    found = split(made(two_worlds()), Rules(max_files=10))
    assert found.scorecard.cut == 0
    assert {len({path[-4] for path in leaf.files}) for leaf in found.tree.leaves} == {1}
    by_folder = split(made(two_worlds()), Rules(mode="directory", max_files=10))
    assert by_folder.scorecard.cut is not None
    assert by_folder.scorecard.cut > 0.2


def test_dependency_puts_the_imported_before_the_importer() -> None:
    files = {f"m{n}.py": f"import m{n + 1}" if n < 11 else "" for n in range(12)}
    found = split(made(files), Rules(mode="dependency", max_files=4))
    assert "m11.py" in found.tree.leaves[0].files
    assert found.tree.leaves[0].after == ()
    for leaf in found.tree.leaves:
        for path in leaf.files:
            for other in found.imports.get(path, ()):
                owner = found.tree.owners[other]
                assert owner == leaf.id or owner in leaf.after
    assert found.scorecard.speedup == 1.0


def circle(count: int, link: str) -> dict[str, str | int]:
    """A circle of imports, one of which is written as `link` says, and a file that uses it."""
    files: dict[str, str | int] = {f"m{n:02}.py": f"import m{n + 1:02}" for n in range(count - 1)}
    files[f"m{count - 1:02}.py"] = link
    files["user.py"] = "import m00"
    return files


def test_a_circle_that_is_too_large_stays_together_and_is_said() -> None:
    found = split(made(circle(8, "import m00")), Rules(mode="dependency", max_files=4))
    together = leaf_of(found, "m00.py")
    assert together.files == tuple(f"m{n:02}.py" for n in range(8))
    assert "circle" in together.irreducible
    assert leaf_of(found, "user.py").after == (together.id,)
    assert found.scorecard.against == 0


def test_a_circle_that_is_too_large_is_opened_where_its_authors_opened_it() -> None:
    files = circle(8, "def f():\n    import m00\n")
    found = split(made(files), Rules(mode="dependency", max_files=4))
    assert not any(leaf.irreducible for leaf in found.tree.leaves if len(leaf.files) > 1)
    assert max(len(leaf.files) for leaf in found.tree.leaves) <= 4
    assert found.scorecard.against == 1
    assert found.scorecard.cyclic == 0
    assert "m07.py" in found.tree.leaves[0].files


def test_a_circle_that_fits_stays_together_wherever_its_imports_stand() -> None:
    files = {**circle(4, "def f():\n    import m00\n"), **{f"x{n}.py": "" for n in range(4)}}
    found = split(made(files), Rules(mode="dependency", max_files=5))
    assert len({found.tree.owners[f"m{n:02}.py"] for n in range(4)}) == 1
    assert found.scorecard.against == 0


def test_chains_are_joined_along_so_that_they_run_side_by_side() -> None:
    files: dict[str, str | int] = {}
    for chain in range(6):
        for n in range(6):
            text = f"import c{chain}_{n + 1}\n" if n < 5 else ""
            files[f"c{chain}_{n}.py"] = text + "x = 1\n" * 200
    found = split(made(files), Rules(mode="dependency", max_files=6, max_tokens=10_000))
    assert found.scorecard.speedup > 5
    assert found.scorecard.cyclic == 0


@pytest.mark.parametrize("mode", ["directory", "independent", "dependency"])
def test_a_file_beyond_the_limits_is_a_leaf_by_itself_with_the_reason(mode: str) -> None:
    files = made({"a.txt": 10, "big.txt": 1000, "c.txt": 10, "d.txt": 10})
    found = split(files, Rules(mode=mode, max_tokens=100, min_files=1))  # type: ignore[arg-type]
    assert [leaf.files for leaf in found.tree.leaves if leaf.irreducible] == [("big.txt",)]
    assert "1,000 tokens" in leaf_of(found, "big.txt").irreducible


def hub_files() -> dict[str, str | int]:
    files: dict[str, str | int] = {f"p{n % 4}/m{n}.py": "import base" for n in range(40)}
    files["base.py"] = "import helper"
    files["helper.py"] = ""
    return files


def test_hubs_are_named() -> None:
    found = split(made(hub_files()), Rules(max_files=10))
    assert [hub.path for hub in found.hubs] == ["base.py"]
    assert found.hubs[0].importers == 40
    assert found.scorecard.cut_without_hubs is None, "each import is one of the hub"


def test_past_commits_judge_a_split() -> None:
    files = made({f"{folder}/{n}.txt": 1 for folder in "ab" for n in range(10)})
    inside, across = [("a/1.txt", "a/2.txt")] * 3, [("a/1.txt", "b/1.txt")]
    card = split(files, Rules(mode="directory", max_files=10), commits=inside + across).scorecard
    assert (card.commits, card.commits_inside) == (4, 0.75)


def layout(count: int) -> list[PlanFile]:
    """Folders in folders, as large projects have them."""
    files: dict[str, str | int] = {}
    for n in range(count):
        team, product, part = n % 5, n // 5 % 6, n // 30 % 10
        text = f"from t{team}.p{product}.s{part} import m{n + 300}\nx = 1\n"
        files[f"t{team}/p{product}/s{part}/m{n}.py"] = text
    return made(files)


@pytest.mark.parametrize("mode", ["directory", "independent", "dependency"])
def test_three_thousand_files_make_a_tree_of_four_levels(mode: str) -> None:
    found = split(layout(3000), Rules(mode=mode, max_files=5, max_depth=4))  # type: ignore[arg-type]
    depths = [node.depth for node in found.tree.nodes]
    assert max(depths) == 4
    for depth in range(4):
        inner = [node for node in found.tree.nodes if node.depth == depth and node.children]
        assert inner, depth
    assert all(len(leaf.files) <= 5 for leaf in found.tree.leaves)
    assert sum(len(leaf.files) for leaf in found.tree.leaves) == 3000


@pytest.mark.parametrize("mode", ["directory", "independent", "dependency"])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_shallow_tree_is_wide_and_keeps_to_the_limits(mode: str, depth: int) -> None:
    rules = Rules(mode=mode, max_files=10, max_depth=depth)  # type: ignore[arg-type]
    found = split(layout(300), rules)
    assert found.scorecard.depth == depth
    assert all(len(leaf.files) <= 10 for leaf in found.tree.leaves)


@pytest.mark.parametrize("mode", ["directory", "independent", "dependency"])
def test_a_small_project_is_not_split_deeper_than_its_limits_ask(mode: str) -> None:
    rules = Rules(mode=mode)  # type: ignore[arg-type]
    whole = split(layout(25), rules)
    assert whole.tree.root.files
    assert whole.scorecard.depth == 0
    assert split(layout(49), rules).scorecard.depth == 1


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (Rules(max_depth=0), "max_depth"),
        (Rules(min_files=5, max_files=4), "min_files"),
        (Rules(max_files=0), "max_files"),
        (Rules(max_tokens=-1), "max_tokens"),
        (Rules(mode="folders"), "folders"),  # type: ignore[arg-type]
    ],
)
def test_rules_that_no_split_can_keep_are_refused(rules: Rules, said: str) -> None:
    with pytest.raises(UsageError, match=said) as error:
        split(made({"a.txt": 1}), rules)
    assert error.value.next_step


def test_nothing_to_split_is_an_error() -> None:
    with pytest.raises(UsageError, match="no files"):
        split([], Rules())
