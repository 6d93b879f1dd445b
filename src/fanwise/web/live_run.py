"""The moving part of a run's page: how far it is, what runs now, what failed, what it spent."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from fanwise.core.paths import is_top
from fanwise.errors import RecordedError
from fanwise.journal.codec import decode_error
from fanwise.journal.port import EventRecord, FanOutRecord, ItemRecord, RunRecord
from fanwise.journal.read_only import RefusesWrites
from fanwise.journal.reads import ItemFilter
from fanwise.view.calls import call_detail
from fanwise.view.question import Question
from fanwise.view.run_detail import BOOKKEEPING
from fanwise.view.run_summary import Summary, run_summary
from fanwise.view.system_text import count_now, questions_of
from fanwise.web.caps import CapHistory, cap_history
from fanwise.web.samples import Samples

MOST_ROWS = 10
MOST_FAILURES = 1_000
"""How many failures are grouped: the groups of a thousand say what goes wrong."""
MOST_EVENTS = 20
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
    ended: int
    """Items of top-level fan-outs that have ended."""
    rate: float | None
    """Items in a second, over the last minute; None: not known."""
    left_s: float | None
    """How long the rest takes at this rate; None: not known."""
    running: Sequence[RunningItem]
    """The oldest first."""
    running_count: int
    failures: Sequence[FailureGroup]
    failure_count: int
    calls: dict[str, Any]
    events: Sequence[dict[str, Any]]
    questions: Sequence[Question]
    """What it waits for."""
    caps: CapHistory

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
    tops = [each for each in journal.fan_outs(run_id) if is_top(each.path)]
    items: Counter[str] = Counter(summary["item_counts"])
    ended = items.total() - items["started"]
    rate = None
    if summary["status"] == "running":
        samples.add(run_id, time.monotonic(), ended)
        rate = samples.rate(run_id)
    events = list(journal.events(run_id))
    failures = list(_failures(journal, tops)) if items["failed"] else []
    return LiveRun(
        run,
        summary,
        ended,
        rate,
        _time_left(summary, items, rate),
        sorted(_running(journal, tops, now), key=lambda each: -(each.since_s or 0))[:MOST_ROWS]
        if summary["status"] == "running"
        else (),
        items["started"] if summary["status"] == "running" else 0,
        _grouped(failures),
        items["failed"],
        call_detail(journal.call_totals(run_id)),
        list(_told(events))[-MOST_EVENTS:][::-1],
        questions_of(journal, run),
        cap_history(
            journal,
            run_id,
            tops,
            events,
            run.ended_at or (now if summary["status"] == "running" else None),
        ),
    )


def _time_left(summary: Summary, items: Counter[str], rate: float | None) -> float | None:
    total = summary["total"]
    if not rate or total is None or summary["unit"] != "item":
        return None  # a rate of items says nothing about other units
    return float(max(0, total - items.total() + items["started"])) / rate


def _running(
    journal: RefusesWrites, tops: Sequence[FanOutRecord], now: float
) -> Iterator[RunningItem]:
    for fan_out in tops:
        for item in journal.items_page(fan_out.id, ItemFilter("started"), FIRST, 1_000):
            since = None if item.started_at is None else max(0.0, now - item.started_at)
            yield RunningItem(ItemPlace(fan_out.path, item.key), since, item.starts)


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
