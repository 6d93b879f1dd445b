"""What changes in the user's repository during a run is recorded, and told by every command."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from fanwise.journal.open import open_journal
from fanwise.kernel.repository_watch import OUTSIDE_TITLE
from fanwise.optimize.system import SYSTEM
from tests.optimize.sleepy import give, judge, sleepy, variant
from tests.plan.support import run_cli
from tests.workspaces.support import git, make_repo, write

__all__ = ["sleepy"]

TOLD = ["file left.txt is new", "refs/tags/of-a-worker is new"]


def test_what_a_candidate_does_to_the_users_repository_is_told_by_all(sleepy: Path) -> None:
    repo, journal = sleepy / "project", sleepy / "j.db"
    give(sleepy, same=variant("same", 0.1))
    test = f"python run.py && git -C {repo} tag -f of-a-worker && touch {repo}/left.txt"
    result = judge(sleepy, test=test, journal=journal, run="r")
    lines = [f"{OUTSIDE_TITLE}:", *(f"  {each}" for each in TOLD)]
    assert result.notes[-3:] == lines
    with closing(open_journal(journal, read_only=True)) as opened:
        run = opened.run("r")
        assert SYSTEM.describe_run(opened, run, fully=False)[-3:] == lines
        report = SYSTEM.report(opened, run)
    assert report.document["outside"] == TOLD
    assert "<li>refs/tags/of-a-worker is new</li>" in report.html
    again = judge(sleepy, test=test, journal=journal, run="r")
    assert again.notes[-3:] == lines, "a resume tells it again"


def test_a_run_that_changes_nothing_there_says_nothing(sleepy: Path) -> None:
    write(sleepy / "project" / "dirty.txt", "mine\n")
    give(sleepy, same=variant("same", 0.1))
    result = judge(sleepy, journal=sleepy / "j.db", run="r")
    assert not any("your repository" in note for note in result.notes)
    with closing(open_journal(sleepy / "j.db", read_only=True)) as opened:
        assert SYSTEM.report(opened, opened.run("r")).document["outside"] == []


def test_with_hot_it_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    app = "def costly(n):\n    return sorted(-at for at in range(n))\n"
    main = "import app\nfor _ in 'nine': app.costly(9999)\n"
    repo = make_repo(tmp_path / "project", {"app.py": app, "main.py": main})
    reach = f"git -C {repo} tag -f of-a-worker && touch {repo}/left.txt"
    spec = {
        "repo": "project", "hot": 1, "hot_run": "python main.py", "test": reach, "sandbox": False,
        "candidates": {"propose": {"command": "false", "n": 1}},
    }  # fmt: skip
    write(tmp_path / "o.json", json.dumps({"optimize": spec}))
    assert run_cli("run", "o.json", "--json") == 1
    shown = json.loads(capfd.readouterr().out)
    assert shown["result"]["outside"] == TOLD
    git(repo, "tag", "-d", "of-a-worker")
    assert run_cli("show", shown["run"]) == 0
    assert "  refs/tags/of-a-worker is new" in capfd.readouterr().out
    with closing(open_journal(Path(".fanwise/journal.db"), read_only=True)) as opened:
        report = SYSTEM.report(opened, opened.run(shown["run"]))
    assert report.document["outside"] == TOLD
    assert "<li>refs/tags/of-a-worker is new</li>" in report.html
