"""What holds for every split of every code base."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fanwise.plan.model.node import Node, Split, Tree
from fanwise.plan.split import PlanFile, Rules, split
from fanwise.plan.split.files import file_of
from fanwise.plan.split.graphs import components
from tests.profiles import examples

FEW = examples(0.5, suppress=[HealthCheck.too_slow])
NAMES = ("a", "b", "c", "lib", "tests", "ü x")


@st.composite
def code_bases(draw: st.DrawFn) -> list[PlanFile]:
    """Python files in nested folders that import one another, and a few others."""
    count = draw(st.integers(1, 40))
    chance = random.Random(draw(st.integers(0, 10**6)))
    paths = []
    for number in range(count):
        folders = [chance.choice(NAMES) for _ in range(chance.randrange(4))]
        paths.append("/".join([*folders, f"m{number}{chance.choice(('.py', '.py', '.txt'))}"]))
    files = []
    for path in paths:
        lines = []
        for _ in range(chance.randrange(4)):
            module = chance.choice(paths).removesuffix(".py").replace("/", ".").replace("ü x", "u")
            lines.append(chance.choice(("", "", "def f():\n    ")) + f"import {module}\n")
        lines.append("x = 1\n" * chance.randrange(60))
        files.append(file_of(path, "".join(lines).encode()))
    return files


@st.composite
def all_rules(draw: st.DrawFn) -> Rules:
    most = draw(st.integers(1, 12))
    return Rules(
        mode=draw(st.sampled_from(["directory", "independent", "dependency"])),
        max_files=most,
        max_tokens=draw(st.integers(1, 400)),
        min_files=draw(st.integers(1, most)),
        max_depth=draw(st.integers(1, 5)),
    )


@FEW
@given(files=code_bases(), rules=all_rules())
def test_every_file_is_in_exactly_one_leaf_and_the_links_are_right(
    files: list[PlanFile], rules: Rules
) -> None:
    tree = split(files, rules).tree
    placed = [path for leaf in tree.leaves for path in leaf.files]
    assert sorted(placed) == sorted(file.path for file in files)
    _check_links(tree)
    assert max(node.depth for node in tree.nodes) <= rules.max_depth
    sizes = {file.path: file.tokens for file in files}
    for node in tree.nodes:
        assert node.tokens == sum(sizes[path] for path in _files(tree, node))


def _check_links(tree: Tree) -> None:
    """Each child names its parent, which names it; the order is that of a walk from the root."""
    assert len(tree.by_id) == len(tree.nodes)
    assert tree.root.parent is None
    assert tree.root.depth == 0
    for node in tree.nodes:
        assert bool(node.children) != bool(node.files)
        assert len(node.children) != 1
        for name in node.children:
            assert tree.by_id[name].parent == node.id
            assert tree.by_id[name].depth == node.depth + 1
            assert set(_files(tree, tree.by_id[name])) < set(_files(tree, node))
    walked: list[str] = []
    left = [tree.root.id]
    while left:
        name = left.pop()
        walked.append(name)
        left += reversed(tree.by_id[name].children)
    assert walked == [node.id for node in tree.nodes]


def _files(tree: Tree, node: Node) -> list[str]:
    if not node.children:
        return list(node.files)
    return [path for name in node.children for path in _files(tree, tree.by_id[name])]


@FEW
@given(files=code_bases(), rules=all_rules())
def test_a_leaf_keeps_to_the_limits_or_says_why_not(files: list[PlanFile], rules: Rules) -> None:
    found = split(files, rules)
    for leaf in found.tree.leaves:
        fits = rules.fits(len(leaf.files), leaf.tokens)
        small = len(leaf.files) < rules.min_files and len(found.tree.leaves) > 1
        assert bool(leaf.irreducible) == (not fits or small)
        if not fits and len(leaf.files) > 1:
            assert rules.mode == "dependency", "only circles are kept together"
            assert _is_circle(found, leaf)


def _is_circle(found: Split, leaf: Node) -> bool:
    inside = set(leaf.files)
    graph = {p: [o for o in found.imports.get(p, ()) if o in inside] for p in sorted(inside)}
    return len(components(graph)) == 1


@FEW
@given(files=code_bases(), rules=all_rules())
def test_a_leaf_that_is_too_small_would_fit_nowhere(files: list[PlanFile], rules: Rules) -> None:
    leaves = split(files, rules).tree.leaves
    if rules.mode == "dependency":
        return  # there it may be the order that forbids it
    for leaf in leaves:
        if len(leaf.files) >= rules.min_files:
            continue
        for other in leaves:
            if other is not leaf:
                count, tokens = len(leaf.files) + len(other.files), leaf.tokens + other.tokens
                assert not rules.fits(count, tokens)


@FEW
@given(files=code_bases(), rules=all_rules())
def test_what_fits_into_a_leaf_is_not_split(files: list[PlanFile], rules: Rules) -> None:
    """So no code base is split deeper than its limits ask."""
    tree = split(files, rules).tree
    for node in tree.nodes:
        if node.children and (node.depth == 0 or rules.mode != "dependency"):
            assert not rules.fits(len(_files(tree, node)), node.tokens)


@FEW
@given(files=code_bases(), rules=all_rules())
def test_the_order_between_leaves_has_no_circle(files: list[PlanFile], rules: Rules) -> None:
    found = split(files, rules)
    after = {leaf.id: leaf.after for leaf in found.tree.leaves}
    assert all(len(circle) == 1 for circle in components(after))
    assert all(leaf.id not in leaf.after for leaf in found.tree.leaves)
    if rules.mode != "dependency":
        assert not any(after.values())
    if rules.mode == "dependency":
        assert found.scorecard.cyclic == 0
        place = {leaf.id: n for n, leaf in enumerate(found.tree.leaves)}
        assert all(place[each] < place[name] for name, all_ in after.items() for each in all_)


@FEW
@given(files=code_bases(), rules=all_rules(), chance=st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(
    files: list[PlanFile], rules: Rules, chance: random.Random
) -> None:
    shuffled = list(files)
    chance.shuffle(shuffled)
    assert split(shuffled, rules, goal="g") == split(files, rules, goal="g")
