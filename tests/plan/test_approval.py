"""Plans are approved before they spend: at a terminal, by --yes, or by being called."""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from fanwise.specs import read, system
from fanwise.specs.system import ApprovedRunnable, runnable_of
from fanwise.testing import ScriptedModel
from tests.cli.support import COMMAND, DEADLINE_S
from tests.plan.support import (
    commit,
    git,
    make_repo,
    packages,
    run_cli,
    unchanged,
    write,
    write_plan,
)

FLOW = {"workflow": {"id": "w", "name": "w"}}
EACH = {"command": "for f in {files}; do echo '# done' >> $f; done"}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_plan(tmp_path, each=EACH)
    return make_repo(tmp_path / "repo", packages(3))


def at_a_terminal(folder: Path, answer: bytes, *words: str) -> tuple[int, str]:
    """What is seen there, and the exit code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *words], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder,
        env={**os.environ, "TERM": "dumb", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, answer)
    got = b""
    while chunk := _read(ours):
        got += chunk
    os.close(ours)
    return process.wait(DEADLINE_S), got.decode().replace("\r\n", "\n")


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 1 << 16)
    except OSError:  # Linux's end of file on a terminal
        return b""


def test_at_a_terminal_it_is_shown_and_asked_and_the_default_is_no(repo: Path) -> None:
    with unchanged(repo):
        code, seen = at_a_terminal(repo.parent, b"\n", "run", "plan.json")
    assert code == 1
    assert "3 sub-plans of 6 files" in seen
    assert "3 commands to run" in seen
    assert "Run 3 sub-plans? [y/N]" in seen
    assert "not approved; nothing was spent" in seen
    assert not (repo.parent / ".fanwise").exists(), "nothing was recorded"
    code, seen = at_a_terminal(repo.parent, b"y\n", "run", "plan.json")
    assert code == 0
    assert "3 sub-plans: 3 done" in seen


def test_without_a_terminal_it_needs_a_yes(repo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with unchanged(repo):
        assert run_cli("run", "plan.json") == 2
    told = capfd.readouterr().err
    assert (
        "there is no terminal to ask at\n  Review it with `fanwise check`, then add --yes" in told
    )
    assert not (repo.parent / ".fanwise").exists()
    assert run_cli("run", "plan.json", "--yes") == 0
    assert run_cli("run", "plan.json") == 0, "nothing new would run"
    write(repo / "p01/m0.py", "VALUE = 'edited'\n")
    commit(repo)
    capfd.readouterr()
    assert run_cli("run", "plan.json") == 2
    told = capfd.readouterr().err
    assert "1 command to run; 2 of 3 are known from before" in told
    assert run_cli("run", "plan.json", "--yes", "--json") == 0
    found = json.loads(capfd.readouterr().out)["result"]
    assert found["base"] == git(repo, "rev-parse", "HEAD")


def test_what_a_model_would_cost_is_estimated_by_its_price(repo: Path) -> None:
    write_plan(
        repo.parent, each={"model": {"name": "openai:x", "price": {"input": 1, "output": 2}}}
    )
    document = read("plan.json")
    document.objects["openai:x"] = ScriptedModel([])
    plan = runnable_of(system("plan"), document, {})
    assert isinstance(plan, ApprovedRunnable)
    approval = plan.approval(None, None)
    assert approval is not None
    (line,) = [line for line in approval.lines if "requests" in line]
    tokens = sum(leaf.tokens for leaf in plan.resolved.tree.leaves)  # type: ignore[attr-defined]
    sent = int(line.partition("about ")[2].partition(" ")[0].replace(",", ""))
    assert 3 * 200 < sent < 3 * 1_000, "rules and goal: these files import nothing"
    usd = (sent + 2 * tokens) / 1e6
    assert line == (
        f"3 requests, about {sent:,} tokens in and {tokens} out, ${usd:.4g}, if none is tried again"
    )


def test_check_and_dry_run_ask_and_write_nothing(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with unchanged(repo):
        assert run_cli("check", "plan.json", "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert run_cli("run", "plan.json", "--dry-run") == 0
    assert found["scorecard"]["leaves"] == 3
    assert found["estimate"]["leaves"] == 3
    assert not (repo.parent / ".fanwise").exists()


def test_a_step_of_a_workflow_is_not_asked_about(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [{"id": "migrate", "type": "plan", "file": "plan.json"}]
    write(
        repo.parent / "flow.yaml",
        json.dumps({"workflow": {"id": "w", "name": "w"}, "steps": steps}),
    )
    assert run_cli("run", "flow.yaml") == 0
    assert git(repo, "for-each-ref", "refs/heads/fanwise").count("\n") == 0
    assert git(repo, "branch", "--list", "fanwise/*")


def test_yes_means_nothing_to_others(repo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(
        repo.parent / "flow.yaml", json.dumps({"workflow": {"id": "w", "name": "w"}, "steps": []})
    )
    assert run_cli("run", "flow.yaml", "--yes") == 2
    assert "--yes is not an option of `workflow`" in capfd.readouterr().err


def test_a_run_begins_in_a_journal_that_a_kill_left_empty(repo: Path, tmp_path: Path) -> None:
    """Killed after the file was made, and before its tables were."""
    (tmp_path / ".fanwise").mkdir()
    with closing(sqlite3.connect(tmp_path / ".fanwise/journal.db")) as journal:
        journal.execute("PRAGMA journal_mode = WAL")
    assert run_cli("run", "plan.json", "--yes") == 0


def test_a_command_of_several_lines_is_approved_in_one(
    repo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_plan(tmp_path, each={"command": "true\necho two"}, verify="true &&\ntrue", check="true\n")
    assert run_cli("check", "plan.json") == 0
    told = capfd.readouterr().out
    assert "by command true echo two, at most" in told
    assert "verified by: true && true\n" in told
