"""Candidates that do harm: each is ended or refused, the verdict says which, and nothing is hurt.

With real processes and a real sandbox; what needs no sandbox to be told is in test_checking.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from fanwise.optimize.checking import Finding, Settings, TestReport, baseline_report, check_tests
from fanwise.processes import Limits
from fanwise.processes import sandbox as sandbox_module
from fanwise.workspaces import Workspace, WorkspacePool
from tests.optimize.support import unchanged
from tests.workspaces.support import files, make_repo

MB = 1 << 20
PYTEST = "python -m pytest -q -p no:cacheprovider"
SHOP = "def total(prices):\n    return sum(prices)\n"
TEST = "import shop\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n"
SETTINGS = Settings(
    timeout_s=100,
    limits=Limits(memory=300 * MB, processes=20, file_size=4 * MB),
    env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    output=1 * MB,
)


class Scene(NamedTuple):
    """A user's repository, the workspace of a candidate, and that of another."""

    repo: Path
    mine: Workspace
    other: Workspace
    baseline: TestReport

    def judge(self, shop: str, settings: Settings = SETTINGS, command: str = PYTEST) -> Finding:
        self.mine.write("shop.py", shop)
        found = asyncio.run(check_tests(self.mine, command, self.baseline, settings))
        assert not found.ok
        return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, WorkspacePool]]:
    problem = sandbox_module._usable()[1]
    if problem:
        pytest.skip(problem)
    folder = tmp_path_factory.mktemp("hostile")
    repo = make_repo(folder / "user", {"shop.py": SHOP, "tests/test_shop.py": TEST})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FANWISE_CACHE", str(folder / "cache"))
        with unchanged(repo), WorkspacePool(repo, slots=2) as pool:
            yield repo, pool


@pytest.fixture(scope="module")
def baseline(world: tuple[Path, WorkspacePool]) -> TestReport:
    with world[1].workspace() as workspace:
        found = asyncio.run(baseline_report(workspace, PYTEST, SETTINGS))
    assert found.tests == {"tests/test_shop.py::test_total": "passed"}
    return found


@pytest.fixture
def scene(world: tuple[Path, WorkspacePool], baseline: TestReport) -> Iterator[Scene]:
    """After each test the user's repository and the other workspace are as they were."""
    repo, pool = world
    with unchanged(repo, in_a_run=True), pool.workspace() as mine, pool.workspace() as other:
        there = files(other.root)
        yield Scene(repo, mine, other, baseline)
        assert files(other.root) == there
        assert other.changed_files() == []


def test_one_that_sleeps_forever(scene: Scene) -> None:
    quick = Settings(timeout_s=0.5, sandbox=True)
    found = scene.judge("import time\ntime.sleep(3600)\n", quick, "python -c 'import shop'")
    assert found.reason == "it did not end within 0.5 s"


def test_one_that_forks_without_end(scene: Scene) -> None:
    shop = "import os, time\ndef total(p):\n    while os.fork(): pass\n    time.sleep(3600)\n"
    assert scene.judge(shop).reason == "it had more processes than the 20 that it may have"


def test_one_that_takes_64_gigabytes_bit_by_bit(scene: Scene) -> None:
    shop = "def total(p):\n    return [b'x' * (8 << 20) + bytes([n % 256]) for n in range(8192)]\n"
    assert scene.judge(shop).reason == "it ran out of memory: it may have 314.6 MB"


def test_one_that_writes_everywhere(scene: Scene, tmp_path: Path) -> None:
    places = [
        scene.repo / "shop.py", scene.repo / "new.py", scene.repo / ".git" / "config",
        scene.other.root / "shop.py", scene.other.root / "new.py", Path.home() / "fanwise-was-here",
        Path("/etc/fanwise-was-here"), Path(__file__), tmp_path / "x",
    ]  # fmt: skip
    shop = (
        f"PLACES = {[str(place) for place in places]}\n"
        "def total(p):\n"
        "    last = None\n"
        "    for place in PLACES:\n"
        "        try:\n"
        "            with open(place, 'a') as file: file.write('hurt')\n"
        "        except OSError as error: last = last or error\n"
        "        else: print('wrote', place)\n"
        "    raise last\n"
    )
    before = Path(__file__).read_bytes()
    found = scene.judge(shop)
    assert found.reason.startswith("tests/test_shop.py::test_total failed (passed on the original)")
    assert found.reason.endswith("it seems to write outside of its workspace, which it may not")
    assert not any(place.exists() for place in places if place.name in ("fanwise-was-here", "x"))
    assert Path(__file__).read_bytes() == before


def test_one_that_opens_a_socket(scene: Scene) -> None:
    shop = "import socket\ndef total(p):\n    socket.create_connection(('192.0.2.1', 80), 5)\n"
    assert scene.judge(shop).reason.endswith("it seems to use the network, which it may not")


def test_one_that_prints_without_end(scene: Scene) -> None:
    shop = "import os\ndef total(p):\n    for _ in range(1024): os.write(1, b'x' * (1 << 18))\n"
    caught = scene.judge(shop)
    assert caught.reason.endswith("it seems to write a file larger than it may")
    assert len(caught.detail) < 10_000
    free = scene.judge(shop, command=f"{PYTEST} -s")
    assert free.reason == "it wrote 268.4 MB to stdout, and may write 1 MB"
    assert len(free.detail) < 10_000


def test_one_that_kills_its_parents_and_all_that_it_can(scene: Scene) -> None:
    shop = (
        "import os, signal\n"
        "def total(p):\n"
        "    for group in (os.getpgid(os.getppid()), os.getpgrp()):\n"
        "        try: os.killpg(group, signal.SIGTERM)\n"
        "        except OSError: pass\n"
        "    os.kill(-1, signal.SIGKILL)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert (
        "killed by SIG"
        in scene.judge(f"import signal\nsignal.signal(15, signal.SIG_IGN)\n{shop}").reason
    )


def test_one_that_deletes_the_repository(world: tuple[Path, WorkspacePool], scene: Scene) -> None:
    trees = [scene.repo, scene.other.root, scene.mine.root]
    shop = (
        f"import shutil\ndef total(p):\n    for tree in {[str(tree) for tree in trees]}:\n"
        "        shutil.rmtree(tree, ignore_errors=True)\n    return 0\n"
    )
    found = scene.judge(shop)
    assert found.reason.startswith("tests/test_shop.py::test_total failed")
    assert not (scene.mine.root / "shop.py").exists(), "its own it may"
    assert (scene.repo / "shop.py").read_text() == SHOP


def test_after_one_that_deleted_its_workspace_the_next_one_is_as_new(
    world: tuple[Path, WorkspacePool], baseline: TestReport
) -> None:
    with world[1].workspace() as first, world[1].workspace() as second:
        for workspace in (first, second):
            assert (workspace.root / "shop.py").read_text() == SHOP
            assert workspace.changed_files() == []
