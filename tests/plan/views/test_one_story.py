"""Whatever tells of a run tells the same: they all read one state."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise.journal.open import open_journal
from fanwise.kernel.events import Event, ItemEnded
from fanwise.plan import Work, run_plan_sync
from fanwise.plan.state.read_run import read_run
from fanwise.plan.system import SYSTEM
from fanwise.plan.views.rows import document_of
from tests.plan.support import make_repo, packages, run_cli, write_plan

SPLIT = {"mode": "directory", "max_files": 1, "min_files": 1}
TIMES = {
    "starts", "queued_s", "ran_s", "started_at", "ended_at", "calls", "input_tokens",
    "output_tokens", "cached_tokens", "usd", "usd_unknown",
}  # fmt: skip
"""Only a journal knows these."""


def without_times(document: dict[str, Any]) -> dict[str, Any]:
    leaves = [{k: v for k, v in row.items() if k not in TIMES} for row in document["leaves"]]
    return {**document, "leaves": leaves}


def test_what_was_done_beyond_a_halt_is_told_by_all_as_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The third was done before the second failed, and is in the journal as done."""
    monkeypatch.chdir(tmp_path)
    repo = make_repo(tmp_path / "repo", packages(3, files=1))
    beyond = asyncio.Event()

    async def work(work: Work) -> None:
        if work.title == "p01/m0.py":
            await beyond.wait()
            raise ValueError("too hard")
        (work.root / work.files[0]).write_text("more\n")

    def ended(event: Event) -> None:
        if isinstance(event, ItemEnded) and event.outcome.index == 2:
            beyond.set()

    journal = tmp_path / ".fanwise/journal.db"
    found = run_plan_sync(
        "g", work, repo=repo, split=SPLIT, fail_fast=True, retry=0, subscribers=[ended],
        run="r", journal=journal,
    )  # fmt: skip
    states = ["done", "failed", "queued"]
    line = "3 sub-plans: 1 failed, 1 done, 1 queued"
    assert [leaf.state for leaf in found.leaves] == states
    assert found.output == [line]
    with closing(open_journal(journal, read_only=True)) as opened:
        run = opened.run("r")
        read = read_run(opened, run)
        page = SYSTEM.report(opened, run)
        assert next(iter(SYSTEM.describe_run(opened, run, fully=False))) == line
    assert without_times(document_of(read.state, "g")) == document_of(found.state, "g")
    assert page.lines[0] == line
    assert page.document["counts"] == Counter(states)
    capfd.readouterr()
    assert run_cli("export", "r", "--format", "jsonl") == 0
    rows = [json.loads(row) for row in capfd.readouterr().out.splitlines()]
    assert [row["state"] for row in rows] == states
    assert run_cli("show", "r") == 0
    assert line in capfd.readouterr().out


def test_the_document_of_a_run_is_that_of_its_report_and_of_a_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With a conflict that is settled, a failure, and a sub-plan that the check fails with."""
    monkeypatch.chdir(tmp_path)
    make_repo(tmp_path / "repo", {**packages(5, files=1), "list.txt": "old\n"})
    edit = (
        "case $FANWISE_PLAN_TITLE in p03/*) exit 1;; p00/*|p01/*) echo {id} > list.txt;; esac; "
        "for f in {files}; do echo more >> $f; done"
    )
    write_plan(
        tmp_path, each={"command": edit}, check="! grep more p02/m0.py", split=SPLIT, retry=0,
        shared=["list.txt"], files=["p*/**"], sandbox=False,
    )  # fmt: skip
    assert run_cli("run", "plan.json", "--yes", "--bisect", "--json") == 1
    result = json.loads(capfd.readouterr().out)["result"]
    assert result["counts"] == {"done": 3, "left out": 1, "failed": 1}
    assert [each["paths"] for each in result["conflicts"]] == [["list.txt"]]
    with closing(open_journal(tmp_path / ".fanwise/journal.db", read_only=True)) as opened:
        document = SYSTEM.report(opened, opened.run("plan")).document
    told = {name: value for name, value in result.items() if name in document}
    assert set(told) >= {"counts", "leaves", "conflicts", "checks", "result", "ok"}
    assert {**without_times(document), **told} == without_times(document)
    assert run_cli("resume", "plan", "--bisect", "--json") == 1
    again = json.loads(capfd.readouterr().out)["result"]
    assert again == result
