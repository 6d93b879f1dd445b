"""The lines of the live tree: what is shown of it, and how many of the others are in which state.

Never more lines than there are rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fanwise.kernel import events
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.model.states import ACTIVE, MARKS, ORDER, State
from fanwise.plan.state.activity import Activity, CurrentStage
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import PlanItem
from fanwise.plan.views.live_choice import ShownNode, choose

Line = list[tuple[str, str]]
"""Pieces of text with their styles."""

STYLES: Mapping[State, str] = {
    "queued": "dim", "running": "cyan", "verifying": "magenta", "done": "green",
    "unchanged": "dim", "split": "blue", "failed": "red", "skipped": "yellow",
    "conflict": "yellow", "merging": "cyan", "given up": "red", "left out": "yellow",
}  # fmt: skip
FOR_STATES = 30
"""Columns that are kept for what a leaf does, if there are as many for its name."""
WIDEST = 64


class LiveTree:
    """The drawing of a plan: see `Drawing` in `fanwise.specs.system`."""

    def __init__(self, tree: Tree) -> None:
        self._now = Activity(tree)

    def __call__(self, event: events.Event) -> None:
        self._now(event)

    def took(self, board: PlanBoard, item: PlanItem) -> None:
        """Called when the board has taken the outcome of an item."""
        self._now.took(board, item)

    def lines(self, now: float, rows: int, width: int) -> Sequence[Line]:
        """The drawing at this time: at most so many lines."""
        root = self._now.tree.root
        steps = [_step_line(doing, now) for doing in self._now.steps.values()][-1:]
        top: Line = [(root.title or "plan", "bold"), *self._states_of(root, now)[1:]]
        room = rows - 2 - len(steps)  # one for the top, one for those that are not shown
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
            return [("▾ ", "dim"), ("  ", ""), *_pieces(self._now.counts(node))]
        state = self._now.state(node.id)
        style = STYLES[state]
        line: Line = [(f"{MARKS[state]} ", style), ("  ", ""), (state, style)]
        doing = self._now.active.get(node.id)
        if doing is not None and state in ACTIVE:
            line.append((_doing_text(doing, now), ""))
        return line

    def _rest(self, shown: Sequence[ShownNode]) -> Line:
        counts = Counter(self._now.counts(self._now.tree.root))
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
    """With its twig; of a long title the end is kept, for that tells it from others."""
    title, room = shown.node.title, max(8, most - len(shown.twig))
    return shown.twig + (title if len(title) <= room else f"…{title[1 - room :]}")
