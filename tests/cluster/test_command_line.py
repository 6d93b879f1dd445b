"""`--on` on the command line."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from fanwise.cli.place import place_of
from fanwise.errors import UsageError


@pytest.mark.parametrize("kind", ["plan", "optimize"])
def test_systems_that_work_in_workspaces_are_refused_by_name(kind: str) -> None:
    with pytest.raises(UsageError, match=f"{kind} works in workspaces of this machine"):
        place_of("ray", kind)


def test_a_place_that_is_not_known_is_refused() -> None:
    with pytest.raises(UsageError, match="--on is 'rya'"):
        place_of("rya", "map")


def test_a_place_is_named_as_people_write_it() -> None:
    assert repr(place_of("ray", "map")) == "Ray()"
    assert repr(place_of("ray://host:10001", "matrix")) == "Ray('ray://host:10001')"
    assert repr(place_of("auto", "map")) == "Ray('auto')"
    assert place_of(None, "plan") is None


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
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
