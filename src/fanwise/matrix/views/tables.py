"""The summary as a table of plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fanwise.core.lag import describe_lag
from fanwise.matrix.state.results import CellResult
from fanwise.matrix.stats.data import AnalysisOptions, Scored, scorer_names
from fanwise.matrix.stats.summary import (
    GroupSummary,
    ScoreSummary,
    Total,
    dollars,
    summarize,
    total,
)

GROUP = ("model", "strategy")


def summary_lines(cells: Sequence[Scored], options: AnalysisOptions) -> list[str]:
    return group_lines(groups_of(cells, options), scorer_names(cells))


def groups_of(cells: Sequence[Scored], options: AnalysisOptions) -> list[GroupSummary]:
    """One group for each model and strategy; none if all cells wait."""
    if all(each.status == "waiting" for each in cells):
        return []
    return summarize(cells, by=[GROUP], options=options).groups


def group_lines(groups: Sequence[GroupSummary], names: Sequence[str]) -> list[str]:
    if not groups:
        return []
    head = ["MODEL", "STRATEGY", "CELLS", "FAILED", *(name.upper() for name in names), "P50", "USD"]
    return aligned([head, *(_row(group, names) for group in groups)])


def late_lines(groups: Sequence[GroupSummary]) -> list[str]:
    """That this process is the bottleneck, if it is: of the group where it is worst."""
    late = [(group.notable_lag_s or 0.0, group.in_flight) for group in groups]
    lag_s, in_flight = max(late, default=(0.0, 0))
    return [f"latencies are too long: {describe_lag(lag_s, in_flight)}"] if lag_s else []


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines, their columns below one another."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _row(group: GroupSummary, names: Sequence[str]) -> list[str]:
    return [
        group.axes["model"],
        group.axes["strategy"],
        str(group.n),
        str(group.failed),
        *(score_text(group.scores[name]) for name in names),
        median_text(group),
        usd_text(group.usd),
    ]


def median_text(group: GroupSummary) -> str:
    """The median latency, and what flags it; without cells that the cache of replies answered."""
    text = "-" if group.ran_s.p50 is None else f"{group.ran_s.p50:.2f} s"
    if group.notable_lag_s is not None:
        text += f" ({1000 * group.notable_lag_s:,.0f} ms lag)"
    return f"{text}, {group.cached:,} cached" if group.cached else text


def score_text(score: ScoreSummary) -> str:
    """A mean with its interval, and how many scores are missing from it."""
    text = score.mean.text()
    missing = score.unscored
    return f"{text}, {missing:,} of {score.mean.n + missing:,} missing" if missing else text


def judges_text(results: Iterable[CellResult], form: Callable[[float], str] = dollars) -> str:
    """The dollars of judges, which no table of cells has; empty: they cost nothing."""
    spent = total([each.scoring_usd for each in results])
    return usd_text(spent, form) if spent.known or spent.unknown else ""


def judges_lines(results: Iterable[CellResult]) -> list[str]:
    text = judges_text(results)
    return [f"judges cost {text} dollars besides"] if text else []


def usd_text(usd: Total, form: Callable[[float], str] = dollars) -> str:
    """Dollars; where some are unknown, what they are at least."""
    if usd.total is not None:
        return form(usd.total)
    return f"≥ {form(usd.known)}" if usd.known else "unknown"
