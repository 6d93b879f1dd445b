"""Where each leaf stands, told by the events of the run. Quick: it is called for each of them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fanwise.core.outcome import Outcome
from fanwise.kernel import events
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.model.states import State
from fanwise.plan.state.plan_item import FAN_OUT, LEAF_FAN_OUT

RECENT = 100
"""Leaves that ended last: more than a terminal has rows for."""
STEPS = {"merge": "merging", "check": "checking the merged tree", "result": "writing the result"}
STATUS: Mapping[Any, State] = {"changed": "done", "unchanged": "unchanged", "split": "split"}


class Doing(msgspec.Struct, frozen=True):
    """What a leaf, or the plan as a whole, does."""

    what: str
    since: float
    number: int = 1
    """Which try this is."""


class Following:
    """A subscriber that knows the state of every leaf, and how many there are below each node."""

    def __init__(self, tree: Tree) -> None:
        self.active: dict[str, Doing] = {}
        """Leaves that somebody works on, in the order in which they began."""
        self.recent: deque[str] = deque(maxlen=RECENT)
        """Leaves that ended, the last one at the end."""
        self.steps: dict[str, Doing] = {}
        """What is done for the plan as a whole, by the key of its item."""
        self._states: dict[str, State] = {}
        self.tree = tree
        self._counted: Tree | None = None
        self._counts: dict[str, Counter[State]] = {}
        self._followers: dict[str, list[str]] = {}
        self._places: dict[str, int] = {}

    def __call__(self, event: events.Event) -> None:
        """Take note of it."""
        if isinstance(event, events.StageBegan):
            self._stage(event)
        elif getattr(event, "path", None) != FAN_OUT:
            return
        elif isinstance(event, events.ItemStarted):
            self._started(event.key, event.at)
        elif isinstance(event, events.ItemEnded):
            self._ended(event.outcome)

    def grew(self, tree: Tree) -> None:
        """A leaf has returned sub-plans, and this is the tree now."""
        self.tree = tree

    def state(self, leaf: str) -> State:
        """Of a leaf."""
        return self._states.get(leaf, "queued")

    def counts(self, node: Node) -> Mapping[State, int]:
        """How many of the leaves below it are in which state."""
        self._count()
        return self._counts.get(node.id, {})

    def place(self, node: str) -> int:
        """Where it stands in the tree, from the root down."""
        self._count()
        return self._places[node]

    # -- events -----------------------------------------------------------------------------------

    def _started(self, key: str, at: float) -> None:
        kind, _, leaf = key.partition(":")
        if kind in STEPS:
            self.steps[key] = Doing(STEPS[kind], at)
        elif kind in ("leaf", "again"):
            self.active[leaf] = Doing("work", at)
            self._put(leaf, "running" if kind == "leaf" else "merging")

    def _stage(self, event: events.StageBegan) -> None:
        key = event.key if event.path == FAN_OUT else _inside(event.path)
        leaf = key.partition(":")[2]
        doing = self.active.get(leaf)
        if doing is None:
            return
        self.active[leaf] = Doing(event.stage, doing.since, event.number)
        if self.state(leaf) != "merging":
            self._put(leaf, "verifying" if event.stage == "verify" else "running")

    def _ended(self, outcome: Outcome[Any]) -> None:
        key = outcome.key
        kind, _, leaf = key.partition(":")
        self.steps.pop(key, None)
        if kind == "merge" and outcome.ok:
            self._merged(outcome.value)
        if kind not in ("leaf", "again"):
            return
        self.active.pop(leaf, None)
        self._put(leaf, _state(kind, outcome))
        if outcome.status in ("done", "failed"):
            self.recent.append(leaf)
        if self.state(leaf) == "failed":
            self._skip_after(leaf)

    def _merged(self, value: Any) -> None:
        for conflict in value["merged"].get("conflicts", ()):
            self._put(conflict["leaf"], "conflict")
            self.recent.append(conflict["leaf"])

    def _skip_after(self, leaf: str) -> None:
        self._count()
        waiting = list(self._followers.get(leaf, ()))
        while waiting:
            follower = waiting.pop()
            if self.state(follower) == "queued":
                self._put(follower, "skipped")
                waiting += self._followers.get(follower, ())

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
        self._counts, self._followers = {}, {}
        self._places = {node: place for place, node in enumerate(_walk(self.tree))}
        for leaf in self.tree.leaves:
            for node in self._with_above(leaf):
                self._counts.setdefault(node.id, Counter())[self.state(leaf.id)] += 1
            for before in leaf.after:
                self._followers.setdefault(before, []).append(leaf.id)

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


def _state(kind: str, outcome: Outcome[Any]) -> State:
    if outcome.status == "failed":
        return "failed" if kind == "leaf" else "given up"
    if outcome.status != "done":
        return "queued"  # the run is being ended, and nothing is known
    if kind == "again":
        return "done"
    found = outcome.value["status"] if isinstance(outcome.value, Mapping) else None
    return STATUS.get(found, "done")
