"""Adds the sub-plans that a leaf returned to the tree. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from fanwise.errors import BadSubPlans
from fanwise.plan.model.leaf_result import SubPlan
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.split.rules import Rules
from fanwise.plan.split.tree import id_of, title_of

MOST_NAMED = 3


def grow(
    tree: Tree,
    leaf_id: str,
    subplans: Sequence[SubPlan],
    *,
    rules: Rules,
    digests: Mapping[str, str],
    tokens: Mapping[str, int],
    goal: str = "",
) -> Tree:
    """Return the tree with these below the leaf. `BadSubPlans` if they are not parts of it.

    They come after whatever the leaf came after, and what came after the leaf comes after all of
    them. `goal` is that of the plan.
    """
    leaf = tree.by_id[leaf_id]
    subplans = [replace(each, goal=_own(each.goal, leaf, goal)) for each in subplans]
    _check(leaf, subplans, rules)
    children = [_child(leaf, each, rules, digests, tokens) for each in subplans]
    names = tuple(child.id for child in children)
    nodes: list[Node] = []
    for node in tree.nodes:
        if node.id == leaf_id:
            nodes += [replace(leaf, children=names, files=(), after=()), *children]
        elif leaf_id in node.after:
            nodes.append(replace(node, after=_instead(node.after, leaf_id, names)))
        else:
            nodes.append(node)
    return Tree(nodes=tuple(nodes))


def _child(
    leaf: Node,
    given: SubPlan,
    rules: Rules,
    digests: Mapping[str, str],
    tokens: Mapping[str, int],
) -> Node:
    files = tuple(sorted(given.files))
    return Node(
        # The leaf's own id has the goal of the plan and all contents in it.
        id=id_of(f"{leaf.id}\0{given.goal}", files, digests, rules),
        title=title_of(files),
        depth=leaf.depth + 1,
        parent=leaf.id,
        files=files,
        tokens=sum(tokens[path] for path in files),
        after=leaf.after,
        goal=given.goal,
    )


def _check(leaf: Node, subplans: Sequence[SubPlan], rules: Rules) -> None:
    def bad(reason: str) -> BadSubPlans:
        return BadSubPlans(leaf.id, leaf.title, reason)

    if leaf.children:
        raise bad("it has sub-plans already")
    if not subplans:
        raise bad("there are none")
    if leaf.depth >= rules.max_depth:
        raise bad(f"it is {leaf.depth} deep, and max_depth is {rules.max_depth}: edit the files")
    if not all(each.files for each in subplans):
        raise bad("one of them has no files")
    given = [path for each in subplans for path in each.files]
    foreign = set(given) - set(leaf.files)
    if foreign:
        raise bad(f"{_named(foreign)}: not among its own files")
    twice = {path for path in given if given.count(path) > 1}
    if twice:
        raise bad(f"{_named(twice)}: in more than one place")
    (first, *others) = subplans
    if not others and len(given) == len(leaf.files) and first.goal == leaf.goal:
        raise bad("the only one is all of it again, with the same goal")


def _own(goal: str, leaf: Node, of_plan: str) -> str:
    """The goal of a sub-plan, or of its leaf; empty if it is the goal of the plan."""
    goal = goal.strip() or leaf.goal
    return "" if goal == of_plan.strip() else goal


def _instead(after: Sequence[str], one: str, others: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for each in after for name in (others if each == one else (each,)))


def _named(paths: Iterable[str]) -> str:
    shown = sorted(paths)
    more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    return ", ".join(map(repr, shown[:MOST_NAMED])) + more
