"""Agents by their names: the command line, long prompts, what they say, and what they cost."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise.core.outcome import Usage
from fanwise.errors import BadSpec
from fanwise.journal.open import open_journal
from fanwise.plan import PlanResult, run_plan_sync
from fanwise.plan.state.read_run import read_run
from fanwise.plan.work.by_agent import LONGEST
from fanwise.specs.agents import AgentReport, known, read_report
from tests.plan.support import make_repo, packages, show

SPLIT = {"mode": "directory", "max_files": 1, "min_files": 1}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{Path('/usr/bin')}:{Path('/bin')}")
    return make_repo(tmp_path / "repo", packages(1, files=1))


def install(repo: Path, name: str, *lines: str) -> None:
    """A program of that name, which notes its words and edits a file."""
    program = repo.parent / "bin" / name
    log = repo.parent / "words"
    noted = f"for word; do printf '%s\\0' \"$word\"; done > '{log}'; cat > '{log}.stdin'"
    program.write_text("\n".join(["#!/bin/sh", noted, "echo more >> p00/m0.py", *lines]))
    program.chmod(0o755)


def words(repo: Path) -> list[str]:
    return (repo.parent / "words").read_text().split("\0")[:-1]


def stdin(repo: Path) -> str:
    return (repo.parent / "words.stdin").read_text()


def run(repo: Path, goal: str = "do it", **each: object) -> PlanResult:
    return run_plan_sync(
        goal, each, repo=repo, split=SPLIT, retry=0, folder=repo.parent,
        run="r", journal=repo.parent / "journal.db",
    )  # fmt: skip


def test_an_agent_is_called_as_it_wants_and_its_cost_is_recorded(repo: Path) -> None:
    told = {
        "result": "I added a line", "total_cost_usd": 0.25,
        "usage": {"input_tokens": 10, "output_tokens": 3, "cache_read_input_tokens": 7},
    }  # fmt: skip
    install(repo, "claude", f"echo '{json.dumps(told)}'")
    found = run(repo, agent="claude", args=["--model", "opus"])
    assert found.ok, found.notes
    assert found.commit is not None
    assert show(repo, found.commit, "p00/m0.py").endswith("more")
    flag, *rest = words(repo)
    assert flag == "-p"
    assert stdin(repo).startswith("# Goal\n\ndo it\n")
    assert rest == [
        "--permission-mode", "acceptEdits", "--output-format", "json", "--model", "opus",
    ]  # fmt: skip
    (leaf,) = found.leaves
    assert leaf.last is not None
    assert leaf.last.said == "I added a line"
    with closing(open_journal(repo.parent / "journal.db", read_only=True)) as journal:
        calls = read_run(journal, journal.run("r")).calls
    assert (calls.usd.total, calls.tokens.total, calls.input_tokens.total) == (0.25, 13, 10)


@pytest.mark.parametrize(
    ("name", "front"), [("claude", ["-p"]), ("codex", ["exec", "-"]), ("copilot", [])]
)
def test_a_prompt_of_any_length_comes_on_stdin_and_is_no_word(
    repo: Path, name: str, front: list[str]
) -> None:
    install(repo, name)
    goal = "do it " * (LONGEST // 5)
    found = run(repo, goal, agent=name)
    assert found.ok, found.notes
    assert words(repo)[: len(front)] == front
    assert not any("do it" in word for word in words(repo))
    assert goal.strip() in stdin(repo)


def test_a_prompt_that_is_too_long_for_a_word_is_read_from_a_file(repo: Path) -> None:
    install(repo, "gemini", 'cat "$FANWISE_PLAN_PROMPT" > ../size')
    goal = "do it " * (LONGEST // 5)
    found = run(repo, goal, agent="gemini")
    assert found.ok, found.notes
    assert stdin(repo) == ""
    assert words(repo)[1].startswith("Read the file /")
    assert len(words(repo)[1]) < 1_000


def test_an_agent_of_the_users_own(repo: Path) -> None:
    folder = repo.parent / ".fanwise"
    folder.mkdir()
    (folder / "integrations.yaml").write_text(
        'integrations:\n  ours: {argv: [our-agent, --task, "{prompt}"], edits: [--write]}\n'
    )
    install(repo, "our-agent", "echo done")
    found = run(repo, agent="ours")
    assert found.ok, found.notes
    assert words(repo)[0] == "--task"
    assert words(repo)[2:] == ["--write"]
    (leaf,) = found.leaves
    assert leaf.last is not None
    assert leaf.last.said == "done"


@pytest.mark.parametrize(
    ("each", "why"),
    [
        ({"agent": "claud"}, "there is no integration 'claud'; did you mean `claude`"),
        ({"agent": "claude"}, "needs the program 'claude', which is not installed"),
        ({"command": "x", "args": ["y"]}, "`args` of `each` needs an `agent`"),
    ],
)
def test_what_cannot_run_is_said_before_anything_does(
    repo: Path, each: dict[str, Any], why: str
) -> None:
    with pytest.raises(BadSpec, match=why):
        run(repo, **each)


def test_an_agent_that_fails_is_a_failed_try(repo: Path) -> None:
    install(repo, "claude", "echo no key >&2; exit 1")
    (leaf,) = run(repo, agent="claude").leaves
    assert leaf.state == "failed"
    assert leaf.tries[0].said == "no key"


def test_an_agent_that_cannot_be_started_is_a_failed_try(repo: Path) -> None:
    install(repo, "claude")
    program = repo.parent / "bin" / "claude"
    program.write_text("#!/no/such/interpreter\n")
    (leaf,) = run(repo, agent="claude").leaves
    assert leaf.state == "failed"
    assert "claude" in leaf.reason


CODEX = """\
{"type":"thread.started","thread_id":"x"}
{"type":"item.completed","item":{"id":"1","type":"reasoning","text":"thinking"}}
{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":20,"cached_input_tokens":5,"output_tokens":4}}
"""


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        (CODEX, ("Done.", Usage(1, 24, None, 20, 4, 5))),
        ("no JSON", (None, Usage(usd=None))),
        ('{"item": 1, "usage": []}', (None, Usage(usd=None))),
        ("{" * 100_000, (None, Usage(usd=None))),
    ],
)
def test_what_a_report_says(output: str, wanted: tuple[str | None, Usage]) -> None:
    report = known()["codex"].report
    assert isinstance(report, AgentReport)
    assert read_report(report, output) == wanted
