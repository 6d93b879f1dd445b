"""Which nodes of the tree are shown, where there is not room for all.

Those who are at work come first, then what went wrong last, then what ended last. The work of it
does not grow with the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fanwise.plan.model.node import Node
from fanwise.plan.model.states import WRONG
from fanwise.plan.state.activity import Activity


class ShownNode(NamedTuple):
    node: Node
    twig: str
    """What stands before its name, from the root on."""


def choose(now: Activity, room: int) -> tuple[list[ShownNode], bool]:
    """At most `room` nodes below the root, in the order of the tree; and whether some are not."""
    by_id = now.tree.by_id
    found = (by_id[leaf] for leaf in dict.fromkeys(_wanted(now)) if leaf in by_id)
    leaves = [leaf for leaf in found if not leaf.children and leaf.parent is not None]
    chosen = _fitting(now, leaves, room)
    if any(leaf in by_id and leaf not in chosen for leaf in now.active):
        # Rather those at work than what stands above them.
        chosen = {leaf.id for leaf in leaves[:room]}
    leaves_shown = sum(not by_id[node].children for node in chosen)
    hides = leaves_shown < len(now.tree.leaves) - (now.tree.root.children == ())
    return _twigs(now, chosen, more=hides), hides


def _wanted(now: Activity) -> Iterator[str]:
    yield from now.active
    last = list(reversed(now.recent))
    yield from (leaf for leaf in last if now.state(leaf) in WRONG)
    yield from last


def _fitting(now: Activity, leaves: Sequence[Node], room: int) -> set[str]:
    """As many as there is room for, together with all that stands above them."""
    chosen: set[str] = set()
    for leaf in leaves:
        above = {node.id for node in now.tree.above(leaf) if node.parent is not None}
        fresh = (above | {leaf.id}) - chosen
        if len(chosen) + len(fresh) <= room:
            chosen |= fresh
    return chosen


def _twigs(now: Activity, chosen: set[str], *, more: bool) -> list[ShownNode]:
    """In order, each below the nearest node above it that is shown."""
    tree = now.tree
    below: dict[str, list[str]] = {}
    for name in sorted(chosen, key=now.place):
        above = (node.id for node in tree.above(tree.by_id[name]))
        below.setdefault(next((a for a in above if a in chosen), tree.root.id), []).append(name)
    shown: list[ShownNode] = []
    waiting = _under(below, tree.root.id, "", more=more)
    while waiting:
        name, indent, last = waiting.pop()
        shown.append(ShownNode(tree.by_id[name], indent + ("└─ " if last else "├─ ")))
        waiting += _under(below, name, indent + ("   " if last else "│  "), more=False)
    return shown


def _under(
    below: dict[str, list[str]], name: str, indent: str, *, more: bool
) -> list[tuple[str, str, bool]]:
    """Those under a node, the first one at the end; `more`: another line comes after them."""
    names = reversed(below.get(name, []))
    return [(each, indent, number == 0 and not more) for number, each in enumerate(names)]
