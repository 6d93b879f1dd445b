from __future__ import annotations

import pytest

from fanwise.plan.model.node import Split
from fanwise.plan.split import Rules, split
from fanwise.plan.views.tree_text import first_tree_lines, tree_lines
from tests.plan.split.support import made

HOSTILE = "<script>alert(1)</script>&\"'.py"


@pytest.fixture(scope="module")
def found() -> Split:
    files: dict[str, str | int] = {
        f"t{n % 3}/p{n % 7}/m{n}.py": f"import t{(n + 1) % 3}.p{(n + 1) % 7}.m{n + 1}"
        for n in range(90)
    }
    files[f"t0/{HOSTILE}"] = "import t0.p0.m0"
    return split(made(files), Rules(mode="dependency", max_files=3))


def test_the_tree_as_text_has_a_line_for_each_node_within_the_width(found: Split) -> None:
    lines = tree_lines(found.tree, width=80)
    assert len(lines) == len(found.tree.nodes)
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("all files")
    for line, node in zip(lines, found.tree.nodes, strict=True):
        assert line.startswith(("│  ", "├─ ", "└─ ", "   ")) == (node.depth > 0)
        assert node.title[:10] in line
        assert ("leaves" in line) == bool(node.children)


def test_states_are_shown(found: Split) -> None:
    leaf = found.tree.leaves[0]
    (line,) = [
        line for line in tree_lines(found.tree, states={leaf.id: "running"}) if "running" in line
    ]
    assert leaf.title[:10] in line


def test_a_large_tree_is_cut_and_says_so(found: Split) -> None:
    lines = first_tree_lines(found.tree, 10, rest="--all")
    assert len(lines) <= 11
    hidden = len(found.tree.nodes) - (len(lines) - 1)
    assert lines[-1] == f"… {hidden} more; --all"
    assert first_tree_lines(found.tree, None) == tree_lines(found.tree)


def test_one_leaf_alone_can_be_drawn() -> None:
    one = split(made({"a.py": ""}), Rules())
    assert tree_lines(one.tree)[0].startswith("a.py")


def test_a_name_with_a_line_end_in_it_is_one_line() -> None:
    found = split(made({"a\nb.py": 1, "c.py": 1, "d.py": 1}), Rules(max_files=2, min_files=1))
    assert not any("\n" in line for line in tree_lines(found.tree))
