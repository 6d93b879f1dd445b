"""Nothing blocks the event loop: git, files, folders and databases are in threads."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import fanwise
from fanwise import Matrix, fan_out
from tests.loop_watchdog import watching_the_loop
from tests.marks import slow
from tests.optimize.project import SCRIPT, TARGET, WRONG, give, make_project
from tests.plan.support import make_repo
from tests.test_entry_point_walk import ROWS, SETTINGS, SIM, called

FLOW: dict[str, Any] = {
    "workflow": {"id": "w", "name": "W", "version": "1.0.0"},
    "steps": [
        {"id": "one", "type": "shell", "run": "echo hi"},
        {"id": "ask", "type": "gate", "message": "?", "options": ["yes", "reject"]},
    ],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FANWISE_JOURNAL", raising=False)
    make_repo(tmp_path / "repo", {"a/m.py": "VALUE = 1\n", "b/m.py": "VALUE = 2\n"})


def watched(*calls: Callable[[], Awaitable[Any]]) -> list[Any]:
    """One after the other, each on a loop of its own, as it was resumed by another process."""

    async def main(call: Callable[[], Awaitable[Any]]) -> Any:
        return await call()

    with watching_the_loop() as blocking:
        found = [asyncio.run(main(call)) for call in calls]
    assert blocking == []
    return found


def test_the_watchdog_sees_what_blocks_the_loop_and_not_what_is_in_a_thread() -> None:
    def git(_: int = 0) -> None:
        subprocess.run(["git", "--version"], check=True, capture_output=True)

    async def main() -> None:
        await fan_out(git, [0])
        git()

    with watching_the_loop() as blocking:
        git()
        asyncio.run(main())
    assert [event for event, *_ in blocking].count("subprocess.Popen") == 1


@pytest.mark.parametrize("durable", [False, True], ids=["memory", "durable"])
@pytest.mark.parametrize("name", ROWS)
def test_no_entry_point_blocks_the_loop(name: str, durable: bool) -> None:
    more = {"run": "mine"} if durable and name != "ask" else {}
    call = ROWS[name].call(SIM, **more)
    with watching_the_loop() as blocking:
        called(name, call, SETTINGS[0])
    assert blocking == []


def test_nor_does_a_plan_that_verifies_checks_and_bisects() -> None:
    each = {"command": "echo '# more' >> {files}"}
    split = {"mode": "directory", "max_files": 1, "min_files": 1}
    plan = fanwise.run_plan

    def done(check: str, **more: Any) -> Awaitable[Any]:
        return plan(
            "go", each, repo="repo", split=split, verify="true", check=check,
            fields={"sandbox": False}, **more,
        )  # fmt: skip

    found = watched(
        lambda: done("true", run="good", apply=True),
        lambda: done("true", run="good"),
        lambda: done("false", bisect=True),
    )
    assert [each.ok for each in found] == [True, True, False]


def test_nor_does_a_workflow_that_pauses_nor_a_scorer_that_is_a_program() -> None:
    flow, run_matrix = fanwise.run_workflow, fanwise.run_matrix
    program = {"command": ["sh", "-c", "cat > seen; echo 1"], "name": "program"}
    matrix = Matrix(models=SIM, prompts="hi", inputs=["a"], score=[program])
    found = watched(
        lambda: flow(FLOW, run="w"),
        lambda: flow(FLOW, run="w", answers={"ask": "yes"}),
        lambda: run_matrix(matrix, run="m"),
    )
    assert [each.ok for each in found] == [False, True, True]


@slow
def test_nor_does_an_optimize_run_that_compares_calls(tmp_path: Path) -> None:
    make_project(tmp_path / "project")
    give(tmp_path, wrong=WRONG)
    optimize = fanwise.optimize

    def done() -> Awaitable[Any]:
        return optimize(
            TARGET, "candidates/*", SCRIPT, repo="project", fields={"sandbox": False}, run="o",
            bench={"calls": "recorded", "budget": "1s"},
        )  # fmt: skip

    first, again = watched(done, done)
    assert [each.difference is None for each in (*first.verdicts, *again.verdicts)] == [False] * 2
