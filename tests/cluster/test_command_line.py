"""`--on` on the command line."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray has no wheel here")
def test_map_on_ray_prints_its_document_and_leaves_nothing_running(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "fanwise", "map", "--on", "ray", "--json", "--", "sh", "-c",
         "echo {} $(pwd) $PPID; test {} != 3"],
        cwd=tmp_path, input=b"1\n2\n3\n4\n", capture_output=True, timeout=240, check=False,
    )  # fmt: skip
    document = json.loads(ended.stdout)
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr == b""
    assert [each["status"] for each in document["outcomes"]] == ["done", "done", "failed", "done"]
    said = [each["stdout"].split() for each in document["outcomes"]]
    assert [words[:2] for words in said] == [[n, str(tmp_path)] for n in "1234"]
    workers = {int(words[2]) for words in said}
    shown = subprocess.run(
        [sys.executable, "-m", "fanwise", "show", document["run"], "--items", "--json"],
        cwd=tmp_path, capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    names = [each["worker"] for each in json.loads(shown.stdout)["items"]]
    assert {int(name.rpartition("/")[2]) for name in names} == workers
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
