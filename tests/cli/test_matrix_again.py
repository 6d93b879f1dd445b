"""`fanwise run` of a matrix once more: after an edit, in part, anew; and `fanwise score`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanwise.testing import Answer, ScriptedServer
from tests.cli.support import Place
from tests.cli.test_sample import command, serving

FILE = """\
matrix:
  name: reviews
  models: [openai:gpt-5-mini]
  inputs: {file: reviews.csv, id: id}
  prompts:
    plain: {prompt: "Good or bad? {{ input.text }}"}
    kind: {prompt: "Kindly: {{ input.text }}"}
  score: [{exact: input.label}, {call: "mine:score"}]
"""
REVIEWS = "id,text,label\n1,lovely,good\n2,awful,bad\n3,fine,good\n"
MINE = "def score(answer, given):\n    raise ValueError('not yet')\n"


def script(body: dict[str, Any]) -> Answer | str:
    return "bad" if "awful" in body["messages"][-1]["content"] else "good"


@pytest.fixture
def matrix(place: Place) -> Place:
    (place.path / "m.yaml").write_text(FILE)
    (place.path / "reviews.csv").write_text(REVIEWS)
    (place.path / "mine.py").write_text("def score(answer, given):\n    return 1.0\n")
    return place


def edit(place: Place, before: str, after: str) -> None:
    text = (place.path / "m.yaml").read_text()
    assert before in text
    (place.path / "m.yaml").write_text(text.replace(before, after))


def cells_of(stdout: bytes) -> dict[tuple[str, str], dict[str, Any]]:
    found = json.loads(stdout)["result"]["cells"]
    return {(cell["strategy"], cell["input"]): cell for cell in found}


def test_a_matrix_is_its_name_and_an_edit_asks_only_for_what_changed(
    matrix: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        first = await command(matrix, "run", "m.yaml", "--json")
        assert (first.returncode, json.loads(first.stdout)["run"]) == (0, "reviews")
        assert len(server.requests) == 6
        edit(matrix, "Kindly:", "Very kindly:")
        (matrix.path / "reviews.csv").write_text(REVIEWS.replace("fine", "fair"))
        second = await command(matrix, "run", "m.yaml", "--json")
        before, after = cells_of(first.stdout), cells_of(second.stdout)
        changed = {axes for axes in before if before[axes]["cell"] != after[axes]["cell"]}
        assert changed == {("kind", "1"), ("kind", "2"), ("kind", "3"), ("plain", "3")}
        assert len(server.requests) == 10
        # A resume goes on with the file as it is now, not as it was in the beginning.
        third = await command(matrix, "resume", "reviews", "--json")
        assert cells_of(third.stdout) == after
        assert len(server.requests) == 10

    serving(script, main, monkeypatch)


def test_only_and_rerun(matrix: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(server: ScriptedServer) -> None:
        args = ["--only", "strategy=plain", "--only", "input=1", "--only", "input=2"]
        some = await command(matrix, "run", "m.yaml", "--json", *args)
        assert set(cells_of(some.stdout)) == {("plain", "1"), ("plain", "2")}
        resumed = await command(matrix, "resume", "reviews", "--json")
        assert set(cells_of(resumed.stdout)) == {("plain", "1"), ("plain", "2")}
        assert len(server.requests) == 2
        whole = await command(matrix, "run", "m.yaml", "--json")
        assert len(server.requests) == 6
        one = cells_of(whole.stdout)["kind", "2"]["cell"]
        await command(matrix, "run", "m.yaml", "--rerun", one[:8])
        assert len(server.requests) == 7
        await command(matrix, "run", "m.yaml", "--rerun", "all", "--only", "strategy=plain")
        assert len(server.requests) == 10

    serving(script, main, monkeypatch)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--only", "strategy=plian"], ["no cell fits", "strategy: plain, kind", "input: 1, 2, 3"]),
        (["--only", "stratgy=plain"], ["no axis 'stratgy'", "model, strategy, input, repeat"]),
        (["--only", "plain"], ["AXIS=VALUE"]),
        (["--rerun", "zzz"], ["no cell's id begins with 'zzz'", "failed, all"]),
        (["--rerun", ""], ["no cell's id begins with ''", "failed, all"]),
    ],
)
def test_a_filter_that_matches_nothing_exits_2_and_lists_the_values(
    args: list[str], words: list[str], matrix: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        done = await command(matrix, "run", "m.yaml", *args)
        assert done.returncode == 2
        assert all(word in done.stderr.decode() for word in words)
        assert len(server.requests) == 0
        assert not (matrix.path / ".fanwise").exists()

    serving(script, main, monkeypatch)


def test_options_of_a_matrix_are_refused_for_other_files(place: Place) -> None:
    (place.path / "s.yaml").write_text("sample: {model: sim:one, prompt: hello}\n")
    done = place.run("run", "s.yaml", "--rerun", "all")
    assert done.returncode == 2
    assert b"--rerun is not an option of `sample`" in done.stderr


def test_answers_are_scored_again_without_paying(
    matrix: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    (matrix.path / "mine.py").write_text(MINE)

    async def main(server: ScriptedServer) -> None:
        first = await command(matrix, "run", "m.yaml", "--json")
        assert first.returncode == 1
        scores = cells_of(first.stdout)["plain", "2"]["scores"]
        assert scores["exact"] == {"score": 1.0, "reason": "as expected"}
        assert "not yet" in scores["score"]["error"]
        failed = await command(matrix, "score", "reviews")
        assert failed.returncode == 1 and b"fanwise score" in failed.stderr
        (matrix.path / "mine.py").write_text("def score(answer, given):\n    return 0.25\n")
        second = await command(matrix, "score", "reviews", "--json")
        assert second.returncode == 0
        assert {each["scores"]["score"]["score"] for each in cells_of(second.stdout).values()} == {
            0.25
        }
        edit(matrix, '{call: "mine:score"}', "{f1: input.label}")
        third = await command(matrix, "score", "reviews", "--file", "m.yaml", "--json")
        assert set(cells_of(third.stdout)["plain", "2"]["scores"]) == {"exact", "f1"}
        assert len(server.requests) == 6

    serving(script, main, monkeypatch)


def test_score_takes_of_another_file_only_its_scorers(
    matrix: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        first = await command(matrix, "run", "m.yaml", "--json")
        edit(matrix, "Kindly:", "Never asked:")
        edit(matrix, "name: reviews", "name: others")
        edit(matrix, '{call: "mine:score"}', "{f1: input.label}")
        done = await command(matrix, "score", "reviews", "--file", "m.yaml", "--json")
        before, after = cells_of(first.stdout), cells_of(done.stdout)
        assert {axes: cell["cell"] for axes, cell in after.items()} == {
            axes: cell["cell"] for axes, cell in before.items()
        }
        assert set(after["kind", "1"]["scores"]) == {"exact", "f1"}
        assert len(server.requests) == 6

    serving(script, main, monkeypatch)


def test_a_file_without_a_name_is_its_own_run(place: Place) -> None:
    text = "matrix: {inputs: [{id: a, x: b}], prompts: {one: {constant: %s}}}\n"
    (place.path / "first file.yaml").write_text(text % "p")
    (place.path / "second.yaml").write_text(text % "q")
    one = json.loads(place.run("run", "first file.yaml", "--json").stdout)
    two = json.loads(place.run("run", "second.yaml", "--json").stdout)
    assert (one["run"], two["run"]) == ("first-file", "second")
    assert b"first-file" in place.run("check", "first file.yaml").stdout


def test_score_asks_for_no_answer_that_is_missing(
    matrix: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        await command(matrix, "run", "m.yaml", "--only", "input=1")
        done = await command(matrix, "score", "reviews", "--file", "m.yaml", "--json")
        assert done.returncode == 0
        assert set(cells_of(done.stdout)) == {("plain", "1"), ("kind", "1")}
        assert len(server.requests) == 2

    serving(script, main, monkeypatch)


def test_score_is_for_runs_that_have_scores(place: Place) -> None:
    place.run("map", "--run", "m", "--", "cat", given=b"a\n")
    done = place.run("score", "m")
    assert done.returncode == 2 and b"has no scores (map)" in done.stderr


def test_show_tells_the_summary_and_with_items_every_cell(
    matrix: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(body: dict[str, Any]) -> Answer | str:
        return Answer(status=400) if "Kindly: fine" in str(body) else script(body)

    async def main(server: ScriptedServer) -> None:
        await command(matrix, "run", "m.yaml")
        told = (await command(matrix, "show", "reviews")).stdout.decode()
        assert "openai:gpt-5-mini  kind      3      1       1.000" in told
        assert "openai:gpt-5-mini kind 3 #0 (" in told
        assert "plain 1 #0" not in told
        assert max(map(len, told.splitlines())) < 400
        fully = (await command(matrix, "show", "reviews", "--items")).stdout.decode()
        assert "plain 1 #0" in fully and "exact 1, expected good: as expected" in fully

    serving(refusing, main, monkeypatch)
