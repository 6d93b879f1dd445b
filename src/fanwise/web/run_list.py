"""The page of all runs: which of them are wanted, and a row for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fanwise.core.stats import BUDGET
from fanwise.journal.damage import explain_damage
from fanwise.journal.port import RunRecord
from fanwise.journal.read_only import RefusesWrites
from fanwise.view.calls import call_detail
from fanwise.view.limits import budget_limits
from fanwise.view.run_summary import Summary, run_summary, shown_status
from fanwise.view.system_text import count_now
from fanwise.web.samples import Samples

PAGE = 50
SORTS = {
    "started": lambda run: -run.created_at,
    "name": lambda run: (run.name.lower(), -run.number),
    "kind": lambda run: (run.kind, -run.number),
    "status": lambda run: (shown_status(run), -run.number),
}
"""By what a list can be sorted: what is in a run's own row, so that nothing else is read."""


class RunFilter(msgspec.Struct, frozen=True):
    """What the address asks for."""

    text: str = ""
    kind: str = ""
    status: str = ""
    sort: str = "started"
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> RunFilter:
        """From the query of an address, in which anything may stand."""
        number = query.get("page", "")
        return cls(
            query.get("q", "").strip(),
            query.get("kind", ""),
            query.get("status", ""),
            query.get("sort", "") if query.get("sort") in SORTS else "started",
            max(1, int(number)) if number.isascii() and number.isdigit() and len(number) < 9 else 1,
        )

    def takes(self, run: RunRecord) -> bool:
        """Whether the run is wanted."""
        return (
            (not self.kind or run.kind == self.kind)
            and (not self.status or shown_status(run) == self.status)
            and self.text.lower() in f"{run.id} {run.name}".lower()
        )


class RunList(msgspec.Struct, frozen=True):
    """One page of it."""

    rows: Sequence[Summary] = ()
    found: int = 0
    """How many runs the filter takes."""
    total: int = 0
    kinds: Sequence[str] = ()
    statuses: Sequence[str] = ()
    pages: int = 1


def run_list(
    journal: RefusesWrites,
    wanted: RunFilter,
    cache: dict[str, tuple[Any, Summary]],
    samples: Samples,
) -> RunList:
    """The wanted runs. `cache`: summaries of runs that have ended, which change no more."""
    runs = journal.runs(specs=False)
    found = sorted(filter(wanted.takes, runs), key=SORTS[wanted.sort])
    shown = found[(wanted.page - 1) * PAGE : wanted.page * PAGE]
    return RunList(
        [_summary(journal, run, cache, samples) for run in shown],
        len(found),
        len(runs),
        sorted({run.kind for run in runs}),
        sorted({shown_status(run) for run in runs}),
        max(1, -(-len(found) // PAGE)),
    )


def _summary(
    journal: RefusesWrites,
    run: RunRecord,
    cache: dict[str, tuple[Any, Summary]],
    samples: Samples,
) -> Summary:
    state = (run.status, run.ended_at, run.created_at)
    cached = cache.get(run.id)
    if cached is not None and cached[0] == state and run.ended_at is not None:
        return cached[1]
    try:
        with explain_damage(journal, run.id):
            summary = run_summary(journal, journal.run(run.id), count_now)
            summary |= {
                "left_s": samples.pace(summary).left_s,
                "spent": call_detail(journal.call_totals(run.id)),
                "budget": budget_limits(journal.events(run.id, BUDGET)),
                "owner": run.owner,
            }
    except Exception as error:  # one damaged run must not hide the others
        summary = {**_unread(run), "error": str(error)}
    cache[run.id] = (state, summary)
    return summary


def _unread(run: RunRecord) -> Summary:
    unknown = dict.fromkeys((
        "done", "failed", "total", "took_s", "ended_at", "started_at", "unit", "left_s", "spent",
        "budget", "owner",
    ))  # fmt: skip
    return {"id": run.id, "kind": run.kind, "name": run.name, "status": "damaged", **unknown}
