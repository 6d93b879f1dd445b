"""Nodes that die and nodes that join, in a cluster of three on this machine."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray has no wheel here")
def test_a_node_that_dies_is_replaced_by_the_others_and_one_that_joins_is_used(
    tmp_path: Path,
) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.cluster.nodes_program", str(tmp_path / "j.db")],
        cwd=ROOT, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads((tmp_path / "j.json").read_text())
    assert found["status"] == ["done"]
    assert found["indices"] == [*range(found["pulled"])]
    assert found["stopped"] == 2
    assert found["attempts"] == [1]
    ((dead, reason, keys),) = found["gone"]
    assert reason.startswith("silent")
    assert found["twice"] == keys != []
    assert len(found["joined"]) == 4
    assert {*found["used"]} <= {*found["joined"]}
    assert found["joined"][-1] in found["used"], "the node that joined"
    assert dead in found["joined"][:3]
    assert found["nodes"] == [dead.rpartition("/")[0]]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray has no wheel here")
@pytest.mark.parametrize("seed", [1])
def test_nodes_that_die_at_random_change_nothing_in_a_matrix(seed: int, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.cluster.matrix_program", str(tmp_path / "j.db"), str(seed)],
        cwd=ROOT, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads((tmp_path / "j.json").read_text())
    assert found["ok"] and found["differs"] == []
    assert found["cells"] == 60
    assert found["gone"] == found["noted"].count("worker_gone") == 2
    # A node that is cut off is told at once; that one is gone whose workers were killed is known
    # when Ray knows it, which may be after the end.
    assert 1 <= len(found["nodes"]) == found["noted"].count("node_gone") <= 2
    assert found["lost"] == found["twice"] != []
    assert 60 <= found["requests"] <= 60 + len(found["lost"])
    assert found["most"] <= 6 + len(found["lost"]), "a killed client may be seen late"
    assert found["left"] == []


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray has no wheel here")
def test_nodes_that_die_change_nothing_in_a_plan_and_in_checks(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.cluster.plan_program", str(tmp_path), "1"],
        cwd=ROOT, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads((tmp_path / "found.json").read_text())
    for name in ("plan", "optimize"):
        assert found[name]["same"] and found[name]["killed"]
        assert found[name]["twice"] == found[name]["lost"]
    assert found["plan"]["lost"] != []
    assert found["left"] == []
