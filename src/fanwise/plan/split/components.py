"""Strongly connected parts of a graph. Pure; Tarjan's way, without recursion."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

Key = TypeVar("Key", str, int)


def components(graph: Mapping[Key, Collection[Key]]) -> list[list[Key]]:
    """Parts in which each reaches each; what a part points to comes before it.

    The order depends on that of the graph's keys only: neighbours are taken in sorted order.
    """
    index: dict[Key, int] = {}
    low: dict[Key, int] = {}
    stack: list[Key] = []
    found: list[list[Key]] = []
    on_stack: set[Key] = set()
    for start in graph:
        if start in index:
            continue
        work: list[tuple[Key, Iterator[Key]]] = []
        _enter(start, graph, index, low, stack, on_stack, work)
        while work:
            node, neighbours = work[-1]
            for other in neighbours:
                if other not in index:
                    _enter(other, graph, index, low, stack, on_stack, work)
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found.append(_leave(node, stack, on_stack))
    return found


def _enter(
    node: Key,
    graph: Mapping[Key, Collection[Key]],
    index: dict[Key, int],
    low: dict[Key, int],
    stack: list[Key],
    on_stack: set[Key],
    work: list[tuple[Key, Iterator[Key]]],
) -> None:
    index[node] = low[node] = len(index)
    stack.append(node)
    on_stack.add(node)
    work.append((node, iter(sorted(graph[node]))))


def _leave(node: Key, stack: list[Key], on_stack: set[Key]) -> list[Key]:
    place = stack.index(node)
    part = stack[place:]
    del stack[place:]
    on_stack.difference_update(part)
    return sorted(part)
