"""The numbers at the top of the page."""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.matrix.cells.cell import NO_MODEL
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.stats.summary import GroupSummary, Total, summarize
from fanwise.matrix.views.analysis import Analysis
from fanwise.matrix.views.tables import judges_text, usd_text
from fanwise.view.formats import duration_text, money
from fanwise.view.html import Tile
from fanwise.view.run_summary import duration


def tiles(found: MatrixState, analysis: Analysis) -> Iterator[Tile]:
    """What people ask for first."""
    whole = analysis.summary.whole
    waiting = len(found.waiting)
    yield Tile("cells", f"{len(found.results) + waiting:,}", _axes(analysis))
    share = f"{whole.failed / whole.n:.1%} of those that ended" if whole.n else ""
    yield Tile("failed", f"{whole.failed:,}", share, bad=whole.failed > 0)
    if waiting:
        settled = len(found.left_out)
        about = f"{settled:,} not needed: settled" if settled else ""
        yield Tile("not run", f"{waiting:,}", about, bad=waiting > settled)
    asked = _without_controls(found)
    yield from _scores(asked, analysis, all_cells=asked.n == whole.n)
    if asked.ran_s.p50 is not None:
        p90 = "" if asked.ran_s.p90 is None else f"p90 {duration_text(asked.ran_s.p90)}"
        yield Tile("median time", duration_text(asked.ran_s.p50), p90)
    calls = sum(each.calls for each in found.results)
    ran = sum(each.ran_s for each in found.results)
    yield Tile("calls", f"{calls:,}", f"{duration(ran)} in all")
    yield Tile("tokens", f"{_many(whole.input_tokens)} / {_many(whole.output_tokens)}", "in / out")
    judges = judges_text(found.results, money)
    about = f"and {judges} for judges" if judges else ""
    yield Tile("dollars", usd_text(whole.usd, money), about)


def _without_controls(found: MatrixState) -> GroupSummary:
    """These have no model, and say nothing of one."""
    cells = [each for each in found.scored if each.axes["model"] != NO_MODEL]
    return summarize(cells or found.scored, by=[], options=found.options).whole


def _scores(asked: GroupSummary, analysis: Analysis, *, all_cells: bool) -> Iterator[Tile]:
    """The mean of each scorer."""
    for name in analysis.scorers:
        score = asked.scores.get(name)
        if score is not None and score.mean.value is not None:
            about = "mean of all" if all_cells else "mean of all but controls"
            if score.unscored:
                about = f"{score.unscored:,} of {score.mean.n + score.unscored:,} missing"
            yield Tile(name, f"{score.mean.value:.3f}", about, bad=score.unscored > 0)


def _axes(analysis: Analysis) -> str:
    names = (("model", "models"), ("strategy", "strategies"), ("input", "inputs"))
    counts = [len({c.axes[axis] for c in analysis.cells} - {NO_MODEL}) for axis, _ in names]
    return ", ".join(
        f"{count:,} {one if count == 1 else several}"
        for count, (one, several) in zip(counts, names, strict=True)
    )


def _many(total: Total) -> str:
    if total.total is None:
        return f"≥ {_short(total.known)}" if total.known else "?"
    return _short(total.total)


def _short(count: float) -> str:
    if count >= 10_000_000:
        return f"{count / 1e6:.0f}M"
    if count >= 1_000_000:
        return f"{count / 1e6:.1f}M"
    return f"{count / 1e3:.0f}k" if count >= 10_000 else f"{count:,.0f}"
