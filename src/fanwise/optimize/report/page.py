"""The whole report of a run: what is there is shown, what is not is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fanwise.optimize.driver.recorded import Recorded
from fanwise.optimize.report.candidates import candidates_table
from fanwise.optimize.report.details import details
from fanwise.optimize.report.markdown import markdown_lines
from fanwise.optimize.report.results import WAITING, Results
from fanwise.optimize.report.rows import document_of
from fanwise.optimize.verdicts import ORIGINAL, Verdict
from fanwise.specs.system import Report
from fanwise.view.markup import Child, Html, element
from fanwise.view.page import Section, page
from fanwise.view.patch import bounded, diff
from fanwise.view.pieces import block, duration_text, facts, folded, tile, title

CANDIDATES = (
    "A dot is how many times as fast a candidate is, a whisker its interval. The line is at 1, "
    "as fast as the original; the dashed one is what a lower end must reach. Only candidates "
    "that did in all calls what the original does were measured."
)
OTHERS = ("rejected", "undecided", "same", WAITING)
NONE_MEASURED = "None came so far that it was measured."
NO_WINNER = "No candidate was shown to be correct and fast enough. The original stays."
NOTHING = "No candidate has come yet."
PROFILES = "line profile of the original", "line profile of the winner"


def report(found: Recorded) -> Report:
    """As the journal has it now; the run may still be going on."""
    results = Results(found)
    html = page(
        f"{found.run.name}: fanwise report",
        title(found.run, _tiles(results)),
        list(_sections(results)),
        [],
    )
    return Report(html, markdown_lines(results), document_of(results))


def _tiles(results: Results) -> Iterator[Html]:
    best = results.winner
    if best is not None and best.speed is not None:
        yield tile(
            "as fast", f"{best.speed.low:.3g} times", f"at least; {best.speed.ratio:.3g} measured"
        )
    yield tile("candidates", f"{len(results.rows):,}", _origins(results))
    others = [f"{results.counts[status]:,} {status}" for status in OTHERS if results.counts[status]]
    yield tile("accepted", f"{results.counts['accepted']:,}", ", ".join(others))
    if results.noise is not None:
        yield tile("noise of this machine", *_noise(results.noise))
    if results.found.unusable:
        yield tile("unusable answers", f"{len(results.found.unusable):,}", bad=True)
    if results.found.failures:
        yield tile("failures", f"{len(results.found.failures):,}", bad=True)
    spent = sum(sum(results.seconds(each.candidate).values()) for each in results.rows)
    if spent:
        yield tile("time of all stages", duration_text(spent), "one after another")


def _noise(noise: Mapping[str, Any]) -> tuple[str, str]:
    """The original against itself: it should be 1."""
    spread, pairs = noise.get("spread"), noise.get("pairs")
    if not isinstance(spread, int | float):
        return "?", "not measured"
    return f"± {spread:.1%}", f"the original against itself, in {pairs} pairs"


def _origins(results: Results) -> str:
    found: dict[str, int] = {}
    for each in results.rows:
        found[each.candidate.how] = found.get(each.candidate.how, 0) + 1
    return ", ".join(f"{count:,} {how}" for how, count in found.items())


def _sections(results: Results) -> Iterator[Section]:
    if results.rows:
        yield Section("winner", "Winner", _winner(results))
        about = CANDIDATES if any(each.speed for each in results.found.verdicts) else NONE_MEASURED
        yield Section("candidates", "Candidates", candidates_table(results), about)
        yield Section("details", "Details", details(results))
    else:
        yield Section("candidates", "Candidates", element("p", NOTHING))
    if results.found.unusable:
        yield Section("unusable", "Unusable answers", _unusable(results))
    if results.found.failures:
        yield Section("failures", "Failures", _failures(results))
    yield Section("run", "Run", _run(results))


def _winner(results: Results) -> Html:
    best = results.winner
    if best is None:
        return element("p", NO_WINNER)
    return element("div", list(_about(results, best)))


def _about(results: Results, best: Verdict) -> Iterator[Child]:
    assert best.speed is not None
    speed = best.speed
    before, now = duration_text(speed.baseline_s), duration_text(speed.candidate_s)
    yield element(
        "p",
        element("b", best.candidate.name),
        f" is {speed.ratio:.3g} times as fast as the original, surely between {speed.low:.3g} "
        f"and {speed.high:.3g}: {before} before, {now} now, in {speed.rounds:,} pairs of "
        f"measurements. It changes {best.diff_lines:,} lines.",
    )
    yield folded("Patch", diff(best.patch), class_="fold", open_=best.patch.count("\n") <= 60)
    shown = [block(name, bounded(text)) for name, text in _profiles(results, best) if text]
    if shown:
        yield folded("Line profile", element("div", shown, class_="pair"), class_="fold")


def _profiles(results: Results, best: Verdict) -> Iterator[tuple[str, str]]:
    for name, key in zip(PROFILES, (ORIGINAL, best.candidate.key), strict=True):
        yield name, results.found.profiles.get(key, "")


def _unusable(results: Results) -> Html:
    cells = []
    for each in results.found.unusable:
        name, why = str(each.get("name", "")), str(each.get("reason", ""))
        summary = [element("span", name, class_="where"), element("span", why, class_="said bad")]
        answer = block("the answer began so", bounded(str(each.get("answer", ""))))
        inside = element("div", answer, class_="inside")
        cells.append(folded(summary, inside, class_="cell"))
    return element("div", cells)


def _failures(results: Results) -> Html:
    rows = [(key, bounded(why, 500)) for key, why in results.found.failures.items()]
    return facts("What could not be done, and why", rows)


def _run(results: Results) -> Html:
    spec, accept = results.spec, results.accept
    rows: list[tuple[str, Child]] = [("run", element("code", results.run.id))]
    if results.target:
        rows.append(("target", element("code", results.target)))
    if spec is not None:
        rows.append(("test", element("code", spec.test)))
        rows.append(("workspaces", f"{spec.slots}"))
    rows.append(
        ("accepted from", f"{accept.speedup:.3g} times, {accept.confidence:.0%} confidence")
    )
    if results.noise is not None:
        rows += _machine(results.noise)
    if results.run.error:
        rows.append(("error", results.run.error))
    return facts("What was run", rows)


def _machine(noise: Mapping[str, Any]) -> Iterator[tuple[str, Child]]:
    """How well a gain can be told here."""
    gain = noise.get("smallest_gain")
    if isinstance(gain, int | float):
        yield "smallest gain that shows", f"about {gain:.3g} times"
    yield "pinned to a core", "yes" if noise.get("pinned") else "no"
    for each in noise.get("warnings") or ():
        yield "note", str(each)
