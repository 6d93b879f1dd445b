"""Twelve candidates with a test of 2 s each, on two slots: how close to what two slots allow.

Two slots allow 12 s for the twelve. The tests sleep, so that the machine's speed does not matter,
and fail, so that nothing is measured afterwards. What is counted is from the first to the last
check; beside it, the whole command with the original's own tests and its noise.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from pathlib import Path

from bench.harness import Row, at_most
from fanwise.kernel import events
from fanwise.optimize import optimize

CANDIDATES, SLOTS, TEST_S = 12, 2, 2.0
BOUND = 1.15
LINE = "import time, value; time.sleep({seconds}); raise SystemExit(value.N != 0)"
PATCH = """\
--- a/value.py
+++ b/value.py
@@ -1 +1 @@
-N = 0
+N = {number}
"""


class Clock:
    """When the first check began, and when the last one ended."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.ended = 0.0
        self.checks = 0

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.ItemStarted) and event.key.startswith("check:"):
            self.began = event.at if self.began is None else self.began
        elif isinstance(event, events.ItemEnded) and (event.outcome.key or "").startswith("check:"):
            self.ended = event.at
            self.checks += 1


def measure() -> list[Row]:
    """One run; it takes half a minute."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FANWISE_CACHE"] = str(Path(folder) / "cache")
        clock = Clock()
        began = time.perf_counter()
        asyncio.run(_run(Path(folder), clock))
        whole = time.perf_counter() - began
    assert clock.checks == CANDIDATES
    assert clock.began is not None
    took = clock.ended - clock.began
    allowed = CANDIDATES / SLOTS * TEST_S
    case = f"optimize: {CANDIDATES} candidates, {TEST_S:g} s of tests each, {SLOTS} slots"
    return [
        at_most(case, f"{took:.1f} s", f"slots allow {allowed:.1f} s", took / allowed, BOUND),
        Row("optimize: the whole run", f"{whole:.1f} s"),
    ]


async def _run(folder: Path, clock: Clock) -> None:
    repo = folder / "repo"
    repo.mkdir()
    (repo / "value.py").write_text("N = 0\n")
    _git(repo, "init", "-q")
    _git(repo, "add", "-A")
    _git(repo, "-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "-qm", "all")
    for number in range(1, CANDIDATES + 1):
        (folder / f"{number:02}.patch").write_text(PATCH.format(number=number))
    line = LINE.format(seconds=TEST_S)
    result = await optimize(
        None,
        "*.patch",
        f'python -c "{line}"',
        repo=repo,
        folder=folder,
        cap=SLOTS,
        bench={"command": "python -c 'import value'", "budget": 1},
        journal=folder / "journal.db",
        subscribers=[clock],
    )
    assert [each.stage for each in result.verdicts] == ["test"] * CANDIDATES, result.table()


def _git(repo: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True)
