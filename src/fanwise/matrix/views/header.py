"""The numbers at the top of the page."""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.matrix.state.recorded_matrix import RecordedMatrix
from fanwise.matrix.stats.summary import Total
from fanwise.matrix.views.analysis import Analysis
from fanwise.view.formats import duration_text, money
from fanwise.view.html import Tile
from fanwise.view.run_summary import duration


def tiles(found: RecordedMatrix, analysis: Analysis) -> Iterator[Tile]:
    """What people ask for first."""
    whole = analysis.summary.whole
    yield Tile("cells", f"{len(found.results) + len(found.waiting):,}", _axes(analysis))
    share = f"{whole.failed / whole.n:.1%} of those that ended" if whole.n else ""
    yield Tile("failed", f"{whole.failed:,}", share, bad=whole.failed > 0)
    if found.waiting:
        yield Tile("not run", f"{len(found.waiting):,}", bad=True)
    for name in analysis.scorers:
        score = whole.scores.get(name)
        if score is not None and score.mean.value is not None:
            about = f"{score.unscored:,} without a score" if score.unscored else "mean of all"
            yield Tile(name, f"{score.mean.value:.3f}", about)
    if whole.ran_s.p50 is not None:
        p90 = "" if whole.ran_s.p90 is None else f"p90 {duration_text(whole.ran_s.p90)}"
        yield Tile("median time", duration_text(whole.ran_s.p50), p90)
    calls = sum(each.calls for each in found.results)
    ran = sum(each.ran_s for each in found.results)
    yield Tile("calls", f"{calls:,}", f"{duration(ran)} in all")
    yield Tile("tokens", f"{_many(whole.input_tokens)} / {_many(whole.output_tokens)}", "in / out")
    judges = sum(each.scoring_usd or 0.0 for each in found.results)
    yield Tile("dollars", _usd(whole.usd), f"and {money(judges)} for judges" if judges else "")


def _axes(analysis: Analysis) -> str:
    names = (("model", "models"), ("strategy", "strategies"), ("input", "inputs"))
    counted = [
        (len({c.axes[axis] for c in analysis.cells} - {"-"}), words) for axis, words in names
    ]
    return ", ".join(f"{count:,} {words}" for count, words in counted)


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


def _usd(usd: Total) -> str:
    if usd.total is None:
        return f"≥ {money(usd.known)}" if usd.known else "unknown"
    return money(usd.total)
