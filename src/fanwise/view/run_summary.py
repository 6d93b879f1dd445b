"""A run in one line: id, status, counts and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from fanwise.core.counts import COUNTED, Counts
from fanwise.core.paths import is_top
from fanwise.journal.damage import explain_damage
from fanwise.journal.owner import liveness
from fanwise.journal.port import Journal, RunRecord
from fanwise.view.times import moment

Summary = dict[str, Any]


CountNow = Callable[[Journal, RunRecord], Counts | None]
"""The progress of a run as its system counts it; None: the system counts items."""


def run_summaries(journal: Journal, count: CountNow) -> Iterator[Summary]:
    """All runs, newest first."""
    for run in journal.runs():
        with explain_damage(journal, run.id):
            summary = run_summary(journal, run, count)
        yield summary


def run_summary(
    journal: Journal, run: RunRecord, count: CountNow = lambda journal, run: None
) -> Summary:
    """One run. `total` is None until the input has been read to its end.

    `done`, `failed` and `total` are in the unit that users count. `item_counts` has the items of
    top-level fan-outs, by status.
    """
    items: Counter[str] = Counter()
    for fan_out in journal.fan_outs(run.id):
        if is_top(fan_out.path):
            items.update(journal.counts(fan_out.id))
    status = shown_status(run)
    counts = _counts(journal, run, status, count) or Counts(
        "item",
        items["done"],
        items["failed"],
        max(items.total(), planned_items(journal, run.id) or 0),
    )
    return {
        "id": run.id,
        "kind": run.kind,
        "name": run.name,
        "status": status,
        "unit": counts.unit,
        "done": counts.done,
        "failed": counts.failed,
        "total": counts.total,
        "item_counts": dict(items),
        "started_at": moment(run.created_at),
        "ended_at": moment(run.ended_at),
        "took_s": _took(run),
        "error": run.error,
        "go_on": counts.go_on or None,
    }


def _counts(journal: Journal, run: RunRecord, status: str, count: CountNow) -> Counts | None:
    """What the run recorded at its end; the current counts if it is going on or was killed."""
    has_ended = status in ("done", "halted", "cancelled")
    return (counts_at_the_end(journal, run.id) if has_ended else None) or count(journal, run)


def _took(run: RunRecord) -> float | None:
    """None: it is going on, or the clock was set back, so that it is unknown."""
    if run.ended_at is None or run.ended_at < run.created_at:
        return None
    return run.ended_at - run.created_at


def shown_status(run: RunRecord) -> str:
    """The status; `interrupted` if the process that executed the run is gone."""
    if run.status == "running" and (run.owner is None or liveness(run.owner) == "dead"):
        return "interrupted"
    return run.status


def status_text(status: str, why: str | None) -> str:
    """`halted at line 2: 98 lines not started`, `failed: ValueError`."""
    if not why:
        return status
    return f"{status} {why}" if why.startswith(("at ", "after ")) else f"{status}: {why}"


def table_row(summary: Summary) -> tuple[str, ...]:
    total = summary["total"]
    return (
        summary["id"], summary["kind"], summary["name"], summary["status"],
        str(summary["done"]), str(summary["failed"]), "?" if total is None else str(total),
        local_time(summary["started_at"]), took_text(summary),
    )  # fmt: skip


def took_text(summary: Summary) -> str:
    """How long it took; empty while it is going on."""
    unknown = summary["ended_at"] is not None and summary["took_s"] is None
    return "?" if unknown else duration(summary["took_s"])


def local_time(iso: str | None) -> str:
    """A time in the local time zone."""
    if iso is None:
        return ""
    return datetime.fromisoformat(iso).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration(seconds: float | None) -> str:
    """Seconds as text: `4.2 s`, `3 min 05 s`; `?` if the clock was set back in between."""
    if seconds is None or seconds < 0:
        return "" if seconds is None else "?"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


PLANNED = "planned"
"""The event that records how many items a run will have."""


def planned_items(journal: Journal, run_id: str) -> int | None:
    """How many items the run planned to have; None: it did not say."""
    for event in journal.events(run_id, PLANNED):
        return event.decode(dict[str, int])["items"]
    return None


def counts_at_the_end(journal: Journal, run_id: str) -> Counts | None:
    """How far the run came, in its users' unit, as it recorded at its end; None: it did not."""
    last = None
    for last in journal.events(run_id, COUNTED):  # noqa: B007 - the last one holds
        pass
    return None if last is None else last.decode(Counts)
