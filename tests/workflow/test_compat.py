"""spec-kit's schema 1.0, case by case: files in, states out. See `compat_case.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.cli.app import run_and_flush
from tests.cli.support import Place
from tests.marks import slow_after

from .compat_case import Answered, Case, all_cases, difference, holds, search_path

ALL = all_cases()
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "workflow-files.md"


def test_the_suite_is_as_large_as_it_says() -> None:
    assert len(ALL) >= 200
    assert sum(case.command_line for case in ALL) >= 5


def test_the_guide_lists_every_intended_difference_and_no_other() -> None:
    text = GUIDE.read_text().partition("## What differs from spec-kit")[2]
    listed = [line for line in text.splitlines() if line.startswith("| ")][1:]
    wanted = [difference(case) for case in ALL if case.differs]
    assert listed == wanted, "the rows should be:\n" + "\n".join(wanted)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_case(
    case: Case,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """In this process: the commands are called, and what they print is read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FANWISE_JOURNAL", raising=False)
    monkeypatch.setenv("PATH", search_path(tmp_path))

    def fanwise(*args: str) -> Answered:
        code = run_and_flush(list(args))
        return Answered(code, *capfdbinary.readouterr())

    case.set_up(tmp_path)
    case.play(tmp_path, fanwise)


@pytest.mark.parametrize(
    "case", slow_after(1, [case for case in ALL if case.command_line]), ids=lambda c: c.name
)
def test_a_case_on_the_command_line(case: Case, tmp_path: Path) -> None:
    """In processes of their own, each act in another."""
    place = Place(tmp_path)

    def fanwise(*args: str) -> Answered:
        done = place.process(*args, PATH=search_path(tmp_path))
        return Answered(done.returncode, done.stdout, done.stderr)

    case.set_up(tmp_path)
    case.play(tmp_path, fanwise)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [(1, True), (1, 1.0), ("1", 1), ([1], [1, 2]), ({"a": None}, {}), ({"a": 1}, {"a": 2})],
)
def test_what_differs_is_seen(wanted: object, found: object) -> None:
    assert not holds(wanted, found)
    assert holds({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "x", "more": 1}], "more": 2})


def test_the_environment_may_name_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FANWISE_JOURNAL", raising=False)
    monkeypatch.setenv("SPECKIT_WORKFLOW_RUN_ID", "from-ci")
    next(case for case in ALL if case.name == "fans/no-items").set_up(tmp_path)
    assert run_and_flush(["run", "w.yaml", "--json"]) == 0
    assert b'"run_id": "from-ci"' in capfdbinary.readouterr().out
    assert run_and_flush(["run", "w.yaml", "--json", "--run", "own"]) == 0
    assert b'"run_id": "own"' in capfdbinary.readouterr().out
