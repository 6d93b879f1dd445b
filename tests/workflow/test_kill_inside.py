"""`run_workflow` inside a fan-out inside a run, killed at every crash point, and resumed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fanwise.crashpoint import POINTS
from fanwise.journal.open import open_journal
from tests.marks import slow_after

PROGRAM = """
import asyncio
from fanwise import fan_out, open_run, run_workflow
from fanwise.workflow import Workflow, step

FLOW = Workflow(
    inputs={"n": {"type": "number"}},
    steps=[
        step("a", "shell", run="echo {{ inputs.n }} a >> ran"),
        step("each", "fan-out", items=[0, 1], max_concurrency=2,
             step=step("b", "shell", run="echo {{ inputs.n }} b{{ item }} >> ran;"
                       " echo {{ item }}")),
    ],
    on_end=[step("bye", "shell", run="echo {{ inputs.n }} bye >> ran")],
)

async def one(n):
    result = (await run_workflow(FLOW, {"n": n})).require()
    with open("twice", "a") as file:
        file.writelines(f"{n} {each.removeprefix('each:').replace(':', '')}\\n"
                        for each in result.may_have_run_twice)
    return [result.steps[f"each:b:{k}"].output["stdout"] for k in (0, 1)]

async def main():
    async with open_run("all") as run:
        outcomes = await fan_out(one, [0, 1, 2], cap=2, run=run, name="items", key=str)
        assert outcomes.values() == [["0\\n", "1\\n"]] * 3, outcomes

asyncio.run(main())
"""
LINES = {f"{n} {step}" for n in range(3) for step in ("a", "b0", "b1", "bye")}
VISITS = ("", ":3", ":7")
KILLS = [f"{point}{visit}" for visit in VISITS for point in POINTS]
KILLS = [each for each in KILLS if each.partition(":")[0] not in ("run.created", "run.before_end")
         or ":" not in each]  # fmt: skip


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize("point", slow_after(1, KILLS))
def test_steps_that_had_ended_do_not_run_again(tmp_path: Path, point: str) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(crash: str = "") -> int:
        environment = {"PATH": "/usr/bin:/bin", "FANWISE_CRASH_AT": crash}
        words = [sys.executable, "program.py"]
        return subprocess.run(words, cwd=tmp_path, env=environment, timeout=120).returncode

    killed = run(point)
    assert killed == -signal.SIGKILL, "the point is visited often enough"
    recorded = _recorded(tmp_path)
    before = Counter(lines(tmp_path / "ran"))

    assert run() == 0

    ran = Counter(lines(tmp_path / "ran"))
    assert set(ran) == LINES
    assert not (ran - before).keys() & recorded, "a step on disk does not run again"
    assert max(ran.values()) <= 2, "once more, and not more often"
    again = {line for line in LINES if ran[line] > 1}
    assert again <= set(lines(tmp_path / "twice")), "and those that did are named"
    assert _recorded(tmp_path) == LINES
    assert run() == 0
    assert Counter(lines(tmp_path / "ran")) == ran, "all is recorded"


def _recorded(folder: Path) -> set[str]:
    """The steps with an outcome on disk, as the lines that they write."""
    if not (folder / ".fanwise" / "journal.db").exists():
        return set()
    journal = open_journal(folder / ".fanwise" / "journal.db")
    try:
        return {
            f"{each.path.split('/')[1]} {item.key.removeprefix('each:').replace(':', '')}"
            for each in journal.fan_outs("all")
            if each.path != "items"
            for item in journal.items(each.id)
            if item.status == "done"
        }
    finally:
        journal.close()
