"""What people are told of a matrix that has run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import msgspec

from fanwise.core.counts import many
from fanwise.matrix.state.expectations import Judgement
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.results import CellResult, Score, digest
from fanwise.matrix.stats.data import scorer_names
from fanwise.matrix.stats.sequential import ContrastVerdict
from fanwise.matrix.views.analysis import not_run_lines, verdict_lines, verdict_text
from fanwise.matrix.views.conclusion import conclusion
from fanwise.matrix.views.tables import (
    aligned,
    group_lines,
    groups_of,
    judges_lines,
    late_lines,
    summary_lines,
)
from fanwise.specs.system import End

ELEMENTS = {"refuted": "failure", "not judged": "error", "undecided": "skipped"}
"""What a verdict is in JUnit; one that is proven is a test that passed."""
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def expectation_lines(found: Sequence[Judgement]) -> list[str]:
    if not found:
        return []
    head = ["EXPECTED", "OF", "MEASURED", "VERDICT", ""]
    return aligned([head, *([e.expectation, e.of, e.measured, e.verdict, e.why] for e in found)])


def junit(name: str, found: Sequence[Judgement]) -> str:
    """A test suite with a test for each expectation."""
    kinds = [_element(each) for each in found]
    count = {kind: kinds.count(kind) for kind in ELEMENTS.values()}
    suite = Element("testsuite", name=_clean(name), tests=str(len(found)),
                    failures=str(count["failure"]), errors=str(count["error"]),
                    skipped=str(count["skipped"]))  # fmt: skip
    for each, kind in zip(found, kinds, strict=True):
        named = {"classname": _clean(name), "name": _clean(f"{each.expectation} ({each.of})")}
        test = SubElement(suite, "testcase", named)
        said = f"{each.verdict}: {each.measured}" + (f"; {each.why}" if each.why else "")
        if kind is not None:
            SubElement(test, kind, message=_clean(said))
        else:
            SubElement(test, "system-out").text = _clean(said)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def _element(judgement: Judgement) -> str | None:
    return "error" if judgement.fails else ELEMENTS.get(judgement.verdict)


def _clean(text: str) -> str:
    return NOT_XML.sub("?", text)


MOST_NAMED = 5
REFUTED = 4
"""The exit code if a result is proven to miss what its file expects."""
MOST_TEXT = 100


def end_of(
    done: MatrixState, judgements: Sequence[Judgement] = (), shown: MatrixState | None = None
) -> End:
    """The summary (of `shown`, if it is more) on stdout, what is wrong on stderr."""
    found = done.results
    document = {
        "digest": digest(found),
        "cells": [each.to_json() for each in found],
        "left_out": [cell.key for cell in done.left_out],
        "may_have_run_twice": [each.id for each in done.may_have_run_twice],
        "verdicts": msgspec.to_builtins(done.verdicts),
        "expectations": msgspec.to_builtins(judgements),
    }
    failures = [f"{name_of(each)}: {each.error}" for each in done.failed]
    whole = shown or done
    scored = whole.scored
    groups = groups_of(scored, whole.options)
    lines = group_lines(groups, scorer_names(scored)) + judges_lines(whole.results)
    notes = _notes(done) + late_lines(groups)
    # Where repeats were left out, a test made for one look is too sure: there are the verdicts.
    told = [] if whole.left_out else conclusion(scored, done.options)
    lines += ["", *told] if told else []
    lines += ["", *expectation_lines(judgements)] if judgements else []
    notes += _undecided(judgements)
    code = exit_code(done, judgements)
    return End(document, lines, notes, code, done.counts, failures=failures)


def exit_code(done: MatrixState, judgements: Sequence[Judgement]) -> int:
    """4: an expectation is refuted; 1: some failed, or lack a proof that is asked for; 0: done."""
    verdicts = {each.verdict for each in judgements}
    if "refuted" in verdicts:
        return REFUTED
    accepted = any(each.expectation.startswith("failed ") for each in judgements)
    failed = bool(done.failed) and not accepted  # so many failures are expected, and proven
    unproven = any(each.fails for each in judgements)
    return int(failed or unproven or bool(done.badly_scored or done.counts.short))


def _undecided(judgements: Sequence[Judgement]) -> list[str]:
    found = [each for each in judgements if each.verdict == "undecided"]
    passed = sum(not each.fails for each in found)
    if not found:
        return []
    verdicts = f"{len(found)} of {many(len(judgements), 'expectation')} undecided"
    lines = [f"{verdicts}: neither proven nor refuted; more inputs would tell"]
    if passed:
        lines.append(
            f"  {passed} of them not counted as a failure: to count them, `undecided: fail`"
        )
    return lines


def _notes(done: MatrixState) -> list[str]:
    notes = []
    failed, unscored = done.failed, done.badly_scored
    if failed:
        wanted = many(len(done.results) + len(done.waiting), "cell")
        notes.append(f"{len(failed):,} of {wanted} failed; to retry them: --rerun failed")
        notes += _some(failed, lambda each: each.error or "")
    if unscored:
        notes.append(f"{many(len(unscored), 'answer')} could not be scored; see fanwise score:")
        notes += _some(unscored, _score_error)
    twice = done.may_have_run_twice
    if twice:
        cut_off, they = ("was cut off", "it") if len(twice) == 1 else ("were cut off", "they")
        cells = many(len(twice), "cell")
        notes.append(f"{cells} {cut_off} and run again, so {they} may have been paid for twice:")
        notes += _some(twice)
    if done.left_out:
        left_out = many(len(done.left_out), "cell")
        notes.append(f"{left_out} not needed: their contrasts are settled")
        notes += [f"  {each.axis}: {_verdict(each)}" for each in done.verdicts if each.decision]
    return notes + _undecidable(done.verdicts)


def _undecidable(verdicts: Sequence[ContrastVerdict]) -> list[str]:
    """Why contrasts cannot be settled, each reason once: there may be many contrasts."""
    found: dict[str, list[str]] = {}
    for each in verdicts:
        if each.note:
            about = f"{each.axis}: {each.first} and {each.second} ({each.scorer})"
            found.setdefault(each.note, []).append(about)
    lines = []
    for note, contrasts in found.items():
        more = f" and {len(contrasts) - 1} more" if len(contrasts) > 1 else ""
        lines.append(f"cannot be settled early: {contrasts[0]}{more}: {note}")
    return lines


def _some(
    found: Sequence[CellResult], why: Callable[[CellResult], str] = lambda _: ""
) -> list[str]:
    lines = [f"  {name_of(each)}: {_cut(why(each))}".rstrip(": ") for each in found[:MOST_NAMED]]
    more = len(found) - len(lines)
    return [*lines, f"  … and {more} more"] if more else lines


def name_of(result: CellResult) -> str:
    cell = result.cell
    return f"{cell.model} {cell.strategy} {cell.input} #{cell.repeat} ({result.id})"


def _score_error(result: CellResult) -> str:
    return next(f"{name}: {score.error}" for name, score in result.scores.items() if score.error)


def _verdict(verdict: ContrastVerdict) -> str:
    other = verdict.second if verdict.decision == "first" else verdict.first
    return f"{verdict_text(verdict)} than {other} ({verdict.scorer})"


def describe_run(found: MatrixState, *, fully: bool) -> list[str]:
    """A matrix for `fanwise show`: the summary, what failed; fully: every cell."""
    lines = summary_lines(found.scored, found.options)
    lines += judges_lines(found.results) + not_run_lines(found) + verdict_lines(found.verdicts)
    if fully:
        return [*lines, *(line for each in found.results for line in _cell_lines(each, found))]
    failed = [each for each in found.results if each.status == "failed"]
    return lines + _some(failed, lambda each: each.error or "")


def _cell_lines(result: CellResult, found: MatrixState) -> list[str]:
    """The cell, what it was given and answered, and why it scored as it did."""
    expected: dict[str, Any] = {}
    lines = [f"{name_of(result)}: {result.status}"]
    if found.given is not None:
        expected = found.given.expected(result.cell)
        lines.append(f"    input: {_cut(shown(found.given.input(result.cell)))}")
    said = result.error if result.answer is None else result.answer["text"]
    lines.append(f"    {'error' if result.answer is None else 'answer'}: {_cut(said or '')}")
    for name, score in result.scores.items():
        wanted = f", expected {_cut(shown(expected[name]))}" if name in expected else ""
        why = score.reason or score.error
        lines.append(f"    {name} {_score(score)}{wanted}" + (f": {_cut(why)}" if why else ""))
    return lines


def shown(value: Any) -> str:
    """Text as it is, and plain data as JSON; unknown data as a question mark."""
    if isinstance(value, str):
        return value
    return "?" if value is None else msgspec.json.encode(value).decode()


def _score(score: Score) -> str:
    return "failed" if score.score is None else f"{score.score:g}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_TEXT else f"{line[:MOST_TEXT]} …"
