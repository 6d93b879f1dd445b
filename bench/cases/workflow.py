"""A workflow whose fan-out has 5,000 items that do nothing, on disk.

spec-kit 1.0.1, which writes its whole state at each item, took 1,017 s for that and wrote 3.28 GB
(1,000 items: 23 s and 130 MB), measured on another day; so here the bound is in seconds. What is
written must grow as the items do: five times the items, five times the bytes.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.harness import Row, fresh
from fanwise import open_run
from fanwise.specs import parse
from fanwise.workflow.run.options import RunOptions
from fanwise.workflow.runnable import RunnableWorkflow
from fanwise.workflow.spec.workflow_file import load
from fanwise.workflow.steps.kinds import Project

ITEMS = 5_000
WIDE, NARROW = 64, 8
"""The disk is waited for once for all that is in flight: the narrower, the more often."""
BOUND_S = 5.0
LEAF = "{id: one, type: nothing}"
TEMPLATES = {
    "leaf": LEAF,
    "nested": f"{{id: t, type: if, condition: '{{{{ item < 0 }}}}', then: [{LEAF}]}}",
}
FILE = """
schema_version: "1.0"
workflow: {id: bench, name: Bench, version: 1.0.0}
steps:
  - {id: all, type: fan-out, items: ITEMS, max_concurrency: WIDTH, step: STEP}
"""


def leaf(items: int) -> list[float]:
    return _run("leaf", items, WIDE)


def narrow_leaf(items: int) -> list[float]:
    return _run("leaf", items, NARROW)


def single_leaf(items: int) -> list[float]:
    return _run("leaf", items, 1)


def nested(items: int) -> list[float]:
    return _run("nested", items, WIDE)


def narrow_commits(items: int) -> float:
    return _commits(items, NARROW)


def single_commits(items: int) -> float:
    return _commits(items, 1)


def _commits(items: int, width: int) -> float:
    """Seconds that the disk alone needs, if what is in flight is written at once."""
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(Path(folder) / "disk.db", isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE item (number INTEGER PRIMARY KEY, value TEXT)")
        began = time.perf_counter()
        for first in range(0, items, width):
            database.execute("BEGIN")
            rows = ((number, "{}") for number in range(first, first + width))
            database.executemany("INSERT INTO item VALUES (?, ?)", rows)
            database.execute("COMMIT")
        took = time.perf_counter() - began
        database.close()
    return took


async def nothing(fields: Any, place: Any) -> dict[str, Any]:
    return {}


def _run(kind: str, items: int, width: int) -> list[float]:
    """Seconds, and bytes written."""
    text = FILE.replace("ITEMS", str([*range(items)])).replace("WIDTH", str(width))
    types = {"nothing": nothing}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        read = parse(text.replace("STEP", TEMPLATES[kind]).encode(), "w.yaml", here)
        plan = RunnableWorkflow(load(read, types=types), Project(here, types=types), RunOptions())
        journal = here / "journal.db"
        with open_run(journal=journal):  # creating the tables is not what is measured here
            pass
        before, began = _written(), time.perf_counter()
        asyncio.run(_execute(plan, journal))
        return [time.perf_counter() - began, _written() - before]


async def _execute(plan: RunnableWorkflow, journal: Path) -> None:
    async with open_run("b", journal=journal, spec=plan.spec, caps=plan.caps) as run:
        ending = await plan.ending(run)
    assert ending.status == "completed"


def _written() -> int:
    lines = Path(f"/proc/{os.getpid()}/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("wchar")).split()[1])


def measure() -> list[Row]:
    rows = []
    for kind in TEMPLATES:
        took, written = min(fresh(__name__, kind, ITEMS).answer for _ in range(3))
        _, fewer = fresh(__name__, kind, ITEMS // 5).answer
        told = f"{took:.2f} s, {written / 1e6:.1f} MB"
        case = f"workflow, {ITEMS:,} items of a {kind} step that does nothing"
        rows.append(Row(case, told, "", took, f"<= {BOUND_S:g} s", took <= BOUND_S))
        growth = written / fewer
        other = f"{ITEMS // 5:,} items: {fewer / 1e6:.1f} MB"
        rows.append(Row(f"{case}: bytes", told, other, growth, "<= 6", growth <= 6))
    return [*rows, _beside_the_disk("narrow", NARROW), _beside_the_disk("single", 1)]


def _beside_the_disk(name: str, width: int) -> Row:
    """In turns: the speed of the disk changes with what else the machine does."""
    pairs = [
        (
            fresh(__name__, f"{name}_leaf", ITEMS).answer[0],
            fresh(__name__, f"{name}_commits", ITEMS).answer,
        )
        for _ in range(3)
    ]
    ours, disk = min(pairs, key=lambda pair: pair[0] / pair[1])
    case = f"workflow, {ITEMS:,} items of a leaf step, {width} at once"
    other = f"{ITEMS // width:,} commits: {disk:.2f} s"
    ratio = ours / disk
    bound = f"<= {BOUND_S:g} s or 1.8"  # a slow disk alone may need the seconds
    return Row(case, f"{ours:.2f} s", other, ratio, bound, ours <= BOUND_S or ratio <= 1.8)
