"""Who is at work right now, for the live tree: the states of the board, and events for the rest."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec

from fanwise.core.outcome import Outcome
from fanwise.kernel import events
from fanwise.plan.model.node import Tree
from fanwise.plan.model.states import WRONG, State
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.leaf_entry import LeafEntry
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
    state: State = "running"


class Activity:
    def __init__(self, tree: Tree) -> None:
        self.active: dict[str, CurrentStage] = {}
        """Leaves that are being worked on, in the order in which they began."""
        self.recent: deque[str] = deque(maxlen=RECENT)
        """Leaves that ended, the last one at the end."""
        self.steps: dict[str, CurrentStage] = {}
        """What is being done for the plan as a whole, by the key of its item."""
        self.tree = tree
        self._entries: Mapping[str, LeafEntry] = {}
        self._wrong: set[str] = set()

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
        self.tree, self._entries = board.tree, board.entries
        if item.leaf is not None:
            self.active.pop(item.leaf.id, None)
            self.recent.append(item.leaf.id)
        if item.kind != "leaf" or self.state(item.key.partition(":")[2]) == "failed":
            # Only these change the states of other leaves.
            wrong = {leaf for leaf, entry in board.entries.items() if entry.state in WRONG}
            self.recent.extend(sorted(wrong - self._wrong))
            self._wrong = wrong

    def state(self, leaf: str) -> State:
        if leaf in self.active:
            return self.active[leaf].state
        return self._entries[leaf].state if leaf in self._entries else "queued"

    def _started(self, key: str, at: float) -> None:
        kind, _, leaf = key.partition(":")
        if kind in STEPS:
            self.steps[key] = CurrentStage(STEPS[kind], at)
        elif kind in SUB_PLANS:
            state: State = "running" if kind == "leaf" else "merging"
            self.active[leaf] = CurrentStage("work", at, state=state)

    def _stage(self, event: events.StageBegan) -> None:
        key = event.key if event.path == FAN_OUT else _inside(event.path)
        leaf = key.partition(":")[2]
        stage = self.active.get(leaf)
        if stage is not None:
            now: State = "verifying" if event.stage == "verify" else "running"
            state = "merging" if stage.state == "merging" else now
            self.active[leaf] = CurrentStage(event.stage, stage.since, event.number, state)

    def _ended(self, outcome: Outcome[Any]) -> None:
        self.steps.pop(outcome.key, None)
        if outcome.status not in ("done", "failed"):  # those are for the board to take
            self.active.pop(outcome.key.partition(":")[2], None)


def _inside(path: str) -> str:
    """The item around a fan-out that was made for its own budget; empty for any other fan-out."""
    front, _, name = path.rpartition("/")
    outer, _, key = front.partition("/")
    return key if (outer, name) == (FAN_OUT, LEAF_FAN_OUT) else ""
