from __future__ import annotations

from fanwise.plan.model.node import Hub, Node, Tree
from fanwise.plan.split.scorecard import makespan, scorecard, speedup, urgency


def leaf(name: str, tokens: int, *after: str, files: tuple[str, ...] = ()) -> Node:
    return Node(
        id=name, title=name, depth=1, parent="root", tokens=tokens, after=after,
        files=files or (f"{name}.py",),
    )  # fmt: skip


def test_the_schedule_is_a_ready_queue_without_waves() -> None:
    """With waves, c would wait for b: 10 + 10. Here it starts when a has ended."""
    leaves = [leaf("a", 1), leaf("b", 10), leaf("c", 9, "a")]
    assert makespan(leaves, 2) == 10
    assert makespan(leaves, 1) == 20
    assert speedup(leaves, 2) == 2.0


def test_the_most_urgent_goes_first() -> None:
    leaves = [leaf("x", 3), leaf("y", 3), leaf("a", 1), leaf("b", 6, "a")]
    assert urgency(leaves) == {"x": 3, "y": 3, "a": 7, "b": 6}
    assert makespan(leaves, 2) == 7


def test_a_chain_has_no_speed_up() -> None:
    assert speedup([leaf("a", 5), leaf("b", 5, "a"), leaf("c", 5, "b")], 10) == 1.0


def test_the_figures() -> None:
    one = leaf("one", 30, files=("a", "b"))
    two, three = leaf("two", 10, files=("c", "d")), leaf("three", 20, files=("e",))
    root = Node(id="root", title="all", tokens=60, children=("one", "two", "three"))
    imports = {"a": ["b", "c"], "c": ["a"], "d": ["h", "e"], "e": ["h"]}
    tree = Tree(nodes=(root, one, two, leaf("three", 20, files=("e", "h"))))
    commits = [("a", "b"), ("a", "c", "x"), ("a", "x"), ("c", "d", "e")]
    card = scorecard(tree, imports, [Hub("h", 2)], max_parallel=2, commits=commits)
    assert (card.files, card.tokens, card.leaves, card.depth) == (6, 60, 3, 1)
    assert card.balance == 1.5
    assert card.edges == 6
    assert card.cut == 4 / 6
    assert card.cut_without_hubs == 3 / 4
    assert card.cyclic == 4 / 6, "one and two import from each other; three is only imported"
    assert card.speedup == 2.0
    assert (card.commits, card.commits_inside) == (3, 1 / 3), "one file of the plan says nothing"
    assert three.depth == 1


def test_imports_that_no_order_speaks_of_are_counted() -> None:
    root = Node(id="root", title="all", tokens=2, children=("a", "b"))
    tree = Tree(nodes=(root, leaf("a", 1), leaf("b", 1, "a")))
    imports = {"b.py": ["a.py"], "a.py": ["b.py"]}
    card = scorecard(tree, imports, (), max_parallel=2, ordered=True)
    assert card.against == 1
    assert card.cyclic == 0
    assert scorecard(tree, imports, (), max_parallel=2).cyclic == 1
