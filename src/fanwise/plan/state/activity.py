"""Who is at work right now, for the live tree: the states of the board, and events for the rest.

Quick: it is called for each event, and what it does for one does not grow with the tree.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fanwise.core.outcome import Outcome
from fanwise.kernel import events
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.model.states import WRONG, State
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import FAN_OUT, LEAF_FAN_OUT, SUB_PLANS, PlanItem

RECENT = 100
"""Leaves that ended last: more than a terminal has rows for."""
STEPS = {"merge": "merging", "check": "checking the merged tree", "result": "writing the result"}


class CurrentStage(msgspec.Struct, frozen=True):
    """What is being done, for a leaf or for the plan as a whole."""

    what: str
    since: float
    number: int = 1
    """Which try this is."""


class Activity:
    """Knows the state of every leaf, and how many there are below each node."""

    def __init__(self, tree: Tree) -> None:
        self.active: dict[str, CurrentStage] = {}
        """Leaves that are being worked on, in the order in which they began."""
        self.recent: deque[str] = deque(maxlen=RECENT)
        """Leaves that ended, the last one at the end."""
        self.steps: dict[str, CurrentStage] = {}
        """What is being done for the plan as a whole, by the key of its item."""
        self.tree = tree
        self._states: dict[str, State] = {}
        self._counted: Tree | None = None
        self._counts: dict[str, Counter[State]] = {}
        self._places: dict[str, int] = {}
        self._ordered = False
        """Whether leaves come after others: then a failure changes more than one."""

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.StageBegan):
            self._stage(event)
        elif getattr(event, "path", None) != FAN_OUT:
            return
        elif isinstance(event, events.ItemStarted):
            self._started(event.key, event.at)
        elif isinstance(event, events.ItemEnded):
            self._ended(event.outcome)

    def took(self, board: PlanBoard, item: PlanItem) -> None:
        """Called when the board has taken the outcome of an item."""
        if item.leaf is not None:
            self.recent.append(item.leaf.id)
        self._count()
        if item.kind == "leaf" and item.leaf is not None and board.tree is self.tree:
            now = board.entries[item.leaf.id].state
            if now != "failed" or not self._ordered:  # no other leaf has changed
                self._put(item.leaf.id, now)
                return
        self.tree = board.tree
        for leaf, entry in board.entries.items():
            now = entry.state
            if leaf not in self.active and now != self.state(leaf):
                self._put(leaf, now)
                if now in WRONG:
                    self.recent.append(leaf)

    def state(self, leaf: str) -> State:
        return self._states.get(leaf, "queued")

    def counts(self, node: Node) -> Mapping[State, int]:
        """How many of the leaves below it are in which state."""
        self._count()
        return self._counts.get(node.id, {})

    def place(self, node: str) -> int:
        """Its place in the tree, from the root down."""
        self._count()
        return self._places[node]

    # -- events -----------------------------------------------------------------------------------

    def _started(self, key: str, at: float) -> None:
        kind, _, leaf = key.partition(":")
        if kind in STEPS:
            self.steps[key] = CurrentStage(STEPS[kind], at)
        elif kind in SUB_PLANS:
            self.active[leaf] = CurrentStage("work", at)
            self._put(leaf, "running" if kind == "leaf" else "merging")

    def _stage(self, event: events.StageBegan) -> None:
        key = event.key if event.path == FAN_OUT else _inside(event.path)
        leaf = key.partition(":")[2]
        stage = self.active.get(leaf)
        if stage is None:
            return
        self.active[leaf] = CurrentStage(event.stage, stage.since, event.number)
        if self.state(leaf) != "merging":
            self._put(leaf, "verifying" if event.stage == "verify" else "running")

    def _ended(self, outcome: Outcome[Any]) -> None:
        kind, _, leaf = outcome.key.partition(":")
        self.steps.pop(outcome.key, None)
        if self.active.pop(leaf, None) is not None and outcome.status not in ("done", "failed"):
            self._put(leaf, "queued" if kind == "leaf" else "conflict")

    # -- counts -----------------------------------------------------------------------------------

    def _put(self, leaf: str, state: State) -> None:
        before = self.state(leaf)
        self._states[leaf] = state
        if self._counted is not self.tree or leaf not in self.tree.by_id:
            return
        for node in self._with_above(self.tree.by_id[leaf]):
            counts = self._counts[node.id]
            counts[before] -= 1
            counts[state] += 1

    def _count(self) -> None:
        """Anew after the tree has grown; else each change is counted when it comes."""
        if self._counted is self.tree:
            return
        self._counted = self.tree
        self._counts = {}
        self._places = {node: place for place, node in enumerate(_walk(self.tree))}
        self._ordered = any(leaf.after for leaf in self.tree.leaves)
        for leaf in self.tree.leaves:
            for node in self._with_above(leaf):
                self._counts.setdefault(node.id, Counter())[self.state(leaf.id)] += 1

    def _with_above(self, leaf: Node) -> Iterator[Node]:
        if leaf.parent is None:
            yield leaf  # the plan is one leaf
        yield from self.tree.above(leaf)


def _inside(path: str) -> str:
    """The item that stands in a fan-out of its own, for its budget; empty: it is another one's."""
    front, _, name = path.rpartition("/")
    outer, _, key = front.partition("/")
    return key if (outer, name) == (FAN_OUT, LEAF_FAN_OUT) else ""


def _walk(tree: Tree) -> Iterator[str]:
    waiting = [tree.root.id]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(tree.by_id[node].children)
