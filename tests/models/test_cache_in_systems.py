"""The cache of replies is one for all systems: the same prompt in two runs is asked once.

By the count of the server. Sampling and matrices: `test_group_and_cache.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from fanwise import optimize, run_plan, run_workflow
from fanwise.processes.sandbox import unusable
from fanwise.testing import ScriptedServer
from tests.marks import slow
from tests.optimize.project import COMMENT, SCRIPT, TARGET, make_project
from tests.plan.support import make_repo, packages

from .support import run

Twice = Callable[[str, dict[str, Any]], Awaitable[object]]


def asked_in_two_runs(answer: str, cache: Path, execute: Twice) -> int:
    """How often a server was asked in two runs. `execute`: one run, by its name and model."""

    async def main() -> int:
        async with ScriptedServer(lambda _: answer) as server:
            for number in range(2):
                model = {"name": "openai:any", "base_url": server.base_url, "cache": str(cache)}
                await execute(f"run-{number}", model)
                assert cache.is_file()
            return len(server.requests)

    return run(main())


@pytest.mark.parametrize("temperature", [0, 0.7])
def test_a_workflow_asks_once(tmp_path: Path, temperature: float) -> None:
    async def execute(name: str, model: dict[str, Any]) -> None:
        options = {"cache": model["cache"], "base_url": model["base_url"], "max_tokens": 50}
        step = {"id": "ask", "type": "prompt", "prompt": "how are you", "model": model["name"]}
        step["options"] = {**options, "temperature": temperature}
        header = {"id": "w", "name": "w", "version": "1.0.0"}
        given = {"schema_version": "1.0", "workflow": header, "steps": [step]}
        found = await run_workflow(given, journal=tmp_path / "j.db", run=name, folder=tmp_path)
        found.require()

    path = tmp_path / "replies.db"
    if temperature:
        path.touch()  # nothing is kept there: two answers were asked for
    assert asked_in_two_runs("fine", path, execute) == (2 if temperature else 1)


def test_a_plan_asks_once_for_each_sub_plan(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(2, files=1))

    async def execute(name: str, model: dict[str, Any]) -> None:
        found = await run_plan(
            "leave it",
            {"model": model, "options": {"temperature": 0, "max_tokens": 50}},
            repo=repo,
            split={"mode": "directory", "max_files": 1, "min_files": 1},
            journal=tmp_path / "j.db",
            run=name,
        )
        assert [leaf.state for leaf in found.leaves] == ["unchanged", "unchanged"]

    assert asked_in_two_runs("NOTHING", tmp_path / "replies.db", execute) == 2


@slow
@pytest.mark.skipif(bool(unusable()), reason=unusable() or "there is a sandbox")
def test_optimize_asks_once_for_each_proposal(tmp_path: Path) -> None:
    make_project(tmp_path / "project")

    async def execute(name: str, model: dict[str, Any]) -> None:
        found = await optimize(
            TARGET,
            {"propose": {"model": model, "n": 2, "options": {"max_tokens": 500}}},
            SCRIPT,
            repo="project",
            folder=tmp_path,
            bench={"calls": "recorded", "budget": "1s"},
            journal=tmp_path / "j.db",
            run=name,
        )
        assert len(found.verdicts) == 2

    answer = f"The same in other words.\n```python\n{COMMENT}```"
    assert asked_in_two_runs(answer, tmp_path / "replies.db", execute) == 2
