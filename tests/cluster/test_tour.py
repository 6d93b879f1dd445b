"""What the tour and the examples show, with `--on ray` and nothing else changed."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOUR = (ROOT / "docs" / "start" / "tour.md").read_text()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray has no wheel here"),
]


def fanwise(folder: Path, *args: str, lines: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fanwise", *args],
        cwd=folder, input=lines, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


def test_the_command_that_kills_its_parent_ends_a_worker_and_not_the_run(tmp_path: Path) -> None:
    """On workers, the `kill -9` of the tour's example ends one of them: no resume is needed."""
    script = re.search(r"work\.sh <<'END'\n((?:> .*\n)+?)> END", TOUR)
    assert script is not None and "kill -9" in script[1]
    (tmp_path / "work.sh").write_text(script[1].replace("> ", ""))
    args = ("map", "--cap", "3", "--run", "demo", "--on", "ray", "--", "sh", "work.sh", "{}")
    ended = fanwise(tmp_path, *args, lines="1\n2\n3\n4\n5\n")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "".join(f"line {number}\n" for number in range(1, 6))
    assert (tmp_path / "killed").exists()
    shown = json.loads(fanwise(tmp_path, "show", "demo", "--json").stdout)
    assert "4" in {each["input"] for each in shown["may_have_run_twice"]}
    assert [each["kind"] for each in shown["events"]].count("worker_gone") == 1


def test_the_matrix_of_the_tour_comes_to_the_same(tmp_path: Path) -> None:
    file = re.search(r"```yaml file=sentiment.yaml\n(.*?)```", TOUR, re.S)
    assert file is not None
    (tmp_path / "sentiment.yaml").write_text(file[1])
    found = []
    for where, journal in (("here", "a.db"), ("ray", "b.db")):
        args = ("run", "sentiment.yaml", "--json", "--on", where, "--journal", journal)
        ended = fanwise(tmp_path, *args)
        assert ended.returncode == 0, ended.stderr
        table = fanwise(tmp_path, "export", "sentiment", "--journal", journal).stdout
        rows = [json.loads(line) for line in table.splitlines()]
        found.append(
            [{key: row.get(key) for key in ("cell", "status", "answer", "exact")} for row in rows]
        )
    assert found[0] == found[1]
    assert len(found[0]) == 30


def test_an_example_with_a_local_model_runs_too(smollm2: str, tmp_path: Path) -> None:
    """The model stays here, one for all; the run has workers, and comes to its end."""
    ended = fanwise(tmp_path, "run", str(ROOT / "examples/sort.yaml"), "--on", "ray", "--json")
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert document["status"] == "done"
    assert document["counts"]["done"] == 8
