"""The summary as a table of plain text."""

from __future__ import annotations

from collections.abc import Sequence

from fanwise.matrix.state.results import CellResult
from fanwise.matrix.stats.data import scorer_names
from fanwise.matrix.stats.intervals import Estimate
from fanwise.matrix.stats.summary import GroupSummary, summarize

GROUP = ("model", "strategy")


def summary_lines(found: Sequence[CellResult]) -> list[str]:
    """One line for each model and strategy."""
    if not found:
        return []
    cells = [each.scored for each in found]
    return group_lines(summarize(cells, by=[GROUP]).groups, scorer_names(cells))


def group_lines(groups: Sequence[GroupSummary], names: Sequence[str]) -> list[str]:
    """The same of groups that are known."""
    head = ["MODEL", "STRATEGY", "CELLS", "FAILED", *(name.upper() for name in names), "P50", "USD"]
    return aligned([head, *(_row(group, names) for group in groups)])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines, their columns below one another."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _row(group: GroupSummary, names: Sequence[str]) -> list[str]:
    usd = group.usd.total
    return [
        group.axes["model"],
        group.axes["strategy"],
        str(group.n),
        str(group.failed),
        *(interval_text(group.scores[name].mean) for name in names),
        "-" if group.ran_s.p50 is None else f"{group.ran_s.p50:.2f} s",
        "unknown" if usd is None else f"{usd:.4f}",
    ]


def interval_text(mean: Estimate, *, sign: bool = False) -> str:
    """A number with its interval."""
    form = "+.3f" if sign else ".3f"
    if mean.value is None:
        return "-"
    if mean.low is None or mean.high is None:
        return f"{mean.value:{form}}"
    return f"{mean.value:{form}} [{mean.low:{form}}, {mean.high:{form}}]"
