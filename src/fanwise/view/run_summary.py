"""A run in one line: id, status, counts and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from fanwise.core.paths import is_top
from fanwise.journal.owner import liveness
from fanwise.journal.port import Journal, RunRecord
from fanwise.view.inputs import known_inputs, planned_items
from fanwise.view.times import moment

Summary = dict[str, Any]


def run_summaries(journal: Journal) -> Iterator[Summary]:
    """All runs, newest first."""
    for run in journal.runs():
        yield run_summary(journal, run)


def run_summary(journal: Journal, run: RunRecord) -> Summary:
    """One run. `total` is None until the input has been read to its end.

    Items of nested fan-outs are not counted.
    """
    counts: Counter[str] = Counter()
    for fan_out in journal.fan_outs(run.id):
        if is_top(fan_out.path):
            counts.update(journal.counts(fan_out.id))
    return {
        "id": run.id,
        "kind": run.kind,
        "name": run.name,
        "status": shown_status(run),
        "done": counts["done"],
        "failed": counts["failed"],
        "started": counts["started"],
        "cancelled": counts["cancelled"],
        "total": _total(journal, run, counts),
        "started_at": moment(run.created_at),
        "ended_at": moment(run.ended_at),
        "took_s": None if run.ended_at is None else run.ended_at - run.created_at,
        "error": run.error,
    }


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
        local_time(summary["started_at"]), duration(summary["took_s"]),
    )  # fmt: skip


def local_time(iso: str | None) -> str:
    """A time in the local time zone."""
    if iso is None:
        return ""
    return datetime.fromisoformat(iso).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration(seconds: float | None) -> str:
    """Seconds as text: `4.2 s`, `3 min 05 s`, `2 h 10 min`."""
    if seconds is None:
        return ""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def _total(journal: Journal, run: RunRecord, counts: Counter[str]) -> int | None:
    if run.kind != "map":
        return max(counts.total(), planned_items(journal, run.id) or 0)
    inputs = known_inputs(journal, run.id)
    return inputs.count if inputs.complete else None
