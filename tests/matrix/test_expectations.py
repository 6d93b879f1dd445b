"""`expect:`: verdicts that are proven, refuted, undecided or not judged, and never too kind."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from fanwise.matrix.cells.cell import NO_MODEL
from fanwise.matrix.spec.matrix_spec import ExpectationSpec
from fanwise.matrix.state.expectations import Judge, Judgement
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.run_comparison import Side
from fanwise.matrix.state.spending import Spending
from fanwise.matrix.stats.data import DEFAULTS, Scored
from fanwise.matrix.views.text import end_of
from tests.cli.support import Place


def write(place: Place, right: int, of: int = 60, name: str = "gate", **more: Any) -> None:
    """A matrix without a model, of which so many answers are right."""
    inputs = [{"id": f"i{n}", "guess": "good" if n < right else "bad", "label": "good"}
              for n in range(of)]  # fmt: skip
    matrix = {"name": name, "inputs": inputs, "prompts": {"guess": {"copy": "input.guess"}},
              "score": [{"exact": "input.label"}], **more}  # fmt: skip
    (place.path / "m.yaml").write_text(yaml.safe_dump({"matrix": matrix}))


def judged(place: Place, *more: str) -> tuple[int, dict[str, tuple[str, str]]]:
    done = place.run("run", "m.yaml", "--json", *more)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)["result"]["expectations"]
    return done.returncode, {each["expectation"]: (each["verdict"], each["why"]) for each in found}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("bound", "verdict", "code"),
    [({"at_least": 0.7}, "proven", 0), ({"at_least": 0.93}, "undecided", 0),
     ({"at_least": 0.99}, "refuted", 4), ({"at_most": 0.5}, "refuted", 4),
     ({"at_least": 0.7, "at_most": 0.99}, "proven", 0)],
)  # fmt: skip
def test_a_bound_is_judged_by_the_whole_interval(
    place: Place, bound: dict[str, float], verdict: str, code: int
) -> None:
    """54 of 60: 0.9, from 0.80 to 0.95."""
    write(place, 54, expect={"exact": bound})
    assert place.run("run", "m.yaml").stdout.count(verdict.encode()) == 1
    assert [each[0] for each in judged(place)[1].values()] == [verdict]
    assert judged(place)[0] == code


def test_a_run_is_held_against_its_baseline(place: Place) -> None:
    expect = {"no_worse_than": {"run": "gate@baseline", "by": 0.1}}
    write(place, 54, expect=expect)
    ((wanted, found),) = judged(place)[1].items()
    assert wanted == "no worse than gate@baseline by 0.1"
    assert found[0] == "not judged" and "no baseline" in found[1], "never proven"
    assert judged(place)[0] == 1
    assert place.run("baseline", "gate").returncode == 0
    assert judged(place) == (0, {wanted: ("proven", "this version is that one")})
    write(place, 55, expect=expect)
    assert judged(place) == (1, {wanted: ("not judged", "inputs with other fields: i54")})


def edited(place: Place, constant: str) -> None:
    """The same inputs, and another answer."""
    text = (place.path / "m.yaml").read_text()
    made = yaml.safe_load(text)
    made["matrix"]["prompts"]["guess"] = {"constant": constant}
    (place.path / "m.yaml").write_text(yaml.safe_dump(made))


def test_an_edit_that_makes_it_worse_is_refuted_and_one_that_does_not_is_proven(
    place: Place,
) -> None:
    write(place, 54, expect={"no_worse_than": {"run": "gate@baseline", "by": 0.1}})
    judged(place)
    place.run("baseline", "gate")
    edited(place, "bad")
    code, found = judged(place)
    assert (code, [each[0] for each in found.values()]) == (4, ["refuted"])
    edited(place, "good")
    code, found = judged(place)
    assert (code, [each[0] for each in found.values()]) == (0, ["proven"])
    report = json.loads(place.run("report", "gate", "--json").stdout)
    assert [each["verdict"] for each in report["expectations"]] == ["proven"]
    earlier = json.loads(place.run("report", "gate@2", "--json").stdout)
    assert [each["verdict"] for each in earlier["expectations"]] == ["refuted"]
    assert "refuted" in (place.path / "gate@2.html").read_text()


def row(model: str, number: int, score: float) -> dict[str, Any]:
    return {"cell": f"{model}{number}", "model": model, "strategy": "s", "input": f"i{number}",
            "repeat": 1, "status": "done", "score_exact": score}  # fmt: skip


def test_controls_do_not_hide_a_difference_and_a_run_may_be_judged_in_part() -> None:
    """A control answers as ever, so it would make every difference smaller."""

    def side(name: str, score: float) -> Side:
        controls = [row(NO_MODEL, number, 1.0) for number in range(180)]
        rows = [row("m", number, score) for number in range(20)]
        return Side(name, [*controls, *rows, *(row("n", number, 1.0) for number in range(90))])

    judge = Judge(Cells([]), side("now", 0.0), lambda _: side("then", 1.0))
    spec = {"run": "then", "by": 0.3}
    wanted = {"m": "refuted", "n": "proven"}
    for model, verdict in wanted.items():
        asked = ExpectationSpec.model_validate({**spec, "model": model})
        assert [each.verdict for each in judge.judge({"no_worse_than": asked})] == [verdict]
    (both,) = judge.judge({"no_worse_than": ExpectationSpec.model_validate(spec)})
    assert both.measured.startswith("-0.111"), "20 of 90 inputs lose a half; no control is in it"


def test_an_exported_file_is_a_baseline_too(place: Place) -> None:
    write(place, 54, name="first")
    place.run("run", "m.yaml")
    place.run("export", "first", "-o", str(place.path / "old.jsonl"))
    path = str(place.path / "old.jsonl")
    write(place, 54, expect={"no_worse_than": {"run": path, "by": 0.1}})
    code, found = judged(place)
    assert (code, [each[0] for each in found.values()]) == (0, ["proven"])
    write(place, 54, expect={"no_worse_than": {"run": "gone.jsonl"}})
    code, found = judged(place)
    assert (code, [each[0] for each in found.values()]) == (1, ["not judged"])


def test_what_did_not_run_is_not_judged_and_cost_and_failures_are_counted(place: Place) -> None:
    expect = {"exact": {"at_least": 0.5}, "cost": {"at_most": 1}, "failed": {"at_most": 0}}
    write(place, 60, expect=expect)
    code, found = judged(place, "--only", "input=i0")
    assert (code, {each[0] for each in found.values()}) == (1, {"not judged"})
    code, found = judged(place)
    assert (code, {each[0] for each in found.values()}) == (0, {"proven"})
    versions = json.loads(place.run("runs", "--name", "gate", "--json").stdout)["versions"]
    assert len(versions["gate"]) == 1, "to ask for some of the cells is no edit"


def test_junit_has_a_test_for_each_expectation_and_nothing_of_an_earlier_run(place: Place) -> None:
    expect = {"exact": {"at_least": 0.99}, "failed": {"at_most": 0},
              "no_worse_than": {"run": "nobody@1"}, "latency_p95": {"at_most": "3s"}}  # fmt: skip
    write(place, 54, expect=expect)
    assert judged(place, "--junit", "gate.xml")[0] == 4
    suite = ElementTree.parse(place.path / "gate.xml").getroot()
    kinds = {test.attrib["name"].split()[0]: [child.tag for child in test] for test in suite}
    assert kinds == {"exact": ["failure"], "failed": ["system-out"], "no": ["error"],
                     "latency_p95": ["skipped"]}  # fmt: skip
    assert [suite.attrib[each] for each in ("tests", "failures", "errors", "skipped")] == [*"4111"]
    write(place, 54)
    assert place.run("run", "m.yaml", "--junit", "gate.xml").returncode == 2, "no expectations"
    write(place, 54, expect=expect)
    assert place.run("run", "m.yaml", "--junit", "no/such/gate.xml").returncode == 2
    crashed = place.run("run", "m.yaml", "--new", "--junit", "gate.xml",
                        FANWISE_CRASH_AT="item.worked:3")  # fmt: skip
    assert crashed.returncode == -9 and not (place.path / "gate.xml").exists()


@pytest.mark.parametrize(
    "wrong",
    [{"exakt": {"at_least": 1}}, {"exact": {"run": "x"}}, {"cost": {"at_least": 1}},
     {"no_worse_than": {"at_least": 1}}, {"exact": {}},
     {"failed": {"at_most": 0, "model": "a"}}, {"cost": {"at_most": 1, "strategy": "s"}},
     {"exact": {"at_least": 0.8, "by": 0.1}}, {"exact": {"at_least": 0.9, "at_most": 0.1}}],
)  # fmt: skip
def test_what_cannot_be_judged_is_refused_before_anything_runs(
    place: Place, wrong: dict[str, Any]
) -> None:
    write(place, 3, of=4, expect=wrong)
    done = place.run("check", "m.yaml")
    assert done.returncode == 2 and b"expect" in done.stderr


class Cells(MatrixState):
    """Cells as the analysis takes them."""

    def __init__(self, cells: list[Scored]) -> None:
        self.options = DEFAULTS
        self._cells = cells

    @property
    def scored(self) -> list[Scored]:
        return self._cells


def judge(cells: list[Scored], name: str, **spec: Any) -> Judgement:
    judge = Judge(Cells(cells), Side("own", []), lambda _: None)
    (found,) = judge.judge({name: ExpectationSpec.model_validate(spec)})
    return found


def cell(number: int, ran_s: float = 1.0, **more: Any) -> Scored:
    axes = {"model": "m", "strategy": "s", "input": f"i{number}", "repeat": "1"}
    made = {"status": "done", "scores": {"exact": 1.0}, **more}
    return Scored(str(number), axes, ran_s=ran_s, **made)


def test_latency_is_judged_by_the_share_that_is_slower() -> None:
    fast, slow = [cell(n) for n in range(100)], [cell(n, 5.0) for n in range(100, 120)]
    assert judge(fast, "latency_p95", at_most="3s").verdict == "proven"
    few = judge(fast[:40], "latency_p95", at_most="3s")
    assert few.verdict == "undecided", "too few to say"
    assert few.why == "0.000 [0.000, 0.088] of calls are slower, and 0.05 may be"
    assert judge(fast + slow, "latency_p95", at_most="3s").verdict == "refuted"
    cached = [cell(n, 0.0, cached=True) for n in range(100)]
    assert judge(cached, "latency_p95", at_most="3s").verdict == "not judged"
    lost = [*fast, cell(200, status="failed", scores={}, fault="provider")]
    assert judge(lost, "latency_p95", at_most="3s").verdict == "not judged"


def test_a_latency_is_not_refuted_by_what_this_process_adds_to_it() -> None:
    """20 of 120 calls are slower than 3 s; without the lag of this process none is."""
    fast = [cell(n) for n in range(100)]
    late = [cell(n, 5.0, lag_s=2.5, in_flight=64) for n in range(100, 120)]
    found = judge(fast + late, "latency_p95", at_most="3s")
    assert found.verdict == "undecided"
    assert found.why.endswith("at 64 in flight this process adds 2,500 ms: lower the cap or use "
                              "more workers")  # fmt: skip
    slow = [cell(n, 5.0, lag_s=1.5, in_flight=64) for n in range(100, 120)]
    assert judge(fast + slow, "latency_p95", at_most="3s").verdict == "refuted"
    assert judge(fast, "latency_p95", at_most="3s").verdict == "proven"


def test_a_cost_that_is_too_high_is_not_shown_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = SimpleNamespace(usd=2e-5, scoring_usd=0.0)
    monkeypatch.setattr(Cells, "results", [spent])
    monkeypatch.setattr(Cells, "waiting", [])
    found = judge([], "cost", at_most=1e-5)
    assert (found.verdict, found.measured) == ("refuted", "2.0e-05")


def test_missing_scores_and_too_few_inputs_prove_nothing() -> None:
    many = [cell(n) for n in range(100)]
    assert judge(many, "exact", at_least=0.9).verdict == "proven"
    assert judge([*many, cell(100, scores={"exact": None})], "exact", at_least=0.9).verdict == (
        "not judged"
    )
    waiting = cell(100, status="waiting", scores={})
    assert judge([*many, waiting], "exact", at_least=0.9).verdict == "not judged"
    graded = [cell(n, scores={"exact": 0.9 + n / 100}) for n in range(5)]
    assert judge(graded, "exact", at_least=0.6).verdict == "undecided", "they prove a half, no more"
    assert judge([], "exact", at_least=0.5).verdict == "not judged"


def test_a_control_need_not_meet_what_is_expected_of_models() -> None:
    axes = {"model": NO_MODEL, "strategy": "never", "repeat": "1"}
    wrong = [Scored(f"c{n}", {**axes, "input": f"i{n}"}, "done", {"exact": 0.0}) for n in range(99)]
    found = judge([*wrong, *(cell(n) for n in range(99))], "exact", at_least=0.9)
    assert (found.of, found.verdict) == ("m s", "proven")
    assert judge(wrong, "exact", at_least=0.9).verdict == "refuted", "where there is nothing else"


def test_a_verdict_is_as_sure_as_the_file_asks() -> None:
    cells = [cell(n, scores={"exact": float(n < 54)}) for n in range(60)]
    assert judge(cells, "exact", at_least=0.85).verdict == "undecided"
    assert judge(cells, "exact", at_least=0.85, confidence=0.5).verdict == "proven"


def test_a_gate_that_wants_proof_fails_where_there_is_none(place: Place) -> None:
    """54 of 60: 0.9, from 0.80 to 0.95."""
    strict = {"exact": {"at_least": 0.93, "undecided": "fail"}, "failed": {"at_most": 0}}
    write(place, 54, expect=strict)
    done = place.run("run", "m.yaml", "--junit", "gate.xml")
    assert done.returncode == 1 and b"undecided" in done.stdout
    assert b"1 of 2 expectations undecided" in done.stderr and b"not counted" not in done.stderr
    suite = ElementTree.parse(place.path / "gate.xml").getroot()
    assert [suite.attrib[each] for each in ("failures", "errors", "skipped")] == [*"010"]
    write(place, 54, expect={"exact": {"at_least": 0.7, "undecided": "fail"}})
    assert judged(place)[0] == 0, "it is proven"
    write(place, 54, expect={"exact": {"at_least": 0.99, "undecided": "fail"}})
    assert judged(place)[0] == 4, "refuted is refuted"


def test_undecided_is_said_aloud_and_is_no_failure() -> None:
    found = [
        Judgement("exact at least 0.8", "m s", "0.8 [0.4, 0.9]", "undecided"),
        Judgement("failed at most 0", "all", "0", "proven"),
    ]
    end = end_of(MatrixState([], Spending()), found)
    note, more = [each for each in end.notes if "undecided" in each]
    assert note.startswith("1 of 2 expectations undecided: neither proven nor refuted")
    assert more == "  1 of them not counted as a failure: to count them, `undecided: fail`"
    assert end.exit_code == 0
    assert not end_of(MatrixState([], Spending()), found[1:]).notes
