"""The corpus of traps: no wrong version passes the differential check, and no right one fails.

All of them pass the tests that stand beside the original, and are faster: nothing but the check
tells them apart. The original is observed once for all of its versions.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.marks import slow_after
from tests.optimize.differential.support import Original, checkout
from tests.optimize.trap_corpus import Trap, read_traps

TRAPS = read_traps()


@pytest.fixture(scope="module", params=slow_after(3, TRAPS), ids=[trap.name for trap in TRAPS])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ResolvedSpec:
    return ResolvedSpec(request.param, tmp_path_factory.mktemp(request.param.name))


class ResolvedSpec:
    def __init__(self, trap: Trap, folder: Path) -> None:
        self.trap = trap
        self.folder = folder
        self.original = Original(
            folder, trap.original, trap.test, trap.target, files=dict(trap.files)
        )

    def passes_its_tests(self, source: str) -> bool:
        site = checkout(self.folder / "tested", source, self.trap.test, files=dict(self.trap.files))
        done = subprocess.run([sys.executable, "-S", "check.py"], cwd=site.path, check=False)
        return done.returncode == 0


def test_there_are_enough_of_them() -> None:
    assert len(TRAPS) >= 60
    assert all(trap.wrong and trap.right for trap in TRAPS)


def test_no_wrong_one_passes_and_no_right_one_fails(case: ResolvedSpec) -> None:
    assert case.original.baseline.problem == ""
    trap = case.trap
    for version in (*trap.wrong, *trap.right, *trap.slow, *trap.differs):
        assert case.passes_its_tests(version.source), version.name
    for version in case.trap.wrong:
        assert case.original.differs(version.source), f"passed: {version.name}"
    for version in case.trap.differs:
        assert case.original.differs(version.source, far=True), f"not told: {version.name}"
    for version in (*trap.right, *trap.slow, *trap.differs):
        found = case.original.differs(version.source)
        assert not found, (version.name, found[0])
