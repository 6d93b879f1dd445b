"""The driver is killed: its workers and its Ray end, and another process continues the run."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray has no wheel here"),
]


def drive(folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.cluster.driver_program", str(folder)],
        cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip


def traces(folder: Path) -> dict[Path, int]:
    return {each: int(each.read_text() or 0) for each in folder.glob("*-*[0-9]") if each.is_file()}


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_killed_driver_leaves_nothing_and_another_process_continues(tmp_path: Path) -> None:
    killed = drive(tmp_path, FANWISE_CRASH_AT="item.recorded:9")
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-3000:]
    before = traces(tmp_path)
    deadline = time.monotonic() + 60
    while any(map(lives, before.values())) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(lives, before.values())), "its workers end with it"

    ended = drive(tmp_path)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["values"] == [2 * number for number in range(30)]
    assert len(found["recorded"]) >= 9
    made = Counter(int(each.name.partition("-")[0]) for each in traces(tmp_path))
    assert all(made[index] == 1 for index in found["recorded"]), "what was done is not repeated"
    assert {index for index, times in made.items() if times > 1} <= {*found["twice"]}
    assert found["twice"] and not {*found["twice"]} & {*found["recorded"]}
