"""The live tree in a terminal: the leaves that matter now, and how many others are in which state.

There are never more lines than rows. Leaves at work come first, then the latest that went wrong,
then the latest that ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fanwise.kernel import events
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.model.states import ACTIVE, MARKS, ORDER, WRONG, State
from fanwise.plan.state.activity import Activity, CurrentStage
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import PlanItem
from fanwise.plan.views.tree import Counts, count_leaves

Line = list[tuple[str, str]]
"""Pieces of text with their styles."""

STYLES: Mapping[State, str] = {
    "queued": "dim", "running": "cyan", "verifying": "magenta", "done": "green",
    "unchanged": "dim", "split": "blue", "failed": "red", "skipped": "yellow",
    "conflict": "yellow", "merging": "cyan", "given up": "red", "left out": "yellow",
}  # fmt: skip
FOR_STATES = 30
"""Columns reserved for what a leaf does, if its name has as many."""
WIDEST = 64


class ShownNode(NamedTuple):
    node: Node
    twig: str
    """The lines of the tree before its name."""


class LiveTree:
    """The drawing of a plan: see `Drawing` in `fanwise.specs.system`."""

    def __init__(self, tree: Tree) -> None:
        self._now = Activity(tree)
        self._counts: Counts = {}

    def __call__(self, event: events.Event) -> None:
        self._now(event)

    def took(self, board: PlanBoard, item: PlanItem) -> None:
        """Called when the board has taken the outcome of an item."""
        self._now.took(board, item)

    def lines(self, now: float, rows: int, width: int) -> Sequence[Line]:
        """The drawing at this time: at most so many lines."""
        root = self._now.tree.root
        self._counts = count_leaves(self._now.tree, self._now.state)
        steps = [_step_line(doing, now) for doing in self._now.steps.values()][-1:]
        top: Line = [(root.title or "plan", "bold"), *self._states_of(root, now)[1:]]
        room = rows - 2 - len(steps)  # one for the top, one for the leaves that are not shown
        lines = [top, *(self._tree_lines(room, now, width) if room > 0 else ()), *steps]
        return lines[:rows] if rows > 0 else []

    def _tree_lines(self, room: int, now: float, width: int) -> Iterator[Line]:
        shown, hides = choose(self._now, room)
        most = min(WIDEST, max(width // 2, width - FOR_STATES))
        names = [_name(each, most) for each in shown]
        wide = max(map(len, names), default=0)
        for each, name in zip(shown, names, strict=True):
            twig, title = name[: len(each.twig)], name[len(each.twig) :]
            state = self._states_of(each.node, now)
            yield [(twig, "dim"), *state[:1], (title.ljust(wide - len(twig)), ""), *state[1:]]
        if hides and shown:
            yield [("└─ ", "dim"), ("… ", "dim"), *self._rest(shown)]

    def _states_of(self, node: Node, now: float) -> Line:
        """A mark, and what it does; of a node with children, what the leaves below it do."""
        if node.children:
            return [("▾ ", "dim"), ("  ", ""), *_pieces(self._counts[node.id])]
        state = self._now.state(node.id)
        style = STYLES[state]
        line: Line = [(f"{MARKS[state]} ", style), ("  ", ""), (state, style)]
        doing = self._now.active.get(node.id)
        if doing is not None and state in ACTIVE:
            line.append((_doing_text(doing, now), ""))
        return line

    def _rest(self, shown: Sequence[ShownNode]) -> Line:
        counts = Counter(self._counts[self._now.tree.root.id])
        counts.subtract(self._now.state(each.node.id) for each in shown if not each.node.children)
        return _pieces(counts)


def _pieces(counts: Mapping[State, int]) -> Line:
    told = [(f"{counts[state]:,} {state}", STYLES[state]) for state in ORDER if counts.get(state)]
    return [piece for each in told for piece in ((", ", "dim"), each)][1:]


def _doing_text(doing: CurrentStage, now: float) -> str:
    tried = f", try {doing.number}" if doing.number > 1 else ""
    return f"{tried}, {_seconds(now - doing.since)}"


def _step_line(doing: CurrentStage, now: float) -> Line:
    return [("▸ ", "cyan"), (doing.what, "cyan"), (f", {_seconds(now - doing.since)}", "")]


def _seconds(seconds: float) -> str:
    whole = max(0, int(seconds))
    minutes, rest = divmod(whole, 60)
    return f"{minutes}:{rest:02} min" if minutes else f"{rest} s"


def _name(shown: ShownNode, most: int) -> str:
    """With its twig. A long title keeps its end, where titles differ."""
    title, room = shown.node.title, max(8, most - len(shown.twig))
    return shown.twig + (title if len(title) <= room else f"…{title[1 - room :]}")


# -- which nodes are shown ------------------------------------------------------------------------


def choose(now: Activity, room: int) -> tuple[list[ShownNode], bool]:
    """At most `room` nodes below the root, in tree order, and whether others are hidden."""
    by_id = now.tree.by_id
    found = (by_id[leaf] for leaf in dict.fromkeys(_wanted(now)) if leaf in by_id)
    leaves = [leaf for leaf in found if not leaf.children and leaf.parent is not None]
    chosen = _fitting(now, leaves, room)
    if any(leaf in by_id and leaf not in chosen for leaf in now.active):
        # Leaves at work matter more than the nodes above them.
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
    """As many leaves as fit together with the nodes above them."""
    chosen: set[str] = set()
    for leaf in leaves:
        above = {node.id for node in now.tree.above(leaf) if node.parent is not None}
        fresh = (above | {leaf.id}) - chosen
        if len(chosen) + len(fresh) <= room:
            chosen |= fresh
    return chosen


def _twigs(now: Activity, chosen: set[str], *, more: bool) -> list[ShownNode]:
    """In tree order, each below its nearest shown ancestor."""
    tree = now.tree
    below: dict[str, list[str]] = {}
    for name in (node.id for node in tree.nodes if node.id in chosen):
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
    """The children of a node, the first one last; `more`: another line follows them."""
    names = reversed(below.get(name, []))
    return [(each, indent, number == 0 and not more) for number, each in enumerate(names)]
