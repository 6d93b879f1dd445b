"""A run read from its journal: every leaf, what became of it, and how all came together.

As the journal has it now: the run may still be going on, or have been killed. What an earlier
execution of an edited plan merged or checked does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from fanwise.errors import one_line
from fanwise.journal.call_totals import total
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import AttemptRecord, CallTotals, ItemRecord, Journal, RunRecord
from fanwise.kernel.kept_files import kept_beside
from fanwise.plan.model.change import Change, EditRequest
from fanwise.plan.model.leaf_result import LeafResult, Try
from fanwise.plan.model.merge_result import Conflict
from fanwise.plan.model.node import Node, Split, Tree
from fanwise.plan.model.paths import patch_name
from fanwise.plan.model.states import State
from fanwise.plan.state.merge_history import Joined, joined
from fanwise.plan.state.plan_item import FAN_OUT
from fanwise.plan.state.replay_tree import Began, grown
from fanwise.view.run_summary import shown_status

KEY = "plan"
CUT_OFF = "it was being worked on when the run ended"
NOT_ASKED = frozenset({"work", "verify", "check"})
"""Calls that ask no model: commands and functions, which cost nothing by themselves."""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which somebody worked, in seconds since 1970."""

    start: float
    end: float | None = None
    """None: it has not ended, or nobody wrote that down."""
    key: str


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-plan with files of its own, and what became of it."""

    node: Node
    state: State
    why: str = ""
    """In a line: why it failed, was skipped, was left out or is in conflict; of one that is
    unchanged, that it tried."""
    ended: LeafResult | None = None
    again: LeafResult | None = None
    """When it was done once more, on what was merged."""
    tries: tuple[Try, ...] = ()
    """All that did not do."""
    kept: str | None = None
    """Of one that was given up: the patch file with its last edits."""
    conflicts: tuple[Conflict, ...] = ()
    spans: tuple[Span, ...] = ()
    queued_s: float = 0.0
    ran_s: float = 0.0
    starts: int = 0
    """More than 1: it may have run more than once."""
    calls: CallTotals = CallTotals()
    """Of models."""

    @property
    def change(self) -> Change | None:
        """What it changed in the end."""
        for each in (self.again, self.ended):
            if each is not None and each.change is not None:
                return each.change
        return None

    @property
    def requests(self) -> tuple[EditRequest, ...]:
        """What it would change in files that are not its own."""
        both = [each for each in (self.ended, self.again) if each is not None]
        return tuple({r.path: r for each in both for r in each.requests}.values())


class Recorded(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What a journal knows of a run, as far as it is."""

    run: RunRecord
    split: Split
    """As it was made; `tree` has what leaves returned since."""
    tree: Tree
    base: str
    leaves: Mapping[str, Leaf]
    """In the order of the tree; those that returned sub-plans too."""
    joined: Joined
    calls: CallTotals
    """Of models."""
    folder: Path | None = None
    """Where its patches are."""
    opened_at: float | None = None
    """When the first of the leaves could begin."""

    @cached_property
    def plan(self) -> Mapping[str, Any]:
        """What stood under `plan:` in the file."""
        found: Mapping[str, Any] = JSON.decode(self.run.spec)["data"][KEY]
        return found

    @property
    def goal(self) -> str:
        """That of the plan."""
        return str(self.plan.get("goal", ""))

    @property
    def patch(self) -> str | None:
        """The patch file with the whole result."""
        result = self.joined.result
        if result is None or result.patch is None:
            return None
        return result.patch if self.folder is None else str(self.folder / result.patch)

    def title(self, leaf: str) -> str:
        """Of the leaf with this id."""
        node = self.tree.by_id.get(leaf)
        return leaf if node is None else node.title


def read_run(journal: Journal, run: RunRecord) -> Recorded:
    """All of it."""
    spec = JSON.decode(run.spec)
    base = msgspec.convert(spec, Began)
    items = _items(journal, run.id)
    values = {key: JSON.decode(each.value) for key, each in items.items() if each.value}
    tree = grown(base, _ended(values), spec["data"][KEY])
    attempts = _attempts(journal, run.id)
    live = shown_status(run) == "running"
    folder = kept_beside(journal, run.id)
    found = _Reading(tree, items, values, attempts, folder, live=live)
    return Recorded(
        run=run,
        split=base.split,
        tree=tree,
        base=base.commit,
        leaves={node.id: found.leaf(node) for node in tree.nodes if _worked(node, items)},
        joined=found.joined,
        calls=total(each for made in attempts.values() for each in made),
        folder=folder,
        opened_at=next((f.opened_at for f in journal.fan_outs(run.id) if f.path == FAN_OUT), None),
    )


def _worked(node: Node, items: Mapping[str, ItemRecord]) -> bool:
    return not node.children or f"leaf:{node.id}" in items


def _items(journal: Journal, run_id: str) -> dict[str, ItemRecord]:
    for fan_out in journal.fan_outs(run_id):
        if fan_out.path == FAN_OUT:
            return {each.key: each for each in journal.items(fan_out.id)}
    return {}


def _attempts(journal: Journal, run_id: str) -> dict[str, list[AttemptRecord]]:
    """By the key of the item, with those of fan-outs inside it."""
    made: dict[str, list[AttemptRecord]] = {}
    for fan_out in journal.fan_outs(run_id):
        top, _, inside = fan_out.path.partition("/")
        if top == FAN_OUT:
            for attempt in journal.attempts(fan_out.id):
                if attempt.call not in NOT_ASKED:
                    key = inside.partition("/")[0] or attempt.key
                    made.setdefault(key, []).append(attempt)
    return made


def _ended(values: Mapping[str, Any]) -> dict[str, LeafResult]:
    """By leaf, as they were first done."""
    found = {key: value for key, value in values.items() if key.startswith("leaf:")}
    return {key.partition(":")[2]: msgspec.convert(each, LeafResult) for key, each in found.items()}


class _Reading:
    """What the items say of each leaf."""

    def __init__(
        self,
        tree: Tree,
        items: Mapping[str, ItemRecord],
        values: Mapping[str, Any],
        attempts: Mapping[str, list[AttemptRecord]],
        folder: Path | None,
        *,
        live: bool,
    ) -> None:
        self._folder = folder
        self._tree = tree
        self._items = items
        self._values = values
        self._attempts = attempts
        self._live = live
        self.joined = joined(tree, items, values)
        self._blockers = _blockers(tree, items)

    def leaf(self, node: Node) -> Leaf:
        """All that is known of one."""
        first, again = self._items.get(f"leaf:{node.id}"), self._items.get(f"again:{node.id}")
        if not self.joined.counts(again):
            again = None
        given = [each for each in (first, again) if each is not None]
        state, why = self._state(node, first, again)
        errors = [decode_error(each.error) for each in given if each.error]
        fields = [error.fields for error in errors]
        ended, once_more = self._done(first), self._done(again)
        tries = [t for each in (ended, once_more) if each is not None for t in each.tries]
        return Leaf(
            node=node,
            state=state,
            why=why,
            ended=ended,
            again=once_more,
            tries=(*tries, *(t for each in fields for t in _tries(each))),
            kept=next((str(each["kept"]) for each in fields if each.get("kept")), None)
            or self._kept(node.id, state),
            conflicts=tuple(each for each in self.joined.conflicts if each.leaf == node.id),
            spans=tuple(_span(each) for each in given if each.started_at is not None),
            queued_s=sum(each.queued_s for each in given),
            ran_s=sum(each.ran_s for each in given),
            starts=max((each.starts for each in given), default=0),
            calls=total(a for each in given for a in self._attempts.get(each.key, ())),
        )

    def _kept(self, leaf: str, state: State) -> str | None:
        """Where a change is that was done and is in no result."""
        if self._folder is None or state not in ("given up", "left out", "conflict"):
            return None
        file = self._folder / patch_name(leaf)
        return str(file) if file.is_file() else None

    def _done(self, item: ItemRecord | None) -> LeafResult | None:
        value = None if item is None else self._values.get(item.key)
        return None if value is None else msgspec.convert(value, LeafResult)

    def _state(
        self, node: Node, first: ItemRecord | None, again: ItemRecord | None
    ) -> tuple[State, str]:
        if node.children:
            return "split", f"it returned {len(node.children)} sub-plans"
        if first is None or first.status in ("cancelled", "skipped"):
            before = self._blockers.get(node.id)
            if before is not None:
                return "skipped", f"{self._tree.by_id[before].title}, which it comes after, failed"
            return "queued", ""
        if first.status == "started":
            return ("running", "") if self._live else ("queued", CUT_OFF)
        if first.status == "failed":
            return "failed", _error(first)
        return self._together(node, again)

    def _together(self, node: Node, again: ItemRecord | None) -> tuple[State, str]:
        """Of a leaf that is done: whether its changes came together with those of others."""
        ended = self._done(self._items[f"leaf:{node.id}"])
        if ended is not None and ended.status != "changed":
            return ("unchanged" if ended.status == "unchanged" else "split"), ended.in_vain
        if again is not None and again.status == "started":
            return ("merging", "") if self._live else ("conflict", CUT_OFF)
        if again is not None and again.status == "failed":
            return "given up", _error(again)
        why = self.joined.left_out.get(node.id)
        in_conflict = node.id in self.joined.aside
        if why is not None:
            return ("given up" if in_conflict and again is not None else "left out"), why
        if in_conflict and again is None:
            return "conflict", self.joined.conflict_text(node.id, self._tree)
        return "done", ""


def _blockers(tree: Tree, items: Mapping[str, ItemRecord]) -> dict[str, str]:
    """Of each leaf that comes after a failure, also by way of others: that failure."""
    failed = {leaf.id for leaf in tree.leaves if _status(items, leaf) == "failed"}
    found: dict[str, str] = {}
    followers: dict[str, list[str]] = {}
    for leaf in tree.leaves:
        for before in leaf.after:
            followers.setdefault(before, []).append(leaf.id)
    for blocker in (leaf.id for leaf in tree.leaves if leaf.id in failed):
        waiting = list(followers.get(blocker, ()))
        while waiting:
            follower = waiting.pop()
            if follower not in found:
                found[follower] = blocker
                waiting += followers.get(follower, ())
    return found


def _status(items: Mapping[str, ItemRecord], leaf: Node) -> str | None:
    item = items.get(f"leaf:{leaf.id}")
    return None if item is None else item.status


def _tries(fields: Mapping[str, Any]) -> tuple[Try, ...]:
    try:
        return tuple(msgspec.convert(fields.get("tries") or [], list[Try]))
    except msgspec.ValidationError:  # an error of another kind, or of an older version
        return ()


def _span(item: ItemRecord) -> Span:
    assert item.started_at is not None
    return Span(start=item.started_at, end=item.ended_at, key=item.key)


def _error(item: ItemRecord) -> str:
    if item.error is None:
        return ""
    error = decode_error(item.error)
    tries = _tries(error.fields)
    if not tries:
        return one_line(error)
    times = f" (try {len(tries)})" if len(tries) > 1 else ""
    return f"{tries[-1].stage} failed{times}: {tries[-1].reason}"
