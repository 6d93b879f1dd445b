"""A Ray that fanwise starts itself: on loopback, with the same versions, gone afterwards."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray has no wheel here")
def test_it_listens_on_loopback_and_refuses_what_cannot_be() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.cluster.local_program"],
        cwd=ROOT, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["values"] == [2, 4]
    assert found["processes"] > 3
    assert found["addresses"] and {*found["addresses"]} <= LOOPBACK
    assert found["no_room"].startswith(
        "this machine has no room for a worker that takes 1 CPU and 1 absent"
    )
    assert "the driver has fanwise 0.0.1" in found["mismatch"]
    assert f"has {found['version']}" in found["mismatch"]
    assert found["left"] == []
