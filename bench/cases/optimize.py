"""How often a benchmark is wrong: the same code accepted as faster, and a true gain not accepted.

Real processes and the real rule. `SAME` times the unchanged code is the candidate, with a budget
that is just enough for a decision on this machine as it is; at most one in a hundred may be
accepted. Beside it stands what "measured once, then compared, 5 % is a gain" makes of the same
figures.

FANWISE_BENCH_SAME=20 makes it short.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.harness import Row
from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.benchmark import compare
from fanwise.optimize.benchmark.noise import measure_noise
from fanwise.optimize.benchmark.pair import Pair
from fanwise.optimize.benchmark.sequential import Speed
from fanwise.optimize.benchmark.stopwatch import RecordedCalls
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.child_program import Site
from fanwise.optimize.differential.recording import record

SAME = int(os.environ.get("FANWISE_BENCH_SAME", "200"))
GAINS = max(5, SAME // 20)
SAME_PAIRS, GAIN_PAIRS = 10, 80
MOST_ACCEPTED = 0.01
SETTINGS = Settings(timeout_s=60.0, sandbox=False)
WORK = """
def count(words):
    found = {{}}
    for _ in range({times}):
        for word in words:
            found[word] = found.get(word, 0) + 1
    return len(found)
"""
CHECK = """
from words import count
for k in (30, 60, 90, 120):
    assert count([str(n % 17) for n in range(k)]) == 17
"""


def measure() -> list[Row]:
    """A/A, and a gain of 1.3."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> list[Row]:
    original, same = _site(folder, "original", 13), _site(folder, "same", 13)
    faster = _site(folder, "faster", 10)
    target = Target("words.py", "count")
    line = f"{sys.executable} check.py"
    found = await record(original, target, line, SETTINGS, folder / "calls")
    bench = RecordedCalls(recording=found, target=target)
    pair_s = (await measure_noise(original, bench, SETTINGS)).pair_s
    with _watched() as firsts:
        most = SAME_PAIRS * pair_s
        alike = [
            await compare.compare_speed(original, same, bench, SETTINGS, budget_s=most, seed=n)
            for n in range(SAME)
        ]
        naive = sum(ratio >= 1.05 for ratio in firsts)
    most = GAIN_PAIRS * pair_s
    gains = [
        await compare.compare_speed(original, faster, bench, SETTINGS, budget_s=most, seed=n)
        for n in range(GAINS)
    ]
    return [_same(alike, naive), _gain(gains)]


@contextmanager
def _watched() -> Iterator[list[float]]:
    """The first pair of each comparison: all that a single look has."""
    firsts: list[float] = []
    add = compare.Comparison.add

    def watching(self: compare.Comparison, pair: object) -> None:
        if isinstance(pair, Pair) and not self.pairs:
            firsts.append(pair.ratio)
        add(self, pair)  # type: ignore[arg-type]

    compare.Comparison.add = watching  # type: ignore[method-assign]
    try:
        yield firsts
    finally:
        compare.Comparison.add = add  # type: ignore[method-assign]


def _site(folder: Path, name: str, times: int) -> Site:
    (folder / name).mkdir()
    (folder / name / "words.py").write_text(WORK.format(times=times))
    (folder / name / "check.py").write_text(CHECK)
    return Site.folder(folder / name)


def _same(speeds: list[Speed], naive: int) -> Row:
    accepted = sum(speed.decision == "accept" for speed in speeds)
    decided = sum(speed.rounds >= 8 for speed in speeds)
    return Row(
        "optimize: the same code as candidate, accepted",
        f"{accepted} of {len(speeds)} ({decided} with 8 pairs or more)",
        f"one pair, 5 %: {naive} of {len(speeds)}",
        accepted / max(1, naive),
        f"<= {MOST_ACCEPTED:.0%}",
        accepted <= MOST_ACCEPTED * len(speeds),
    )


def _gain(speeds: list[Speed]) -> Row:
    accepted = sum(speed.decision == "accept" for speed in speeds)
    rejected = sum(speed.decision == "reject" for speed in speeds)
    pairs = sorted(speed.rounds for speed in speeds)[len(speeds) // 2]
    return Row(
        "optimize: a gain of 1.3, accepted",
        f"{accepted} of {len(speeds)}",
        f"rejected {rejected}; {pairs} pairs (median)",
        accepted / len(speeds),
        "all",
        accepted == len(speeds),
    )
