"""What a run tells somebody to do next: that it can be typed, and does what it says."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path

import pytest

from fanwise.kernel.events import Event, ItemEnded
from fanwise.plan import Work, run_plan_sync
from tests.plan.support import git, make_repo, packages, run_cli, write_plan

SPLIT = {"mode": "directory", "max_files": 1, "min_files": 1}
EDIT = "for f in {files}; do echo more >> $f; done"


def typed(told: str, what: str) -> list[str]:
    """The words after `fanwise` of the step that is named."""
    (line,) = re.findall(rf"^  {re.escape(what)}: fanwise (.*)$", told, re.MULTILINE)
    return shlex.split(line)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return make_repo(tmp_path / "repo", packages(3, files=1))


def test_what_bisect_left_can_be_applied_as_it_says(
    repo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_plan(tmp_path, each={"command": EDIT}, check="! grep more p01/m0.py", split=SPLIT)
    assert run_cli("run", "plan.json", "--yes") == 1
    command = typed(capfd.readouterr().err, "to find the sub-plans that it fails with")
    assert run_cli(*command) == 1
    command = typed(capfd.readouterr().out, "write it to the work tree")
    assert run_cli(*command) == 1, "one is left out"
    assert "applied to 2 files" in capfd.readouterr().out
    assert git(repo, "status", "--short").split() == ["M", "p00/m0.py", "M", "p02/m0.py"]


def test_a_second_time_there_is_nothing_to_apply_and_nothing_to_undo(
    repo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_plan(tmp_path, each={"command": EDIT}, split=SPLIT)
    assert run_cli("run", "plan.json", "--yes", "--apply") == 0
    undo = typed(capfd.readouterr().out, "undo it")
    assert run_cli("resume", "plan", "--apply") == 0
    told = capfd.readouterr().out
    assert "the work tree has all of it already" in told
    assert typed(told, "undo it") == undo
    assert run_cli(*undo) == 0
    assert "was removed" in capfd.readouterr().out
    assert git(repo, "status", "--short") == ""
    assert run_cli(*undo) == 0
    told, notes = capfd.readouterr()
    assert told == ""
    assert "nothing of the result was there any more" in notes


def test_another_journal_is_a_part_of_the_command(
    repo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_plan(tmp_path, each={"command": EDIT}, split=SPLIT)
    journal = str(tmp_path / "of mine.db")
    assert run_cli("run", "plan.json", "--yes", "--journal", journal) == 0
    command = typed(capfd.readouterr().out, "write it to the work tree")
    assert run_cli(*command) == 0
    assert "applied to 3 files" in capfd.readouterr().out


def test_of_a_run_that_is_kept_nowhere_no_command_is_named(repo: Path) -> None:
    def work(work: Work) -> None:
        (work.root / work.files[0]).write_text("more\n")
        (work.root / "p00/m0.py").write_text("mine\n")

    found = run_plan_sync("g", work, repo=repo, split=SPLIT, check="false")
    assert found.state.merged is not None
    assert not [line for line in [*found.output, *found.notes] if "fanwise resume" in line]
    assert not [line for line in [*found.output, *found.notes] if "fanwise show" in line]


def test_what_was_done_beyond_a_halt_does_not_count_whoever_was_quicker(repo: Path) -> None:
    beyond = asyncio.Event()

    async def work(work: Work) -> None:
        if work.title == "p01/m0.py":
            await beyond.wait()
            raise ValueError("too hard")
        (work.root / work.files[0]).write_text("more\n")

    def ended(event: Event) -> None:
        if isinstance(event, ItemEnded) and event.outcome.index == 2:
            beyond.set()

    found = run_plan_sync(
        "g", work, repo=repo, split=SPLIT, fail_fast=True, retry=0, subscribers=[ended]
    )
    assert [leaf.state for leaf in found.leaves] == ["done", "failed", "queued"]
    assert found.leaves[2].changed == ()
    assert found.output == ["3 sub-plans: 1 failed, 1 done, 1 queued"]


def test_one_that_deletes_all_of_its_files_is_named(repo: Path) -> None:
    def work(work: Work) -> None:
        if work.title == "p01/m0.py":
            (work.root / work.files[0]).unlink()

    found = run_plan_sync("g", work, repo=repo, split=SPLIT)
    assert found.leaf("p01/m0.py").deleted == ("p01/m0.py",)
    notes = [*found.notes]
    at = notes.index("1 deleted all of its files:")
    assert notes[at + 1 :] == ["  p01/m0.py: 1 file"]


def test_what_was_given_up_can_be_looked_at_and_tried_again(
    repo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fails = f"test -e {tmp_path}/there || {{ echo so be it; exit 7; }}; {EDIT}"
    write_plan(tmp_path, each={"command": fails}, retry=0, split=SPLIT)
    assert run_cli("run", "plan.json", "--yes") == 1
    told = capfd.readouterr().err
    assert run_cli(*typed(told, "what they said")) == 0
    assert "so be it" in capfd.readouterr().out
    (tmp_path / "there").touch()
    assert run_cli(*typed(told, "to try them again")) == 0
    assert "3 sub-plans: 3 done" in capfd.readouterr().out
