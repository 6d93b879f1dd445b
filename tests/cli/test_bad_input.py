"""Bad input: a clear error on stderr, exit code 2, and nothing written, not even a directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fanwise.cli.app import run
from tests.cli.support import Place

BAD = [
    (["map", "--cap", "0", "--", "echo"], "--cap is 0"),
    (["map", "--cap", "-1", "--", "echo"], "--cap is -1"),
    (["map", "--cap", "x", "--", "echo"], "--cap must be a whole number"),
    (["map", "--retry", "-1", "--", "echo"], "--retry is -1"),
    (["map", "--timeout", "0", "--", "echo"], "--timeout is 0"),
    (["map", "--timeout", "nan", "--", "echo"], "--timeout is nan"),
    (["map", "--halt", "sometimes", "--", "echo"], "--halt 'sometimes'"),
    (["map", "--run", "../x", "--", "echo"], "'../x' is not a run id"),
    (["map", "--run", "", "--", "echo"], "'' is not a run id"),
    (["map", "--journal", "mysql://x", "--", "echo"], "'mysql://x'"),
    (["map"], "no command given"),
    (["map", "--", ""], "program is empty"),
    (["map", "--", "no-such-program"], "there is no program 'no-such-program'"),
    (["map", "--shell", "--", "echo $(( {} + 1 ))"], "arithmetic"),
    (["map", "--nonsense"], "--nonsense"),
    (["show", "x"], "there is no run 'x'"),
    (["resume", "x"], "there is no run 'x'"),
    (["cancel", "x"], "there is no run 'x'"),
    (["export", "x"], "there is no run 'x'"),
    (["show", "../x"], "'../x' is not a run id"),
    (["resume", "../x"], "'../x' is not a run id"),
    (["cancel", "../x"], "'../x' is not a run id"),
    (["export", "../x"], "'../x' is not a run id"),
    (["export", "x", "--format", "xml"], "--format: 'xml' is not one of"),
    (["nonsense"], "nonsense"),
]


@pytest.mark.parametrize(("arguments", "said"), BAD)
def test_bad_input_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    """In this process: nothing is begun, so there is nothing that needs one of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FANWISE_JOURNAL", raising=False)
    assert run(arguments) == 2
    told = capfd.readouterr()
    assert told.out == ""
    assert said in told.err
    assert told.err.startswith("fanwise: ")
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_leaves_nothing_on_stdout_and_no_traceback(place: Place) -> None:
    done = place.run("map", "--cap", "0", "--", "echo", given=b"a\n")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.splitlines()[0] == b"fanwise: --cap is 0"
    assert list(place.path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["map", "--cap", "x"], ["show", "x"]])
def test_with_json_the_error_is_a_document(place: Place, arguments: list[str]) -> None:
    done = place.run(*arguments, "--json", *(["--", "echo"] if arguments[0] == "map" else []))
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["message"]


def test_a_run_id_that_is_taken_is_refused_and_resume_is_named(place: Place) -> None:
    assert place.run("map", "--run", "r", "--", "true", given=b"a\n").returncode == 0
    done = place.run("map", "--run", "r", "--", "true", given=b"a\n")
    assert done.returncode == 2
    assert b"fanwise resume r" in done.stderr


def test_a_run_that_is_spelt_wrong_is_suggested(place: Place) -> None:
    place.run("map", "--run", "nightly", "--", "true", given=b"a\n")
    assert b"Did you mean 'nightly'?" in place.run("show", "nighty").stderr


def test_no_command_at_all_shows_the_help(place: Place) -> None:
    done = place.run()
    assert done.returncode == 2
    assert b"fanwise map" in done.stderr
