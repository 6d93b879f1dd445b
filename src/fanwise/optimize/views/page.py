"""The report of a run: sections that have nothing to show are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fanwise.optimize.verdict import ORIGINAL
from fanwise.optimize.views.candidates import candidate_rows, legend, speed_scale
from fanwise.optimize.views.markdown import markdown_lines
from fanwise.optimize.views.results import UNJUDGED, WAITING, Results
from fanwise.optimize.views.rows import document_of
from fanwise.specs.system import Report
from fanwise.view.formats import duration_text
from fanwise.view.html import Section, Templates, Tile, changed_outside

OTHERS = ("rejected", "undecided", "same", UNJUDGED, WAITING)


def report(results: Results) -> Report:
    """As the journal has it now; the run may still be going on."""
    accept = results.accept
    accepted = f"at least {accept.speedup:.3g} times as fast"
    accepted += f", with {100 * accept.confidence:.3g} % confidence"
    templates = Templates(
        "fanwise.optimize.views",
        results=results,
        accept=accept,
        accepted=accepted,
    )
    page = templates.report(results.run, _tiles(results), _sections(templates, results))
    return Report(page.html(), markdown_lines(results), document_of(results), page)


def _tiles(results: Results) -> Iterator[Tile]:
    best, counts = results.winner, results.counts
    if best is not None and best.speed is not None:
        about = f"at least; {best.speed.ratio:.3g} measured"
        yield Tile("as fast", f"{best.speed.low:.3g} times", about)
    origins = Counter(each.candidate.how for each in results.rows)
    about = ", ".join(f"{count:,} {how}" for how, count in origins.items())
    yield Tile("candidates", f"{len(results.rows):,}", about)
    others = [f"{counts[status]:,} {status}" for status in OTHERS if counts[status]]
    yield Tile("accepted", f"{counts['accepted']:,}", ", ".join(others))
    if (calls := results.state.calls_compared) is not None:
        yield Tile("calls compared", f"{calls:,}", "in each candidate that passed")
    if results.noise is not None:
        yield _noise(results.noise.get("spread"), results.noise.get("pairs"))
    if results.state.unusable:
        yield Tile("unusable answers", f"{len(results.state.unusable):,}", bad=True)
    if results.state.failures:
        yield Tile("failures", f"{len(results.state.failures):,}", bad=True)
    spent = sum(sum(results.seconds(each.candidate).values()) for each in results.rows)
    if spent:
        yield Tile("time of all stages", duration_text(spent), "one after another")


def _noise(spread: object, pairs: object) -> Tile:
    """How far the original was from itself."""
    if not isinstance(spread, int | float):
        return Tile("noise of this machine", "?", "not measured")
    about = f"the original against itself, in {pairs} pairs"
    return Tile("noise of this machine", f"± {spread:.1%}", about)


def _sections(templates: Templates, results: Results) -> Iterator[Section]:
    section, found = templates.section, results.state
    speeds = [each.speed for each in found.verdicts if each.speed is not None]
    scale = speed_scale(speeds, results.accept.speedup) if speeds else None
    rows = candidate_rows(results)
    if rows:
        yield _winner(templates, results)
    yield section("candidates", "Candidates", rows=rows, scale=scale, stages=legend(results))
    if rows:
        yield section("details", "Details", rows=rows)
    if found.unusable:
        yield section("unusable", "Unusable answers")
    if found.failures:
        yield section("failures", "Failures")
    if found.outside:
        yield changed_outside(templates, found.outside)
    yield section("run", "Run", spec=results.spec, target=results.target, noise=results.noise)


def _winner(templates: Templates, results: Results) -> Section:
    best, known = results.winner, results.state.profiles
    profiles = []
    if best is not None:
        named = (("the original", ORIGINAL), ("the winner", best.candidate.key))
        profiles = [(f"line profile of {who}", known[key]) for who, key in named if known.get(key)]
    return templates.section("winner", "Winner", best=best, profiles=profiles)
