"""What is reported does not mislead: failures, early stops, expected answers, unknown dollars."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise.core.retry import Retry
from fanwise.errors import (
    AttemptTimeout,
    BadOutput,
    BudgetExceeded,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from fanwise.journal.open import open_journal
from fanwise.matrix import Matrix, MatrixResult, Subject, exact, run_matrix_sync
from fanwise.matrix.scores.formulas import SCORERS, reason
from fanwise.matrix.spec.matrix_spec import ExpectationSpec
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.recorded_matrix import read_matrix
from fanwise.matrix.state.results import fault_of
from fanwise.matrix.system import SYSTEM, judge
from fanwise.matrix.views.analysis import analyse
from fanwise.matrix.views.cells import FIELDS, cells_data
from fanwise.matrix.views.page import report, tiles
from fanwise.matrix.views.rows import Palette, input_map
from fanwise.matrix.views.text import describe_run, end_of
from fanwise.models.names import Price
from fanwise.specs.system import Report
from fanwise.testing import ScriptedModel
from tests.cli.support import Place
from tests.view.seen import Seen

ROWS = [{"id": f"i{n}", "text": f"text {n}", "label": "good"} for n in range(8)]


CRASHING = """
def answer(subject):
    return {f"i{n}": "good" for n in range(2, 8)}[subject.input["id"]]
"""


async def sound(subject: Subject) -> str:
    return "good"


async def crashes(subject: Subject) -> str:
    if subject.input["id"] in ("i0", "i1"):
        raise KeyError("label")
    return "good"


async def lost(subject: Subject) -> str:
    if subject.input["id"] in ("i0", "i1"):
        raise ModelUnreachable("no connection")
    return "good"


def matrix(**changes: Any) -> Matrix:
    fields: dict[str, Any] = {"inputs": ROWS, "score": [exact("label")]}
    return Matrix("honest", **{**fields, **changes})


def recorded(result: MatrixResult, journal: Path) -> tuple[MatrixState, Report]:
    assert result.run_id is not None
    with closing(open_journal(journal, read_only=True)) as opened:
        return read_matrix(opened, result.run_id), report(opened, opened.run(result.run_id))


# -- failures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (KeyError("label"), "strategy"),
        (ModelRefused("no"), "strategy"),
        (BadOutput("not JSON", text="{"), "strategy"),
        (ModelUnreachable("gone"), "provider"),
        (ModelRateLimited("slow down"), "provider"),
        (BudgetExceeded("usd", 1.0, 1.0, 2.0), "provider"),
        (AttemptTimeout(3.0), "provider"),
        (ConnectionResetError(), "provider"),
        (ExceptionGroup("two", [ValueError(), ModelUnreachable("gone")]), "provider"),
        (ExceptionGroup("two", [ValueError(), KeyError()]), "strategy"),
        (None, "provider"),
    ],
)
def test_a_failure_is_the_strategys_or_comes_from_outside(
    error: BaseException | None, fault: str
) -> None:
    assert fault_of(error) == fault


def test_a_strategy_that_crashes_scores_0_and_one_that_lost_its_provider_misses_scores(
    tmp_path: Path,
) -> None:
    prompts = {"sound": sound, "crashes": crashes, "lost": lost}
    journal = tmp_path / "j.db"
    result = run_matrix_sync(matrix(prompts=prompts), journal=journal, run="honest")
    state, page = recorded(result, journal)
    assert {e.fault for e in state.failed if e.cell.strategy == "crashes"} == {"strategy"}
    assert [e.fault for e in result.failures] == [e.fault for e in state.failed]
    table = {line.split()[1]: line for line in page.lines[:4]}
    assert "0.750 [0.409, 0.929]" in table["crashes"] and "missing" not in table["crashes"]
    assert "1.000" in table["lost"] and "2 of 8 missing" in table["lost"]
    text = "\n".join(page.lines)
    assert "strategy: failed: crashes 2 of 8, sound 0 of 8" in text
    assert "lost and sound (exact): 2 of 8 pairs missing: 2 without a score of lost" in text
    assert text.index("failed: crashes") < text.index("PAIRED")
    shown = Seen(page.html).text
    assert "2 of 8 missing" in shown and "failed: crashes 2 of 8, sound 0 of 8" in shown
    rows = {(row["strategy"], row["input"]): row for row in _table(journal, "honest")}
    assert (rows["crashes", "i0"]["score_exact"], rows["lost", "i0"]["score_exact"]) == (0, None)
    assert result.summary(by=[["strategy"]]).groups[0].scores["exact"].mean.value == 0.75


def test_failed_as_missing_leaves_a_crash_out_and_says_so(tmp_path: Path) -> None:
    journal = tmp_path / "j.db"
    made = matrix(prompts={"crashes": crashes}, failed_as="missing")
    state, page = recorded(run_matrix_sync(made, journal=journal, run="honest"), journal)
    assert "1.000" in page.lines[1] and "2 of 8 missing" in page.lines[1]
    assert page.document["failed_as"] == "missing"
    assert state.options.failed_as is None


def test_scoring_again_does_not_lose_the_cells_that_failed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (tmp_path / "mine.py").write_text(CRASHING)
    fields = {"name": "honest", "inputs": ROWS, "prompts": {"s": {"call": "mine:answer"}},
              "score": [{"exact": "input.label"}]}  # fmt: skip
    (tmp_path / "m.json").write_text(json.dumps({"matrix": fields}))
    ran, again = place.run("run", "m.json"), place.run("score", "honest")
    assert ran.returncode == 1 and b"0.750 [0.409, 0.929]" in ran.stdout
    assert again.stdout.splitlines()[1].split()[:7] == ran.stdout.splitlines()[1].split()[:7]
    missing = place.run("score", "honest", "--failed-as", "missing").stdout
    assert b"1.000" in missing and b"2 of 8 missing" in missing


def _table(journal: Path, run_id: str) -> list[dict[str, Any]]:
    with closing(open_journal(journal, read_only=True)) as opened:
        return list(SYSTEM.table(opened, opened.run(run_id)).rows)


# -- --stop-when-decided ---------------------------------------------------------------------------


def test_verdicts_are_kept_and_shown_wherever_the_run_is(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: request.messages[-1].content[2:], name="scripted:one")
    rows = [{"id": f"i{n}", "label": "good"} for n in range(30)]
    prompts = {name: f"{{{{ input.id }}}} {name}" for name in ("good", "bad")}
    journal = tmp_path / "j.db"
    made = matrix(
        models=[model], inputs=rows, prompts=prompts, repeat=3, caps={"scripted": 1},
        score=[{"regex": "good"}],
    )  # fmt: skip
    result = run_matrix_sync(made, journal=journal, run="honest", stop_when_decided=True)
    state, page = recorded(result, journal)
    (verdict,) = state.verdicts
    assert (verdict.decision, verdict.rounds) == ("second", 1) and [verdict] == result.verdicts
    assert state.left_out == result.left_out and len(state.left_out) > 60
    for lines in (page.lines, describe_run(state, fully=False)):
        text = "\n".join(lines)
        assert f"{len(state.left_out)} cells not needed: their contrasts are settled" in text
        assert "good is better" in text
    assert {c["p_holm"] for c in page.document["contrasts"]} == {None}
    assert "proven" not in "".join(end_of(state).output) + result._repr_html_()
    assert page.document["verdicts"][0]["decision"] == "second"
    assert page.document["left_out"] == len(state.left_out)
    shown = Seen(page.html).text
    assert "good is better" in shown and "stopped early: see Verdicts" in shown
    assert {row["not_run_because"] for row in _table(journal, "honest")} == {None, "settled"}
    assert len({tuple(row) for row in _table(journal, "honest")}) == 1, "the same columns"
    # An execution of all cells has one look, and its p-values are those of one look.
    again = run_matrix_sync(made, journal=journal, run="honest")
    state, page = recorded(again, journal)
    assert (list(state.verdicts), state.waiting) == ([], [])
    assert page.document["contrasts"][0]["p_holm"] < 0.001
    assert "proven: p < 0.001" in "".join(end_of(state).output)


# -- what was expected -----------------------------------------------------------------------------


def test_input_expected_answer_score_and_reason_stand_together(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "so so", "label": "mixed", "more": {"n": [1, 2]}}]
    score = [
        exact("label"),
        {"regex": "^{{ input.label }}$"},
        {"f1": "input.text"},
        {"json": "input.more"},
    ]
    journal = tmp_path / "j.db"
    made = matrix(inputs=rows, prompts={"s": sound}, score=score)
    state, page = recorded(run_matrix_sync(made, journal=journal, run="honest"), journal)
    (line,) = [each for each in describe_run(state, fully=True) if each.startswith("    exact")]
    assert line == "    exact 0, expected mixed: expected 'mixed', not 'good'"
    (row,) = _table(journal, "honest")
    assert (row["expected_exact"], row["expected_regex"]) == ("mixed", "^mixed$")
    assert row["input_data"] == {"text": "so so", "label": "mixed", "more": {"n": [1, 2]}}
    assert all(row[f"reason_{name}"] for name in ("exact", "regex", "f1", "json"))
    data = cells_data(state, Palette([]))
    expected = data["rows"][0][FIELDS.index("expected")]
    assert [data["texts"][place] for place in expected[:3]] == ["mixed", "^mixed$", "so so"]
    assert "label: mixed" in page.html and "expected \\u0027mixed\\u0027" in page.html


@pytest.mark.parametrize(
    ("kind", "answer", "expected", "why"),
    [
        ("exact", "a", "a", "as expected"),
        ("exact", "b", ["a", "c"], "expected '[\"a\", \"c\"]', not 'b'"),
        ("f1", "the red fox", "a red dog", "1 words shared, of 2 in the answer and 2 expected"),
        ("f1", "x", ["y", "x"], "1 words shared, of 1 in the answer and 1 expected"),
        ("regex", "abc", "b+", "matches 'b+'"),
        ("regex", "abc", "z", "does not match 'z'"),
        ("json", "nope", {"a": 1}, "the answer is not JSON"),
        ("json", '{"a": {"b": [1, 3]}}', {"a": {"b": [1, 2]}}, "a.b[1]: expected '2', not '3'"),
        ("json", '{"a": 1}', {"a": 1, "b": 2}, "b is missing"),
        ("json", '{"a": 1}', '{"a": 2}', "a: expected '1', not '2'"),
        ("exact", "x" * 99, "y", f"expected 'y', not '{'x' * 60}'…"),
    ],
)
def test_every_built_in_scorer_gives_a_reason(
    kind: str, answer: Any, expected: Any, why: str
) -> None:
    if why.startswith("a: "):
        why = "a: expected '2', not '1'"
    assert reason(kind, answer, expected, SCORERS[kind](answer, expected)) == why


# -- dollars ---------------------------------------------------------------------------------------


def _priced(answer: Callable[[Any], Any]) -> ScriptedModel:
    return ScriptedModel(answer, name="scripted:one", price=Price(1e6, 0.0))


def test_a_lost_attempt_leaves_what_is_known_of_the_dollars(tmp_path: Path) -> None:
    lost_once = iter([True])

    def answer(request: Any) -> Any:
        if next(lost_once, False):
            return TimeoutError()
        return "good"

    journal = tmp_path / "j.db"
    made = matrix(
        models=[_priced(answer)], prompts={"s": "Say good. {{ input.text }}"}, retry=Retry(1, 0.001)
    )
    result = run_matrix_sync(made, journal=journal, run="honest")
    state, page = recorded(result, journal)
    known = sum(each.usd_known for each in state.results)
    assert known > 0
    assert sum(each.usd is None for each in state.results) == 1
    assert f"≥ {known:.4f}" in page.lines[1]
    assert "≥ $" in Seen(page.html).text


def test_a_price_that_is_unknown_is_not_0(tmp_path: Path) -> None:
    journal = tmp_path / "j.db"
    model = ScriptedModel(lambda request: "good", name="scripted:one")
    made = matrix(models=[model], prompts={"s": "{{ input.text }}"})
    result = run_matrix_sync(made, journal=journal, run="honest")
    state, page = recorded(result, journal)
    for cells in (result.cells, state.results):
        assert {(each.usd, each.usd_known) for each in cells} == {(None, 0.0)}
    assert page.lines[1].endswith("unknown")
    expect = {"cost": ExpectationSpec.model_validate({"at_most": 1})}
    (cost,) = judge(None, "honest", state, expect)
    assert (cost.verdict, cost.why) == ("not judged", "some dollars are unknown")
    assert cost.measured == "unknown"


def test_the_headline_mean_leaves_controls_out(tmp_path: Path) -> None:
    journal = tmp_path / "j.db"
    model = ScriptedModel(lambda request: "good", name="scripted:one")
    made = matrix(models=[model], prompts={"s": "{{ input.text }}", "never": {"constant": "no"}})
    state, _ = recorded(run_matrix_sync(made, journal=journal, run="honest"), journal)
    shown = {each.name: (each.value, each.about) for each in tiles(state, analyse(state))}
    assert shown["exact"] == ("1.000", "mean of all but controls")
    assert shown["cells"] == ("16", "1 model, 2 strategies, 8 inputs")


# -- nothing came of it ----------------------------------------------------------------------------


async def always_crashes(subject: Subject) -> str:
    raise KeyError("label")


async def always_lost(subject: Subject) -> str:
    raise ModelUnreachable("no connection")


@pytest.mark.parametrize(
    ("strategy", "score", "verdict"),
    [
        (always_crashes, "0.000 [0.000, 0.324]", "refuted"),
        (always_lost, "-, 8 of 8 missing", "not judged"),
    ],
)
def test_where_every_cell_failed_there_are_scores_all_the_same(
    tmp_path: Path, strategy: Any, score: str, verdict: str
) -> None:
    journal = tmp_path / "j.db"
    result = run_matrix_sync(matrix(prompts={"s": strategy}), journal=journal, run="honest")
    assert score in result.table()
    state, page = recorded(result, journal)
    assert score in page.lines[1] and score in describe_run(state, fully=False)[1]
    assert score.removeprefix("-, ")[:5] in Seen(page.html).text
    expect = {"exact": ExpectationSpec.model_validate({"at_least": 0.5})}
    assert [each.verdict for each in judge(None, "honest", state, expect)] == [verdict]


def test_a_comparison_with_a_side_that_has_no_score_at_all_is_not_left_out(tmp_path: Path) -> None:
    journal = tmp_path / "j.db"
    prompts = {"sound": sound, "lost": always_lost, "crashes": crashes}
    made = matrix(prompts=prompts, failed_as="missing")
    _, page = recorded(run_matrix_sync(made, journal=journal, run="honest"), journal)
    text = "\n".join(page.lines)
    assert "lost and sound (exact): 8 of 8 pairs missing: 8 without a score of lost" in text
    assert "nothing to compare" in Seen(page.html).text


@pytest.mark.parametrize(("failed_as", "value"), [(0, 0.0), ("missing", None)])
def test_the_map_of_inputs_counts_failures_as_the_run_does(
    tmp_path: Path, failed_as: Any, value: float | None
) -> None:
    journal = tmp_path / "j.db"
    made = matrix(prompts={"crashes": crashes}, failed_as=failed_as)
    state, _ = recorded(run_matrix_sync(made, journal=journal, run="honest"), journal)
    rows = dict(input_map(analyse(state)).map.rows)
    assert [heat.value for heat in rows["i0"] if heat is not None] == [value]


@pytest.mark.parametrize(
    ("price", "said", "verdict"),
    [
        (Price(1e3, 0.0), "0.4320", "refuted"),
        (None, "unknown", "not judged"),
        (Price(1e-2, 0.0), "e-0", "proven"),
    ],
)
def test_what_judges_cost_stands_beside_what_answers_cost(
    tmp_path: Path, price: Price | None, said: str, verdict: str
) -> None:
    journal = tmp_path / "j.db"
    grading = ScriptedModel(
        lambda request: '{"score": 1, "reason": "fine"}', name="scripted:j", price=price
    )
    made = matrix(prompts={"s": sound}, score=[{"judge": "Is it good?", "model": grading}])
    state, page = recorded(run_matrix_sync(made, journal=journal, run="honest"), journal)
    for lines in (page.lines, describe_run(state, fully=False), end_of(state).output):
        (line,) = [each for each in lines if each.startswith("judges cost")]
        assert said in line and "0.0000" not in line
    assert {each.scores["judge"].reason for each in state.results} == {"fine"}
    (tile,) = [each for each in tiles(state, analyse(state)) if each.name == "dollars"]
    assert tile.about.startswith("and ") and tile.about.endswith(" for judges")
    expect = {"cost": ExpectationSpec.model_validate({"at_most": 0.1})}
    assert [each.verdict for each in judge(None, "honest", state, expect)] == [verdict]
