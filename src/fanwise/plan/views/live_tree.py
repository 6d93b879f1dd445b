"""What a terminal shows of a running plan: the leaves that matter now, and the number of others.

There are never more lines than rows. Leaves at work come first, then the latest that went wrong,
then the latest that ended; they are drawn in the order of the tree. A title is a path, so the nodes
above a leaf are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fanwise.kernel import events
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.model.states import ACTIVE, MARKS, ORDER, WRONG, State
from fanwise.plan.state.activity import Activity, CurrentStage
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import PlanItem

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
TWIG, END = "├─ ", "└─ "


class LiveTree:
    """The drawing of a plan: see `Drawing` in `fanwise.specs.system`."""

    def __init__(self, tree: Tree) -> None:
        self._now = Activity(tree)

    def __call__(self, event: events.Event) -> None:
        self._now(event)

    def took(self, board: PlanBoard, item: PlanItem) -> None:
        self._now.took(board, item)

    def lines(self, now: float, rows: int, width: int) -> Sequence[Line]:
        """The drawing at this time: at most so many lines."""
        tree = self._now.tree
        counts = Counter(self._now.state(leaf.id) for leaf in tree.leaves)
        steps = [_step_line(doing, now) for doing in self._now.steps.values()][-1:]
        about = _pieces(counts) if tree.root.children else self._state_of(tree.root, now)[1:]
        lines: list[Line] = [[(tree.root.title or "plan", "bold"), ("  ", ""), *about]]
        room = rows - 2 - len(steps)  # one for the top, one for the leaves that are not shown
        if room > 0 and tree.root.children:
            lines += self._leaf_lines(room, now, width, counts)
        return [*lines, *steps][:rows] if rows > 0 else []

    def _leaf_lines(
        self, room: int, now: float, width: int, counts: Counter[State]
    ) -> Iterator[Line]:
        wanted = [*dict.fromkeys(_by_relevance(self._now))]
        by_id = self._now.tree.by_id
        chosen = set([leaf for leaf in wanted if leaf in by_id and not by_id[leaf].children][:room])
        shown = [leaf for leaf in self._now.tree.leaves if leaf.id in chosen]
        counts.subtract(self._now.state(leaf.id) for leaf in shown)
        more = any(counts.values())
        most = min(WIDEST, max(width // 2, width - FOR_STATES)) - len(TWIG)
        names = [_shorten(leaf.title, max(8, most)) for leaf in shown]
        wide = max(map(len, names), default=0)
        for leaf, name in zip(shown, names, strict=True):
            last = leaf is shown[-1] and not more
            mark, *state = self._state_of(leaf, now)
            yield [(END if last else TWIG, "dim"), mark, (f"{name.ljust(wide)}  ", ""), *state]
        if more and shown:
            yield [(END, "dim"), ("… ", "dim"), *_pieces(counts)]

    def _state_of(self, leaf: Node, now: float) -> Line:
        """A mark, and what it does."""
        state = self._now.state(leaf.id)
        line: Line = [(f"{MARKS[state]} ", STYLES[state]), (state, STYLES[state])]
        doing = self._now.active.get(leaf.id)
        if doing is not None and state in ACTIVE:
            tried = f", try {doing.number}" if doing.number > 1 else ""
            line.append((f"{tried}, {_seconds(now - doing.since)}", ""))
        return line


def _by_relevance(now: Activity) -> Iterator[str]:
    yield from now.active
    last = list(reversed(now.recent))
    yield from (leaf for leaf in last if now.state(leaf) in WRONG)
    yield from last


def _pieces(counts: Mapping[State, int]) -> Line:
    told = [(f"{counts[state]:,} {state}", STYLES[state]) for state in ORDER if counts.get(state)]
    return [piece for each in told for piece in ((", ", "dim"), each)][1:]


def _step_line(doing: CurrentStage, now: float) -> Line:
    return [("▸ ", "cyan"), (doing.what, "cyan"), (f", {_seconds(now - doing.since)}", "")]


def _seconds(seconds: float) -> str:
    whole = max(0, int(seconds))
    minutes, rest = divmod(whole, 60)
    return f"{minutes}:{rest:02} min" if minutes else f"{rest} s"


def _shorten(title: str, room: int) -> str:
    """A long title keeps its end, where titles differ."""
    return title if len(title) <= room else f"…{title[1 - room :]}"
