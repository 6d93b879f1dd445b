"""The corpus of traps through whole runs, from the first test to the benchmark.

Every version passes its tests; the wrong ones are faster than the original too. None of those may
be accepted, and none that gains only on repeated calls or loses on small ones. A right one that is
at least 1.3 times as fast, by a clock of this file's own, may not be rejected; of one without a
benchmark of its own the recorded calls are timed, and it may not be rejected before that.

It takes a quarter of an hour: the tests have the same corpus at the differential check alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.optimize.trap_corpus import Trap, Version, read_traps
from tests.workspaces.support import make_repo, write

from bench.harness import Row
from fanwise.optimize import OptimizeResult, optimize_sync
from fanwise.optimize.verdict import CandidateVerdict

GAIN = 1.3
TIMED = """
import time
from mod import {top}

{bench}

def go():
    run({target})

def best():
    times = []
    for _ in range(7):
        began = time.perf_counter()
        go()
        times.append(time.perf_counter() - began)
    return min(times)

if __name__ == "__main__":
    print(best())
"""


def measure() -> list[Row]:
    """All of them."""
    return judge(read_traps())


def judge(traps: Sequence[Trap]) -> list[Row]:
    """Some of them: wrong ones that were accepted, and right ones that were rejected."""
    accepted, rejected, unjudged, wrong, right = [], [], [], 0, 0
    for trap in traps:
        with tempfile.TemporaryDirectory() as folder:
            right_ones = (*trap.right, *trap.differs)
            gains = {each.name: _gain(Path(folder), trap, each.source) for each in right_ones}
            told, failed = _judged(Path(folder), trap)
        unjudged += [f"{trap.name}: {name}, not judged: {why}" for name, why in failed.items()]
        wrong += len(trap.wrong) + len(trap.slow)
        accepted += [
            f"{trap.name}: {name}"
            for name, verdict in told.items()
            if verdict.status == "accepted" and name not in gains
        ]
        fast = [name for name, gain in gains.items() if gain >= GAIN and name in told]
        right += len(fast)
        rejected += [
            f"{trap.name}: {name} ({gains[name]:.2f}): {told[name].stage}, {told[name].reason}"
            for name in fast
            if told[name].status in ("rejected", "same")
            and (trap.bench or told[name].stage != "benchmark")
        ]
    for each in (*accepted, *rejected, *unjudged):
        print(f"  {each}", file=sys.stderr)
    return [
        _row(f"optimize: of {wrong} wrong versions", accepted, "accepted"),
        _row(f"optimize: of {right} right ones, {GAIN} times as fast", rejected, "rejected"),
        _row("optimize: versions", unjudged, "not judged"),
    ]


def _row(case: str, bad: Sequence[str], what: str) -> Row:
    return Row(case, f"{len(bad)} {what}", "", None, "0", not bad)


def _gain(folder: Path, trap: Trap, source: str) -> float:
    """How many times as fast, by the best of seven on each side; without a benchmark, enough."""
    if not trap.bench:
        return GAIN
    sides = [_best(folder / "clock", trap, each) for each in (trap.original, source)]
    return sides[0] / sides[1]


def _best(folder: Path, trap: Trap, source: str) -> float:
    write(folder / "mod.py", source)
    write(folder / "timed.py", _timed(trap))
    command = [sys.executable, "-B", "timed.py"]
    return float(subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout)


def _timed(trap: Trap) -> str:
    top = trap.target.partition(".")[0]
    return TIMED.format(top=top, bench=trap.bench, target=trap.target)


def _versions(trap: Trap) -> tuple[Version, ...]:
    return (*trap.wrong, *trap.slow, *trap.right, *trap.differs)


def _judged(folder: Path, trap: Trap) -> tuple[dict[str, CandidateVerdict], Mapping[str, str]]:
    files = {"mod.py": trap.original, "check.py": trap.test, **dict(trap.files)}
    if trap.bench:
        files["timed.py"] = _timed(trap)
    make_repo(folder / "repo", files)
    versions = {f"{place:02}": each for place, each in enumerate(_versions(trap))}
    for name, version in versions.items():
        write(folder / "candidates" / f"{name}.py", f"# path: mod.py\n{version.source}")
    result: OptimizeResult = optimize_sync(
        f"mod.py::{trap.target}",
        "candidates/*",
        "python check.py",
        repo="repo",
        folder=folder,
        cap=2,
        bench={"call": "timed:go"} if trap.bench else None,
    )
    named = {Path(each.candidate.name).stem: each for each in result.verdicts}
    failed = {versions[Path(name).stem].name: why for name, why in result.failures.items()}
    return {versions[stem].name: each for stem, each in named.items()}, failed
