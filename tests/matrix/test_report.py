"""The page of a matrix says what the journal says, and text stays text."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise.journal.open import open_journal
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.recorded_matrix import read_matrix
from fanwise.matrix.stats.compare import compare
from fanwise.matrix.stats.summary import summarize
from fanwise.matrix.views.page import report
from fanwise.matrix.views.plots import read_lanes
from fanwise.matrix.views.rows import Palette
from fanwise.specs.system import Report
from tests.matrix.real_run import HOSTILE, HOSTILE_NAME, KIND, RUN
from tests.view.seen import Seen


@pytest.fixture(scope="module")
def found(recorded_matrix: Path) -> MatrixState:
    with closing(open_journal(recorded_matrix, read_only=True)) as journal:
        return read_matrix(journal, RUN)


@pytest.fixture(scope="module")
def made(recorded_matrix: Path) -> Report:
    with closing(open_journal(recorded_matrix, read_only=True)) as journal:
        return report(journal, journal.run(RUN))


def data_of(html: str) -> dict[str, Any]:
    text = re.search(
        r'<script type="application/json" id="cells-data">(.*?)</script>', html, re.DOTALL
    )
    assert text is not None
    data: dict[str, Any] = json.loads(text[1])
    return data


def test_every_cell_is_there_with_prompt_answer_and_scores(
    made: Report, found: MatrixState
) -> None:
    data = data_of(made.html)
    texts, fields = data["texts"], data["fields"]
    rows = {row[0]: dict(zip(fields, row, strict=True)) for row in data["rows"]}
    assert rows.keys() == {each.id for each in found.results} | {
        each.cell.key for each in found.waiting
    }
    assert found.given is not None
    for each in found.results:
        row = rows[each.id]
        axes = [texts[row[name]] for name in ("model", "strategy", "input")]
        assert axes == [each.cell.model, each.cell.strategy, each.cell.input]
        assert (row["status"], row["repeat"]) == (each.status, each.cell.repeat)
        told = {name: texts[answer] for name, _, answer in row["steps"] if answer is not None}
        assert told == {name: step["text"] for name, step in each.steps.items()}
        for number, (_, asked, _) in enumerate(row["steps"]):
            assert [[role, texts[place]] for role, place in asked] == [
                [message["role"], message["content"]] for message in found.given.asked(each, number)
            ]
        assert (None if row["error"] is None else texts[row["error"]]) == each.error
        for name, score in zip(data["scorers"], row["scores"], strict=True):
            known = each.scores.get(name)
            assert (score is None) is (known is None)
            if known is not None:
                assert score[0] == known.score
                assert (score[2] is not None) is (known.error is not None)
        assert (row["usd"], row["calls"]) == (each.usd, each.calls)
    votes = [
        row for row in rows.values() if texts[row["strategy"]] == "vote" and row["status"] == "done"
    ]
    assert votes and all(len(row["samples"]) == 3 for row in votes)


def test_a_failed_cell_tells_what_it_was_asked(found: MatrixState) -> None:
    assert found.given is not None
    failed = {(e.cell.strategy, e.cell.input): e for e in found.results if e.status == "failed"}
    asked = found.given.asked(failed["one", "b"], 0)
    assert asked == [{"role": "user", "content": "Is it good or bad? awful"}]
    # Of several steps the one that failed, with what the one before it answered.
    second = found.given.asked(failed["two", "b"], 1)
    assert second == [{"role": "user", "content": "So? sad"}]


def test_nothing_of_the_run_is_markup_and_nothing_is_fetched(made: Report) -> None:
    assert HOSTILE not in made.html and HOSTILE_NAME not in made.html
    page = Seen(made.html)
    assert page.tags.count("script") == 2  # the data, and ours
    assert page.active == []
    assert "@import" not in made.html and "url(" not in made.html
    assert HOSTILE_NAME in page.text  # and yet it can be read


def test_the_numbers_are_those_of_the_analysis(made: Report, found: MatrixState) -> None:
    cells = found.scored
    summary = summarize(cells, by=[("model",), ("strategy",), ("model", "strategy")])
    assert made.document["summary"] == summary.to_json()
    wanted = [
        each
        for scorer in found.scorers
        for axis in ("model", "strategy")
        for each in compare(cells, axis, scorer)
        if each.pairs
    ]
    shown = [(c["axis"], c["first"], c["second"], c["p_holm"]) for c in made.document["contrasts"]]
    assert shown == [(c.axis, c.first, c.second, c.p_holm) for c in wanted] and shown
    text = Seen(made.html).text
    for group in summary.groups:
        if len(group.axes) == 2:
            for score in group.scores.values():
                assert score.mean.value is None or f"{score.mean.value:.3f}" in text
    assert {each["scorer"] for each in made.document["pass_at_k"]} == {"exact"}  # the binary one
    assert KIND in found.scorers


def test_lines_have_the_summary_the_contrasts_and_pass_at_k(made: Report) -> None:
    text = "\n".join(made.lines)
    assert "MODEL" in text and "P (HOLM)" in text and "PASS@2" in text
    assert "8 cells not run" in text


def test_the_timeline_has_each_call_under_each_cap_that_it_held(
    recorded_matrix: Path, made: Report
) -> None:
    with closing(open_journal(recorded_matrix, read_only=True)) as journal:
        lanes = read_lanes(journal, RUN)
        attempts = [
            row
            for fan_out in journal.fan_outs(RUN)
            for row in journal.attempts(fan_out.id)
            if row.call is not None
        ]
    assert list(lanes) == ["openai", "without a cap"]
    assert sum(map(len, lanes.values())) == len(attempts)
    held = [row for row in attempts if row.caps == "openai"]
    assert len(lanes["openai"]) == len(held)
    assert sum(span.failed for span in lanes["openai"]) == sum(
        row.error is not None for row in held
    )
    assert f"{len(held)} calls, peak 3 of 3 in flight" in Seen(made.html).text


def test_names_are_short_only_where_that_is_no_other_model() -> None:
    palette = Palette(["sim:a?x=1", "sim:b?x=1", "sim:b?x=2", "-"])
    assert [palette.text(name) for name in ("sim:a?x=1", "sim:b?x=1", "-", "vote")] == [
        "sim:a", "sim:b?x=1", "no model", "vote",
    ]  # fmt: skip
    assert (
        len({palette["sim:a?x=1"], palette["sim:b?x=1"], palette["sim:b?x=2"], palette["-"]}) == 4
    )
