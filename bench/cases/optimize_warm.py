"""One trivial test in a workspace, started cold and from a warm server, side by side.

What is timed is all that a run of tests takes beside the tests: a sandbox where there is one, the
interpreter, pytest, its report. Cold and warm take turns, the best of several counts: what disturbs
a start makes it longer, never shorter. Plugins that are installed here are left out: a fork imports
those as a fresh pytest does.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from pathlib import Path

from bench.harness import Row, at_least
from fanwise.optimize.checking import Settings, run_in_workspace, test_report
from fanwise.optimize.checking.testing import Runner
from fanwise.optimize.checking.warm import WarmRunner
from fanwise.processes.sandbox import available
from fanwise.workspaces import Workspace, WorkspacePool

TRIES = 15
BOUND = 2.0
LINE = "python -m pytest -q"
_NOBODY = ("-c", "user.name=b", "-c", "user.email=b@example.org")
BARE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def measure() -> list[Row]:
    """Without a sandbox, and in one."""
    return [_row(sandbox=each) for each in ((False, True) if available() else (False,))]


def _row(*, sandbox: bool) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FANWISE_CACHE"] = str(Path(folder) / "cache")
        project = Path(folder) / "project"
        project.mkdir()
        (project / "test_it.py").write_text("def test_it(): pass\n")
        for words in (["init", "-q"], ["add", "-A"], [*_NOBODY, "commit", "-qm", "all"]):
            subprocess.run(["git", *words], cwd=project, check=True)
        with WorkspacePool(project, slots=1) as pool, pool.workspace() as workspace:
            cold, warm = asyncio.run(_both(workspace, Settings(sandbox=sandbox, env=BARE)))
    where = "in a sandbox" if sandbox else "without a sandbox"
    return at_least(
        f"optimize-warm: one trivial test, {where} (best of {TRIES})",
        f"{warm * 1000:.0f} ms",
        f"cold {cold * 1000:.0f} ms",
        cold / warm,
        BOUND,
    )


async def _both(workspace: Workspace, settings: Settings) -> tuple[float, float]:
    runner = WarmRunner()
    try:
        await _timed(workspace, settings, runner)  # the server starts
        pairs = [
            (
                await _timed(workspace, settings, run_in_workspace),
                await _timed(workspace, settings, runner),
            )
            for _ in range(TRIES)
        ]
    finally:
        runner.close()
    assert (runner.warm, runner.cold) == (TRIES + 1, {})
    return min(cold for cold, _ in pairs), min(warm for _, warm in pairs)


async def _timed(workspace: Workspace, settings: Settings, run: Runner) -> float:
    began = time.perf_counter()
    report = await test_report(workspace, LINE, settings, run=run)
    assert report.tests == {"test_it.py::test_it": "passed"}
    return time.perf_counter() - began
