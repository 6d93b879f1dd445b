"""The scorers that run something: when they score again, and what is said if they cannot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from fanwise.matrix import CellResult, Matrix, run_matrix_sync
from fanwise.matrix.scores.scorers import Scorer


def matrix(folder: Path, score: dict[str, Any]) -> Matrix:
    return Matrix(
        "scored",
        inputs=[{"id": "a", "text": "hello"}],
        prompts={"copy": {"copy": "input.text"}},
        score=[{**score, "name": "s"}],
        folder=folder,
    )


def run(folder: Path, score: dict[str, Any]) -> CellResult:
    (cell,) = run_matrix_sync(matrix(folder, score), journal=folder / "j.db").cells
    return cell


def program(folder: Path, text: str) -> dict[str, Any]:
    (folder / "check.py").write_text(text)
    return {"command": [sys.executable, "check.py"]}


def scorer(folder: Path, score: dict[str, Any]) -> Scorer:
    return matrix(folder, score).compiled.scorers[0]


# -- again ----------------------------------------------------------------------------------------


def test_a_program_that_was_edited_scores_again_and_another_not(tmp_path: Path) -> None:
    (tmp_path / "counted").touch()
    count = "open('counted', 'a').write('x'); "
    for number, runs in (("0.25", 1), ("0.25", 1), ("0.75", 2)):
        cell = run(tmp_path, program(tmp_path, f"{count}print({number})"))
        assert cell.scores["s"].score == float(number)
        assert len((tmp_path / "counted").read_text()) == runs


def test_a_program_is_its_words_and_the_files_among_them(tmp_path: Path) -> None:
    score = program(tmp_path, "print(1)")
    before = scorer(tmp_path, score).identity
    (tmp_path / "other.py").write_text("print(1)")
    assert scorer(tmp_path, score).identity == before
    assert scorer(tmp_path, {"command": [*score["command"], "--strict"]}).identity != before
    assert scorer(tmp_path, {"command": [*score["command"], "."]}).identity != before


def test_a_judge_elsewhere_is_another_judge_and_one_for_another_price_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")

    def judge(**changes: Any) -> Any:
        model = {"name": "openai:judge", "base_url": "http://127.0.0.1:1/v1", **changes}
        return scorer(tmp_path, {"judge": "Is it polite?", "model": model}).identity

    assert judge() == judge(price={"input": 1.0, "output": 2.0})
    assert judge() != judge(base_url="http://127.0.0.1:2/v1")


# -- no score -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "score", "reason"),
    [
        ("print(0.25)", 0.25, "printed 0.25"),
        ("print('too short'); raise SystemExit(1)", 0.0, "too short"),
        ("", 1.0, "exit code 0"),
    ],
)
def test_a_program_gives_a_reason_too(tmp_path: Path, body: str, score: float, reason: str) -> None:
    found = run(tmp_path, program(tmp_path, body)).scores["s"]
    assert (found.score, found.reason) == (score, reason)


@pytest.mark.parametrize("printed", ["nan", "inf", "-Infinity"])
def test_a_program_that_prints_no_number_gives_no_score(tmp_path: Path, printed: str) -> None:
    score = run(tmp_path, program(tmp_path, f"print('{printed}')")).scores["s"]
    assert score.score is None
    assert score.error is not None and f"'s' printed {printed}: no score" in score.error


@pytest.mark.parametrize("given", [float("nan"), float("inf"), "0.5"])
def test_a_function_that_returns_no_number_gives_no_score(tmp_path: Path, given: Any) -> None:
    score = run(tmp_path, {"call": lambda answer, data: given}).scores["s"]
    assert score.score is None
    assert score.error is not None and f"'s' gave {given!r}" in score.error


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import os; os.kill(os.getpid(), 9)", "'s' was ended by SIGKILL"),
        ("raise SystemExit(3)", "'s' failed with exit code 3"),
        ("import sys; sys.stderr.write('no idea'); sys.exit(3)", "with exit code 3: no idea"),
    ],
)
def test_a_program_that_gives_no_score_is_told_by_how_it_ended(
    tmp_path: Path, text: str, words: str
) -> None:
    score = run(tmp_path, program(tmp_path, text)).scores["s"]
    assert score.score is None
    assert score.error is not None and words in score.error


def test_a_program_that_takes_too_long_is_told_by_that(tmp_path: Path) -> None:
    forever = program(tmp_path, "import signal; signal.pause()")
    score = run(tmp_path, {**forever, "timeout": 0.5}).scores["s"]
    assert score.error is not None and "'s' took longer than 0.5 s" in score.error
