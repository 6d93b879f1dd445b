"""The moving part of a run's page: how far it is, what runs now, what failed, what it spent."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from fanwise.core.paths import is_top
from fanwise.errors import RecordedError
from fanwise.journal.codec import decode_error
from fanwise.journal.port import EventRecord, FanOutRecord, ItemRecord, RunRecord
from fanwise.journal.read_only import RefusesWrites
from fanwise.journal.reads import ItemFilter
from fanwise.view.calls import call_detail
from fanwise.view.limits import budget_limits
from fanwise.view.question import Action, Question
from fanwise.view.run_detail import BOOKKEEPING
from fanwise.view.run_summary import Summary, run_summary
from fanwise.view.system_text import count_now, questions_of
from fanwise.web.actions import possible
from fanwise.web.caps import CapHistory, LeastTime, cap_history
from fanwise.web.samples import RunPace, Samples

MOST_ROWS = 10
MOST_FAILURES = 1_000
"""How many failures are grouped: the groups of a thousand say what goes wrong."""
MOST_EVENTS = 20
MOST_RUNNING = 1_000
LONG = ("environment", "version")
"""Events with whole files in them: the results show what they say."""
FIRST = (-1, "")


class ItemPlace(NamedTuple):
    """Where an item is, for its address."""

    path: str
    key: str


class RunningItem(NamedTuple):
    """An item that has started and not ended."""

    place: ItemPlace
    since_s: float | None
    starts: int
    retries: bool
    """The last attempt of its calls failed: it backs off, or is tried again."""


class FailureGroup(NamedTuple):
    """Failures with the same cause."""

    cause: str
    number: int
    example: ItemPlace
    text: str


class LiveRun(msgspec.Struct, frozen=True):
    """A run as of now."""

    run: RunRecord
    summary: Summary
    pace: RunPace
    running: Sequence[RunningItem]
    """The oldest first."""
    running_count: int
    retrying: int
    """Of those that run: how many had a call that failed, and back off or are tried again."""
    failures: Sequence[FailureGroup]
    failure_count: int
    calls: dict[str, Any]
    budget: Mapping[str, float]
    """The most that it may spend, by unit."""
    events: Sequence[dict[str, Any]]
    questions: Sequence[Question]
    """What it waits for."""
    caps: CapHistory
    actions: Mapping[str, Action]
    """What can be done with it now."""

    @property
    def least(self) -> LeastTime | None:
        """The lower bound of the time left; None: not known."""
        items, ended = self.summary["item_counts"], self.summary["done"] + self.summary["failed"]
        waiting = self.waiting
        if waiting is None and self.summary["total"] is not None and ended:
            each = (sum(items.values()) - items.get("started", 0)) / ended  # items of a cell
            waiting = round(each * max(0, self.summary["total"] - ended)) - self.running_count
        return self.caps.least(waiting) if waiting and waiting > 0 else None

    @property
    def waiting(self) -> int | None:
        """Items that have not started; None: not known."""
        total: int | None = self.summary["total"]
        if total is None or self.summary["unit"] != "item":
            return None
        known: int = sum(self.summary["item_counts"].values())
        return max(0, total - known)

    @property
    def share(self) -> float | None:
        """How much is done or failed, of 1; None: the total is not known."""
        total = self.summary["total"]
        done = self.summary["done"] + self.summary["failed"]
        return None if not total else min(1.0, done / total)

    @property
    def failed_share(self) -> float:
        """How much failed, of 1."""
        return self.summary["failed"] / self.summary["total"] if self.share else 0.0


def live_run(journal: RefusesWrites, run_id: str, samples: Samples) -> LiveRun:
    """Read what the page shows. `RunNotFound`."""
    run, now = journal.run(run_id), time.time()
    summary = run_summary(journal, run, count_now)
    is_running = summary["status"] == "running"
    tops = [each for each in journal.fan_outs(run_id) if is_top(each.path)]
    items: Counter[str] = Counter(summary["item_counts"])
    events = list(journal.events(run_id))
    started = list(_running(journal, tops, now)) if is_running else []
    until = run.ended_at or (now if is_running else None)
    return LiveRun(
        run,
        summary,
        samples.pace(summary),
        sorted(started, key=lambda each: -(each.since_s or 0))[:MOST_ROWS],
        items["started"] if is_running else 0,
        sum(each.retries for each in started),
        _grouped(list(_failures(journal, tops)) if items["failed"] else []),
        items["failed"],
        call_detail(journal.call_totals(run_id)),
        budget_limits(events),
        list(_told(events))[-MOST_EVENTS:][::-1],
        questions_of(journal, run),
        cap_history(journal, run_id, tops, events, until),
        possible(journal, run, summary["failed"]),
    )


def _running(
    journal: RefusesWrites, tops: Sequence[FanOutRecord], now: float
) -> Iterator[RunningItem]:
    for fan_out in tops:
        items = journal.items_page(fan_out.id, ItemFilter("started"), FIRST, MOST_RUNNING)
        made = journal.attempts(fan_out.id, [item.key for item in items])
        last = {attempt.key: attempt for attempt in made}  # in their order: the last one stays
        retried = {key for key, attempt in last.items() if attempt.error is not None}
        for item in items:
            since = None if item.started_at is None else max(0.0, now - item.started_at)
            place = ItemPlace(fan_out.path, item.key)
            yield RunningItem(place, since, item.starts, item.key in retried)


def _failures(
    journal: RefusesWrites, tops: Sequence[FanOutRecord]
) -> Iterator[tuple[FanOutRecord, ItemRecord]]:
    for fan_out in tops:
        for item in journal.items_page(fan_out.id, ItemFilter("failed"), FIRST, MOST_FAILURES):
            yield fan_out, item


def _grouped(failures: Sequence[tuple[FanOutRecord, ItemRecord]]) -> list[FailureGroup]:
    """By the error's type and the first line of its text without numbers, the most first."""
    groups: dict[str, list[tuple[FanOutRecord, ItemRecord, RecordedError | None]]] = {}
    for fan_out, item in failures:
        error = None if item.error is None else decode_error(item.error)
        groups.setdefault(_cause(error), []).append((fan_out, item, error))
    made = [
        FailureGroup(cause, len(group), _place(*group[0][:2]), _text(group[0][2]))
        for cause, group in groups.items()
    ]
    return sorted(made, key=lambda each: -each.number)[:MOST_ROWS]


def _place(fan_out: FanOutRecord, item: ItemRecord) -> ItemPlace:
    return ItemPlace(fan_out.path, item.key)


def _text(error: RecordedError | None) -> str:
    return "no error was recorded" if error is None else error.text or error.type_name


def _cause(error: RecordedError | None) -> str:
    if error is None:
        return "unknown"
    first = next(iter((error.text or "").splitlines()), "")
    return f"{error.type_name}: {''.join('#' if c.isdigit() else c for c in first)[:120]}"


def _told(events: Sequence[EventRecord]) -> Iterator[dict[str, Any]]:
    for event in events:
        if event.kind not in (*BOOKKEEPING, *LONG):
            data = msgspec.json.decode(event.data)
            told = data.items() if isinstance(data, dict) else [("", data)]
            text = "  ".join(f"{name} {value}" for name, value in told if value is not None)
            yield {"at": event.at, "kind": event.kind, "text": text}
