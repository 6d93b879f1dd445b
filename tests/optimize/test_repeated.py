"""Benchmarks of the user's own that make the same call again and again: no cache wins there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fanwise.optimize import OptimizeResult, optimize_sync
from fanwise.processes.sandbox import unusable
from tests.marks import slow
from tests.optimize.support import code, make_repo
from tests.workspaces.support import write

pytestmark = pytest.mark.skipif(bool(unusable()), reason=unusable() or "there is a sandbox")

WORK = code("""
    def total(n):
        found = 0
        for each in range(n):
            found += each * each % 7
        return found
""")
FAST = code("""
    _WEEK = [each * each % 7 for each in range(7)]


    def total(n):
        return 0 if n <= 0 else sum(_WEEK) * (n // 7) + sum(_WEEK[: n % 7])
""")
CACHED = "from functools import lru_cache\n\n\n@lru_cache(maxsize=None)\n" + WORK
ON_DISK = code("""
    import json, os
    FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known.json")


    def total(n):
        try:
            with open(FILE) as file:
                known = json.load(file)
        except OSError:
            known = {}
        if str(n) not in known:
            found = 0
            for each in range(n):
                found += each * each % 7
            known[str(n)] = found
            with open(FILE, "w") as file:
                json.dump(known, file)
        return known[str(n)]
""")
TESTS = "from work import total\nassert total(10) == 19\nassert total(700) < total(800)\n"
BENCH = code("""
    from work import total


    def run():
        return [total(30000) for _ in range(150)]


    if __name__ == "__main__":
        run()
""")


def judge(
    folder: Path, bench: dict[str, Any], *, target: str | None, **more: Any
) -> OptimizeResult:
    files = {"work.py": WORK, "check.py": TESTS, "bench.py": BENCH}
    make_repo(folder / "project", files)
    for name, text in {"fast": FAST, "cached": CACHED, "on_disk": ON_DISK}.items():
        write(folder / "candidates" / f"{name}.py", f"# path: work.py\n{text}")
    return optimize_sync(
        target, "candidates/*", "python check.py", repo="project", folder=folder, cap=2,
        bench={"budget": "300s", **bench}, **more,
    )  # fmt: skip


def statuses(result: OptimizeResult) -> dict[str, str]:
    return {Path(each.candidate.name).stem: each.status for each in result.verdicts}


@slow
@pytest.mark.parametrize("bench", [{"call": "bench:run"}, {"command": "python bench.py"}])
def test_a_cache_does_not_win_in_a_loop_over_one_call(
    tmp_path: Path, bench: dict[str, str]
) -> None:
    """Neither in memory nor in a file that the next process would find."""
    result = judge(tmp_path, bench, target="work.py::total")
    found = statuses(result)
    assert found["fast"] == "accepted", result.table()
    assert found["cached"] in ("rejected", "undecided"), result.table()
    assert found["on_disk"] in ("rejected", "undecided"), result.table()
    assert "repeats calls, and its new ones" in result.verdict("candidates/cached.py").reason


@slow
def test_without_a_target_only_repeated_calls_are_measured_unless_that_is_allowed(
    tmp_path: Path,
) -> None:
    result = judge(tmp_path / "one", {"command": "python bench.py"}, target=None)
    assert set(statuses(result).values()) <= {"undecided", "rejected"}, result.table()
    reason = result.verdict("candidates/fast.py").reason
    assert "only repeated calls were measured: there is no target" in reason
    assert result.winner is None
    allowed = {"fields": {"allow_repeated": True}}
    result = judge(tmp_path / "two", {"command": "python bench.py"}, target=None, **allowed)
    assert statuses(result)["fast"] == "accepted", result.table()


LEAVES = WORK.replace(
    "    found = 0\n",
    "    import os, sys\n    if sys.argv[0].endswith('bench.py'):\n        os._exit(0)\n"
    "    found = 0\n",
)
SPREAD = """
from work import total

for n in range(40):
    total(30000 + n)
print("done in", 1.5, "s")
"""


@slow
@pytest.mark.parametrize(
    ("printing", "status"), [(False, "undecided"), pytest.param(True, "rejected", marks=slow)]
)
def test_who_leaves_the_benchmark_early_does_not_win(
    tmp_path: Path, printing: bool, status: str
) -> None:
    """No call is made twice there, so new calls are not timed by themselves."""
    bench = SPREAD if printing else SPREAD.rpartition("print")[0]
    make_repo(tmp_path / "project", {"work.py": WORK, "check.py": TESTS, "bench.py": bench})
    write(tmp_path / "candidates" / "leaves.py", f"# path: work.py\n{LEAVES}")
    [verdict] = optimize_sync(
        "work.py::total", "candidates/*", "python check.py", repo="project", folder=tmp_path, cap=2,
        bench={"budget": "300s", "command": "python bench.py"},
    ).verdicts  # fmt: skip
    assert verdict.speed is not None
    assert verdict.speed.ratio > 1.3
    assert verdict.status == status, verdict.reason
    wanted = "it prints something else" if printing else "makes 0 calls of the target"
    assert wanted in verdict.reason
