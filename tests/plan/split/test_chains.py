"""The order between groups beside what a search through the whole graph says."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from fanwise.plan.split.dependency import AcyclicGroups
from fanwise.plan.split.graphs import Chains, components
from fanwise.plan.split.rules import Rules
from tests.profiles import examples


def joined(before: dict[int, set[int]], one: int, other: int) -> dict[int, set[int]]:
    """The graph with two nodes as one."""
    name = {node: one if node == other else node for node in before}
    made: dict[int, set[int]] = {node: set() for node in before if node != other}
    for node, others in before.items():
        made[name[node]] |= {name[each] for each in others} - {name[node]}
    return made


def longest(before: dict[int, set[int]], work: dict[int, int]) -> dict[int, int]:
    """The longest chain through each node."""
    order = [node for circle in components(before) for node in circle]
    head: dict[int, int] = {}
    for node in order:
        head[node] = max((head[each] + work[each] for each in before[node]), default=0)
    tail = dict.fromkeys(order, 0)
    for node in reversed(order):
        for each in before[node]:
            tail[each] = max(tail[each], tail[node] + work[node])
    return {node: head[node] + work[node] + tail[node] for node in order}


@examples(1)
@given(count=st.integers(2, 9), seed=st.integers(0, 10**6))
def test_joins_are_refused_exactly_where_they_close_a_circle(count: int, seed: int) -> None:
    chance = random.Random(seed)
    before = {n: {m for m in range(n) if chance.random() < 0.3} for n in range(count)}
    work = {n: chance.randrange(1, 9) for n in range(count)}
    chains = Chains([before[n] for n in range(count)], [work[n] for n in range(count)])
    alive = list(range(count))
    for _ in range(20):
        if len(alive) < 2:
            break
        one, other = chance.sample(alive, 2)
        graph = joined(before, one, other)
        circle = any(len(each) > 1 for each in components(graph))
        assert chains.makes_circle(one, other) == circle
        if not circle:
            chains.join(one, other)
            before, work[one] = graph, work[one] + work[other]
            alive.remove(other)
            wanted = longest(before, work)
            for node in alive:
                assert chains.time_through(node, node) >= wanted[node]
                assert chains._head[node] + work[node] + chains._tail[node] == wanted[node]


def test_a_join_that_makes_all_of_it_too_long_is_refused() -> None:
    """a, b, c in a chain, and d beside it: if it is long, d would hold up b and c."""
    members = [["a"], ["b"], ["c"], ["d"]]
    imports = {"b": ["a"], "c": ["b"]}
    for long, may in ((100, False), (10, True)):
        tokens = {**dict.fromkeys("abc", 100), "d": long}
        groups = AcyclicGroups(members, imports, tokens, Rules(mode="dependency", max_tokens=200))
        assert groups.may(0, 3) == may
    assert groups.may(0, 1)
    assert not groups.may(0, 2), "b would wait for itself"
