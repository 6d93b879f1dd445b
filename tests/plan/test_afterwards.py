"""After a plan has ended: its result is applied, rolled back, and told as it is."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from fanwise.journal.open import open_journal
from fanwise.plan.system import SYSTEM
from tests.plan.support import git, make_repo, packages, run_cli, write_plan

SPLIT = {"mode": "directory", "max_files": 1, "min_files": 1}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan in which one of three sub-plans makes the check fail."""
    monkeypatch.chdir(tmp_path)
    edit = "for f in {files}; do case $f in p02*) echo BAD;; *) echo good;; esac >> $f; done"
    write_plan(
        tmp_path, each={"command": edit}, check="! grep -rn BAD p*", split=SPLIT, sandbox=False
    )
    return make_repo(tmp_path / "repo", packages(3, files=1))


def page() -> str:
    with closing(open_journal(Path(".fanwise/journal.db"), read_only=True)) as opened:
        return SYSTEM.report(opened, opened.run("plan")).html


def test_the_result_of_a_bisection_is_applied_without_asking_for_it_again(
    repo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli("run", "plan.json", "--yes") == 1
    assert run_cli("resume", "plan", "--bisect") == 1
    assert "fanwise resume plan --apply" in capfd.readouterr().out
    assert run_cli("resume", "plan", "--apply", "--json") == 1
    result = json.loads(capfd.readouterr().out)["result"]
    assert result["applied"] == ["p00/m0.py", "p01/m0.py"]
    assert (repo / "p01/m0.py").read_text().endswith("good\n")
    assert "BAD" not in (repo / "p02/m0.py").read_text()


def test_what_was_applied_and_rolled_back_is_told_by_show_and_the_report(
    repo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def shown() -> str:
        capfd.readouterr()
        assert run_cli("show", "plan") == 0
        return capfd.readouterr().out

    assert run_cli("run", "plan.json", "--yes", "--bisect") == 1
    assert "in the work tree" not in shown()
    assert run_cli("resume", "plan", "--apply") == 1
    assert "in the work tree: applied" in shown()
    assert run_cli("resume", "plan") == 1
    assert "in the work tree: applied" in shown()
    assert run_cli("resume", "plan", "--rollback") == 0
    told = shown()
    assert "in the work tree: rolled back" in told
    assert "removed by a rollback" in told
    assert "In the work tree: rolled back" in page()
    assert git(repo, "branch", "--list", "fanwise/*") == ""
    assert run_cli("resume", "plan") == 1
    assert git(repo, "branch", "--list", "fanwise/*") != ""
    assert "rolled back" not in shown()


def test_the_badge_of_a_report_says_what_is_missing(repo: Path) -> None:
    assert run_cli("run", "plan.json", "--yes") == 1
    assert '<span class="status">done: the check failed</span>' in page()
    assert run_cli("resume", "plan", "--bisect") == 1
    badge = '<span class="status">done: 1 of 3 sub-plans not in the result</span>'
    assert badge in page()
    write_plan(Path(), each={"command": "echo good >> {files}"}, split=SPLIT, sandbox=False)
    assert run_cli("run", "plan.json", "--yes") == 0
    assert '<span class="status good">done</span>' in page()
