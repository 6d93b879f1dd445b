"""`fanwise compare`: runs matched by input and repeat, with edited prompts and missing cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fanwise.errors import ModelUnreachable, UsageError
from fanwise.matrix import Matrix, exact, run_matrix_sync
from fanwise.matrix.state.run_comparison import Side, compare_sides
from fanwise.matrix.views.run_comparison import comparison_lines
from fanwise.testing import ScriptedModel
from tests.cli.support import Place
from tests.view.seen import Seen

HOSTILE = "</script><script>window.pwned=1</script>"


def rows(n: int, changed: int = -1) -> list[dict[str, Any]]:
    return [{"id": f"i{k}", "text": "new" if k == changed else "old", "label": "good"}
            for k in range(n)]  # fmt: skip


def answer(request: Any) -> Any:
    prompt, given = request.messages[-1].content.split(" ", 1)
    if given == "i0":
        return "good" if prompt == "Before" else HOSTILE
    if given == "i1" and prompt == "After":
        return ModelUnreachable("no connection")
    return "good" if prompt == "After" else "bad"


def record(folder: Path, name: str, inputs: list[dict[str, Any]], strategy: str) -> None:
    model = ScriptedModel(answer, name="scripted:one")
    prompts = {strategy: f"{strategy.capitalize()} {{{{ input.id }}}}"}
    made = Matrix(
        name, models=[model], inputs=inputs, prompts=prompts, score=[exact("label")], retry=0
    )
    run_matrix_sync(made, run=name, journal=folder / ".fanwise" / "journal.db")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs: an edited prompt, an input that changed, a new one, and a cell without a score."""
    found = tmp_path_factory.mktemp("compare")
    (found / ".fanwise").mkdir()
    record(found, "first", rows(8), "before")
    record(found, "second", rows(9, changed=7), "after")
    place = Place(found)
    done = place.run("compare", "first", "second", "--json")
    assert done.returncode == 0, done.stderr
    (found / "document.json").write_bytes(done.stdout)
    return found


def test_cells_are_matched_whatever_changed_and_what_is_not_compared_is_listed(
    folder: Path,
) -> None:
    (found,) = json.loads((folder / "document.json").read_text())["comparisons"]
    assert found["renamed"]["strategy"] == {"before": "after"}
    assert found["unmatched"] == {
        "inputs only in second": ["i8"],
        "inputs with other fields": ["i7"],
    }
    (contrast,) = found["contrasts"]
    assert (found["pairs"], contrast["pairs"], contrast["only_second"]) == (7, 6, 1)
    assert (contrast["first_better"], contrast["second_better"]) == (5, 1)
    assert contrast["difference"]["value"] == pytest.approx(4 / 6)
    flipped = [(each["after"]["input"], each["after"]["score_exact"])
               for each in found["flipped"]["exact"]]  # fmt: skip
    assert flipped[0] == ("i0", 0.0) and len(flipped) == 6
    assert any(line.startswith("-") and "Before" in line for line in found["diff"])
    assert any(line.startswith("+") and "After" in line for line in found["diff"])


def test_the_terminal_says_what_changed_first_and_what_flipped(folder: Path) -> None:
    done = Place(folder).run("compare", "first", "second")
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"fanwise: the comparison is in compare.html\n")
    assert "strategy: before → after" in text
    assert "not compared: inputs with other fields: i7" in text
    assert "failed: second 1 of 7, first 0 of 7" in text
    assert "exact: 1 of 7 pairs missing: 1 without a score of second" in text
    assert text.index("exact: 6 cells changed, the worst first") < text.index("i0 #0")
    page = Seen((folder / "compare.html").read_text())
    assert page.active == [] and HOSTILE not in (folder / "compare.html").read_text()


def test_a_file_that_was_exported_stands_for_its_run(folder: Path) -> None:
    place = Place(folder)
    assert place.run("export", "first", "-o", "first.jsonl").returncode == 0
    done = place.run("compare", "first.jsonl", "second", "-o", "x.html", "--json")
    (found,) = json.loads(done.stdout)["comparisons"]
    (other,) = json.loads((folder / "document.json").read_text())["comparisons"]
    assert found["contrasts"][0]["p"] == other["contrasts"][0]["p"]
    assert (found["before"], found["diff"]) == ("first.jsonl", [])


def test_two_files_of_the_same_name_are_two_sides(folder: Path) -> None:
    place = Place(folder)
    for name in ("first", "second"):
        (folder / f"of_{name}").mkdir()
        place.run("export", name, "-o", f"of_{name}/cells.jsonl")
    files = ("of_first/cells.jsonl", "of_second/cells.jsonl")
    (found,) = json.loads(place.run("compare", *files, "-o", "y.html", "--json").stdout)[
        "comparisons"
    ]
    (other,) = json.loads((folder / "document.json").read_text())["comparisons"]
    assert (found["before"], found["after"]) == files
    assert found["contrasts"][0]["difference"] == other["contrasts"][0]["difference"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["first"], "at least two runs"),
        (["first", "first"], "each once"),
        (["first", "nothing"], "nothing"),
        (["gone.jsonl", "first"], "cannot read gone.jsonl"),
        (["first", "cells.csv"], "cells.csv is not JSON lines"),
    ],
)
def test_what_cannot_be_compared_is_refused(folder: Path, given: list[str], said: str) -> None:
    done = Place(folder).run("compare", *given)
    assert done.returncode == 2 and said in done.stderr.decode()


def test_rows_of_something_else_and_runs_without_a_common_input_are_refused() -> None:
    cell = {"cell": "c", "model": "m", "strategy": "s", "repeat": 0, "status": "done"}
    one, two = (Side(name, [{**cell, "input": name}]) for name in ("a", "b"))
    with pytest.raises(UsageError, match="no cell in common"):
        compare_sides(one, two)
    with pytest.raises(UsageError, match="cells of a matrix"):
        compare_sides(one, Side("b", [{"key": 1}]))


def test_several_values_of_an_axis_on_one_side_are_listed_and_not_guessed() -> None:
    def side(name: str, *strategies: str) -> Side:
        return Side(name, [
            {"cell": f"{s}", "model": "m", "strategy": s, "input": "i", "repeat": 0,
             "status": "done", "score_exact": 1.0}
            for s in strategies
        ])  # fmt: skip

    found = compare_sides(side("a", "same", "x"), side("b", "same", "y", "z"))
    assert len(found.pairs) == 1
    assert found.unmatched["strategies only in a"] == ["x"]
    assert found.unmatched["strategies only in b"] == ["y", "z"]


def test_what_got_worse_most_comes_first_whatever_the_order_of_the_cells() -> None:
    def side(name: str, scores: list[float]) -> Side:
        return Side(name, [
            {"cell": f"c{n}", "model": "m", "strategy": "s", "input": f"i{n}", "repeat": 1,
             "status": "done", "score_graded": score}
            for n, score in enumerate(scores)
        ])  # fmt: skip

    found = compare_sides(side("a", [0.5, 0.9, 0.4, 0.8]), side("b", [0.9, 0.7, 0.4, 0.1]))
    assert [pair.after["input"] for pair in found.flipped("graded")] == ["i3", "i1", "i0"]


def test_cells_of_one_side_are_counted_and_scores_are_corrected_together() -> None:
    def side(name: str, repeats: int, right: int) -> Side:
        scores = [{"score_exact": float(n < right), "score_f1": n < right} for n in range(12)]
        return Side(name, [
            {"cell": f"c{n}.{r}", "model": "m", "strategy": "s", "input": f"i{n}", "repeat": r,
             "status": "done", **scores[n]}
            for n in range(12) for r in range(repeats)
        ])  # fmt: skip

    found = compare_sides(side("a", 2, 12), side("b", 1, 5))
    assert (len(found.pairs), found.unmatched) == (12, {"cells of one side only": ["12"]})
    one, two = found.contrasts
    assert one.p is not None and 0 < one.p < 0.05 and one.p == two.p
    assert one.p_holm == two.p_holm == 2 * one.p


def test_controls_hide_no_difference_and_no_latency() -> None:
    def side(name: str, score: float) -> Side:
        cell = {"repeat": 0, "status": "done"}
        asked = [{**cell, "cell": f"c{n}", "model": "m", "strategy": "s", "input": f"i{n}",
                  "score_exact": score, "ran_s": 2.0} for n in range(4)]  # fmt: skip
        control = [{**each, "cell": f"x{each['input']}", "model": "-", "strategy": "always",
                    "score_exact": 0.5, "ran_s": 0.0} for each in asked]  # fmt: skip
        return Side(name, [*asked, *control])

    found = compare_sides(side("a", 1.0), side("b", 0.0))
    assert (found.contrasts[0].difference.value, len(found.pairs)) == (-1.0, 4)
    assert [each.ran_s.p50 for each in found.summaries] == [2.0, 2.0]
    assert found.unmatched == {"controls": ["always"]}
    # Where there are only controls, these are what is compared.
    one, two = (msgspec.structs.replace(s, rows=s.rows[4:]) for s in (side("a", 1), side("b", 0)))
    assert len(compare_sides(one, two).pairs) == 4


@pytest.mark.parametrize(("failed_as", "pairs", "change"), [(0.0, 2, -0.5), (None, 1, 0.0)])
def test_a_failure_counts_as_its_run_counts_it(
    failed_as: float | None, pairs: int, change: float
) -> None:
    def side(name: str, *second: Any) -> Side:
        cell = {"model": "m", "strategy": "s", "repeat": 0}
        status, fault, score = second
        return Side(name, [
            {**cell, "cell": "1", "input": "i1", "status": "done", "score_exact": 1.0},
            {**cell, "cell": "2", "input": "i2", "status": status, "fault": fault,
             "score_exact": score},
        ])  # fmt: skip

    found = compare_sides(side("a", "done", None, 1.0), side("b", "failed", "strategy", failed_as))
    (contrast,) = found.contrasts
    assert (contrast.pairs, contrast.difference.value) == (pairs, change)
    assert (contrast.failed_first, contrast.missing) == (1, 2 - pairs)
    assert ["b", "1"] in [line.split()[:2] for line in comparison_lines(found)], "also unscored"
