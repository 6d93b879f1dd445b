"""What is known of each candidate, folded: the smallest differing call, its test, the patch.

All of it may be hostile: it is text, and `view/markup.py` keeps it so. It is bounded too, for a
page with two hundred patches shall still open.
"""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.optimize.differential.difference import Difference
from fanwise.optimize.report.candidates import chip
from fanwise.optimize.report.lineage import Placed
from fanwise.optimize.report.results import Results, reason
from fanwise.optimize.verdicts import Verdict
from fanwise.view.markup import Child, Html, element
from fanwise.view.patch import MOST, bounded, diff
from fanwise.view.pieces import block, duration_text, folded


def details(results: Results) -> Html:
    """All of them, each folded."""
    return element("div", [_one(results, each) for each in results.rows])


def _one(results: Results, placed: Placed) -> Html:
    candidate = placed.candidate
    verdict = results.verdicts.get(candidate.key)
    summary = [
        element("span", candidate.name, class_="where"),
        element("span", reason(verdict)[:300], class_="said"),
        element("span", chip(results.status(candidate)), class_="chips"),
    ]
    inside = element("div", list(_inside(results, placed, verdict)), class_="inside")
    return folded(summary, inside, class_="cell")


def _inside(results: Results, placed: Placed, verdict: Verdict | None) -> Iterator[Child]:
    yield element("p", _origin(results, placed), class_="small")
    if verdict is None:
        return
    if verdict.reason:
        yield block(f"{verdict.status} at the stage {verdict.stage}", bounded(verdict.reason))
    if verdict.difference is not None:
        yield from _difference(verdict.difference)
    test = None if verdict.difference is None else verdict.difference.test
    for finding in verdict.findings:
        if finding.detail and not finding.ok and finding.detail != test:
            yield block(
                f"what the stage {finding.stage} said", bounded(finding.detail), kind="error"
            )
    if verdict.speed is not None:
        speed = verdict.speed
        yield element(
            "p",
            f"{duration_text(speed.baseline_s)} before, {duration_text(speed.candidate_s)} with "
            f"it (medians of {speed.rounds:,} pairs, measured for {duration_text(speed.spent_s)})",
            class_="small",
        )
    if verdict.patch:
        yield element("div", element("h4", "patch"), diff(verdict.patch, MOST), class_="block")


def _origin(results: Results, placed: Placed) -> str:
    candidate = placed.candidate
    told = f"a {candidate.kind}, {candidate.how}"
    if candidate.parent is not None:
        told += f" from {results.name(candidate.parent)} in round {candidate.round}"
    taken = results.seconds(candidate)
    if taken:
        told += "; " + ", ".join(f"{stage} {duration_text(s)}" for stage, s in taken.items())
    return told


def _difference(found: Difference) -> Iterator[Html]:
    yield block("the smallest call that differs", bounded(found.call))
    yield block("what the original does", bounded(found.expected), kind="answer")
    yield block("what the candidate does", bounded(found.got), kind="error")
    if found.test:
        yield block("a test that passes on the original and fails on it", bounded(found.test))
