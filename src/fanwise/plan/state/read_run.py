"""A run as its journal has it now: it may still be going on, or have been killed.

The records are replayed through a board, as on a resume, and the state is read off that board; the
journal adds times and costs. What an earlier execution of an edited plan left behind does not
count, because the board asks for other items now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.core.outcome import Outcome
from fanwise.errors import fields_of, one_line
from fanwise.journal.call_totals import total
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import AttemptRecord, CallTotals, ItemRecord, Journal, RunRecord
from fanwise.kernel.repository_watch import recorded_changes
from fanwise.kernel.run_files import kept_beside
from fanwise.plan.model.node import Split
from fanwise.plan.model.paths import patch_name
from fanwise.plan.model.states import State
from fanwise.plan.spec.plan_spec import KEY, PlanBase, PlanSpec
from fanwise.plan.state.leaf_entry import LeafEntry
from fanwise.plan.state.plan_item import FAN_OUT, SUB_PLANS, PlanItem
from fanwise.plan.state.plan_state import CUT_OFF, LeafState, PlanState, WorkSpan, plan_state
from fanwise.plan.state.replay import Replay, board_of, earlier_work_tree, items_of, replay
from fanwise.specs import Document, check
from fanwise.view.run_summary import shown_status

NO_MODEL = frozenset({"work", "verify", "check"})
"""Calls of commands and functions: they cost nothing by themselves."""
LIVE: Mapping[str, State] = {"leaf": "running", "again": "merging"}


class RecordedStep(msgspec.Struct, frozen=True, kw_only=True):
    span: WorkSpan
    error: str = ""
    """Why it could not be made."""

    @property
    def kind(self) -> str:
        return self.span.key.partition(":")[0]


class RecordedPlan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A run, its state, and what else the journal knows."""

    run: RunRecord
    base: PlanBase
    state: PlanState
    steps: tuple[RecordedStep, ...]
    """In the order in which they began."""
    calls: CallTotals
    """Calls of models."""
    folder: Path | None = None
    """Where its patches are."""
    opened_at: float | None = None
    """When the first of the leaves could begin."""

    @property
    def split(self) -> Split:
        """As it was made; the tree of the state has what leaves returned since."""
        return self.base.split

    @cached_property
    def plan(self) -> Mapping[str, Any]:
        """What stood under `plan:` in the file."""
        found: Mapping[str, Any] = JSON.decode(self.run.spec)["data"][KEY]
        return found

    @property
    def goal(self) -> str:
        return str(self.plan.get("goal", ""))

    @property
    def failures(self) -> list[RecordedStep]:
        return [each for each in self.steps if each.error]

    @property
    def patch(self) -> str | None:
        result = self.state.result
        if result is None or result.patch is None:
            return None
        return result.patch if self.folder is None else str(self.folder / result.patch)


def read_run(journal: Journal, run: RunRecord) -> RecordedPlan:
    stored = JSON.decode(run.spec)
    base = msgspec.convert(stored, PlanBase)
    records = {each.key: each for each in items_of(journal, run.id)}
    spec = check(Document.again(stored), PlanSpec, KEY, on_unknown=lambda problem: None)
    bisect = stored.get("asked", {}).get("bisect", False)
    board = board_of(spec, base, stored["work"], records.values(), bisect=bisect)
    replayed = replay(board, records.values(), _counts)
    folder = kept_beside(journal, run.id)
    attempts = _attempts(journal, run.id)
    reader = _JournalReader(records, replayed, attempts, live=shown_status(run) == "running")
    state = plan_state(board, _kept(folder, board.entries), complete=board.over)
    return RecordedPlan(
        run=run,
        base=base,
        state=replace(
            state,
            leaves=tuple(map(reader.leaf, state.leaves)),
            outside=recorded_changes(journal, run.id, FAN_OUT),
            work_tree=earlier_work_tree(journal, run.id),
        ),
        steps=tuple(reader.steps()),
        calls=total(each for made in attempts.values() for each in made),
        folder=folder,
        opened_at=next((f.opened_at for f in journal.fan_outs(run.id) if f.path == FAN_OUT), None),
    )


def _counts(item: PlanItem, recorded: Outcome[Any]) -> bool:
    """Whether a record is what became of an item, be it good enough for a resume or not."""
    if recorded.error is not None:  # what is not an error of ours has no such field
        same = fields_of(recorded.error).get("of", item.of) == item.of
        return item.kind in SUB_PLANS and same
    return isinstance(recorded.value, dict) and recorded.value.get("of") == item.of


class _JournalReader:
    """Adds what only the journal knows."""

    def __init__(
        self,
        records: Mapping[str, ItemRecord],
        replayed: Replay,
        attempts: Mapping[str, Sequence[AttemptRecord]],
        *,
        live: bool,
    ) -> None:
        self._attempts = attempts
        self._live = live
        self._working = {each.key for each in replayed.left if _is_started(records, each)}
        counted = [*replayed.known, *(each for each in replayed.left if _is_open(records, each))]
        self._records = {each.key: records[each.key] for each in counted}

    def leaf(self, leaf: LeafState) -> LeafState:
        """With its times and its cost; and whether it is being worked on."""
        found = [self._records.get(f"{kind}:{leaf.id}") for kind in LIVE]
        given = [each for each in found if each is not None]
        for record in given:
            if record.key in self._working:
                now = LIVE[record.key.partition(":")[0]]
                state, reason = (now, "") if self._live else (leaf.state, CUT_OFF)
                leaf = replace(leaf, state=state, reason=reason)
        return replace(
            leaf,
            spans=tuple(_span(each) for each in given if each.started_at is not None),
            queued_s=sum(each.queued_s for each in given),
            ran_s=sum(each.ran_s for each in given),
            starts=max((each.starts for each in given), default=0),
            calls=total(a for each in given for a in self._attempts.get(each.key, ())),
        )

    def steps(self) -> Iterator[RecordedStep]:
        for key, record in self._records.items():
            if key.partition(":")[0] not in LIVE and record.started_at is not None:
                error = "" if record.error is None else one_line(decode_error(record.error))
                yield RecordedStep(span=_span(record), error=error)


def _is_started(records: Mapping[str, ItemRecord], item: PlanItem) -> bool:
    return item.key in records and records[item.key].status == "started"


def _is_open(records: Mapping[str, ItemRecord], item: PlanItem) -> bool:
    """Whether it was begun and has no outcome that counts; a step may have failed."""
    if item.key in records and records[item.key].status == "failed":
        return item.kind not in SUB_PLANS
    return _is_started(records, item)


def _attempts(journal: Journal, run_id: str) -> dict[str, list[AttemptRecord]]:
    """By the key of the item, with those of fan-outs inside it."""
    made: dict[str, list[AttemptRecord]] = {}
    for fan_out in journal.fan_outs(run_id):
        top, _, inside = fan_out.path.partition("/")
        if top == FAN_OUT:
            for attempt in journal.attempts(fan_out.id):
                if attempt.call not in NO_MODEL:
                    key = inside.partition("/")[0] or attempt.key
                    made.setdefault(key, []).append(attempt)
    return made


def _kept(folder: Path | None, entries: Mapping[str, LeafEntry]) -> dict[str, str]:
    """The patch files of changes that are in no result, by leaf."""
    if folder is None:
        return {}
    files = {leaf: folder / patch_name(leaf) for leaf, each in entries.items() if each.is_kept}
    return {leaf: str(file) for leaf, file in files.items() if file.is_file()}


def _span(record: ItemRecord) -> WorkSpan:
    assert record.started_at is not None
    return WorkSpan(key=record.key, start=record.started_at, end=record.ended_at)
