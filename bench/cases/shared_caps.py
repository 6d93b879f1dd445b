"""One cap over ten processes, beside a counter in a SQLite file that each of them polls, and
beside a semaphore that is a named actor on Ray.

All processes write down when each call asked for its permit, began and ended, by the machine's
clock. What is in flight over all of them, and how long calls waited although a permit was free
somewhere, is computed from that afterwards: nobody has to be believed.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from bench.harness import (
    ROOT,
    Row,
    at_least,
    at_most,
    environment,
    fresh,
    interleaved,
    ratio,
    seconds,
)

PROCESSES = 10
CAP = 50
WIDE = 10
CALLS = 60
"""Of each of `WIDE` items in each process."""
HELD_S = (0.03, 0.09)
POLL_S = 0.005
ALONE = 5_000
Span = tuple[float, float, float]
"""When a call asked, began and ended."""
Permit = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]


async def calls(chance: Random, permit: Permit, spans: list[Span]) -> None:
    """One item: a call after the other."""
    for _ in range(CALLS):
        asked = time.monotonic()

        async def held(asked: float = asked) -> None:
            began = time.monotonic()
            await asyncio.sleep(chance.uniform(*HELD_S))
            spans.append((asked, began, time.monotonic()))

        await permit(held)


def shared(folder: str, seed: str) -> None:
    """One process, with our caps."""
    from fanwise import Caps, Shared, call, fan_out, open_run

    async def main() -> list[Span]:
        spans: list[Span] = []
        chance = Random(int(seed))

        async def permit(work: Callable[[], Awaitable[None]]) -> None:
            await call(work, needs="key")

        caps = Caps(key=Shared(CAP, name="team-key"))
        journal = Path(folder) / "journal.db"
        async with open_run(f"run-{seed}", journal=journal, caps=caps) as run:
            await _at_once()
            await fan_out(
                lambda _: calls(chance, permit, spans), range(WIDE), cap=WIDE, run=run, record=False
            )
        return spans

    print(json.dumps(asyncio.run(main())))


def polled(folder: str, seed: str) -> None:
    """One process, with a counter that it polls."""
    connection = sqlite3.connect(
        Path(folder) / "permits.db", timeout=60, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous = OFF")

    turn = threading.Lock()  # the number of changed rows is that of the connection

    def move(query: str) -> bool:
        with turn:
            return connection.execute(query).rowcount == 1

    async def main() -> list[Span]:
        spans: list[Span] = []
        chance, alone = Random(int(seed)), asyncio.Lock()

        async def permit(work: Callable[[], Awaitable[None]]) -> None:
            async with alone:
                while not await asyncio.to_thread(move, TAKE):
                    await asyncio.sleep(POLL_S)
            try:
                await work()
            finally:
                await asyncio.to_thread(move, "UPDATE permits SET used = used - 1")

        await _at_once()
        await asyncio.gather(*(calls(chance, permit, spans) for _ in range(WIDE)))
        return spans

    print(json.dumps(asyncio.run(main())))


def actor(folder: str, seed: str) -> None:
    """One process, with a semaphore that is a named actor."""
    import ray

    _join((Path(folder) / "address").read_text())
    semaphore = ray.get_actor("permits")

    async def main() -> list[Span]:
        spans: list[Span] = []
        chance = Random(int(seed))

        async def permit(work: Callable[[], Awaitable[None]]) -> None:
            await semaphore.acquire.remote()
            try:
                await work()
            finally:
                await semaphore.release.remote()

        await _at_once()
        await asyncio.gather(*(calls(chance, permit, spans) for _ in range(WIDE)))
        return spans

    print(json.dumps(asyncio.run(main())))


@contextmanager
def _named_actor(folder: Path) -> Iterator[None]:
    """A Ray of this machine, with the semaphore."""
    import ray

    context = _join("local")
    try:
        (folder / "address").write_text(context.address_info["gcs_address"])
        options = {"name": "permits", "num_cpus": 0, "max_concurrency": 2 * PROCESSES * WIDE}
        semaphore: Any = ray.remote(_Semaphore).options(**options).remote()
        ray.get(semaphore.ready.remote())
        yield
    finally:
        ray.shutdown()


def _join(address: str) -> Any:
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet: dict[str, Any] = {
        "log_to_driver": False,
        "configure_logging": False,
        "namespace": "bench",
    }
    if address == "local":
        quiet |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    return ray.init(address, **quiet)


class _Semaphore:
    def __init__(self) -> None:
        self._free = asyncio.Semaphore(CAP)

    async def ready(self) -> None: ...

    async def acquire(self) -> None:
        await self._free.acquire()

    async def release(self) -> None:
        self._free.release()


TAKE = f"UPDATE permits SET used = used + 1 WHERE used < {CAP}"


async def _at_once() -> None:
    """Say that this process is ready, and wait for all the others."""
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


def ten(kind: str) -> list[list[Span]]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as around:
        if kind == "actor":
            around.enter_context(_named_actor(Path(folder)))
        if kind == "polled":
            connection = sqlite3.connect(Path(folder) / "permits.db")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE permits AS SELECT 0 AS used")
            connection.commit()
            connection.close()
        program = f"from bench.cases.shared_caps import {kind}; import sys; {kind}(*sys.argv[1:])"
        every = [
            subprocess.Popen(
                [sys.executable, "-c", program, folder, str(seed)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env=environment(), cwd=ROOT,
            )
            for seed in range(PROCESSES)
        ]  # fmt: skip
        for each in every:
            assert each.stdout is not None and each.stdout.readline() == "ready\n"
        for each in every:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        return [json.loads(each.communicate()[0]) for each in every]


class Figures:
    """What the calls of all processes came to."""

    def __init__(self, processes: list[list[Span]]) -> None:
        spans = [span for each in processes for span in each]
        used = _steps([(began, ended) for _, began, ended in spans])
        wanted = _steps([(asked, ended) for asked, _, ended in spans])
        self.peak = max(count for _, count in used)
        # While there was enough to do for all permits: the beginning and the end do not count.
        full = [at for at, count in wanted if count >= CAP]
        begin, end = min(full), max(full)
        self.used = _area(used, begin, end) / (CAP * (end - begin))
        waits = sorted(_waits(spans))
        self.median_ms = 1000 * statistics.median(waits)
        self.p99_ms = 1000 * waits[int(len(waits) * 0.99)]
        # How many calls each had made when the first one was through.
        through = min(each[-1][2] for each in processes)
        made = [sum(ended <= through for _, _, ended in each) for each in processes]
        self.unfair = max(abs(each / statistics.mean(made) - 1) for each in made)


def _waits(spans: list[Span]) -> list[float]:
    """How long each call waited although there was a permit, the one that was free the longest."""
    free = deque([-math.inf] * CAP)
    events = [(ended, False, 0.0) for _, _, ended in spans]
    events += [(began, True, asked) for asked, began, _ in spans]
    found = []
    for at, begins, asked in sorted(events):
        if not begins:
            free.append(at)
        elif free:
            found.append(at - max(asked, free.popleft()))
    return found


def _steps(spans: list[tuple[float, float]]) -> list[tuple[float, int]]:
    """How many there were, from each time on. One that ends makes room for one that begins."""
    events = sorted([(end, -1) for _, end in spans] + [(begin, 1) for begin, _ in spans])
    found, count = [], 0
    for at, change in events:
        count += change
        found.append((at, count))
    return found


def _area(steps: list[tuple[float, int]], begin: float, end: float) -> float:
    """The sum over time."""
    total, at, value = 0.0, begin, 0
    for time_, count in _between(steps, begin, end):
        total += value * (time_ - at)
        at, value = max(time_, begin), count
    return total + value * (end - at)


def _between(steps: list[tuple[float, int]], begin: float, end: float) -> list[tuple[float, int]]:
    first = max(0, bisect_right(steps, (begin, 1 << 30)) - 1)
    last = bisect_right(steps, (end, 1 << 30))
    return [(max(at, begin), count) for at, count in steps[first:last]]


def alone(kind: str) -> float:
    """CPU seconds of calls with a permit that the process holds; for `uses`, calls per exchange."""
    from fanwise import Caps, Shared, call, fan_out, open_run

    async def main() -> float:
        caps = Caps(key=CAP if kind == "plain" else Shared(CAP, name="team-key"))

        async def item(_: int) -> None:
            for _ in range(ALONE // WIDE):
                await call(nothing, needs="key")

        with tempfile.TemporaryDirectory() as folder:
            async with open_run("r", journal=Path(folder) / "journal.db", caps=caps) as run:
                began = time.process_time()
                await fan_out(item, range(WIDE), cap=WIDE, run=run, record=False)
                took = time.process_time() - began
                leased = caps.ledger.resources["key"].leased
                exchanges = 0 if leased is None else getattr(leased.owner, "exchanges", 0)
        return ALONE / exchanges if kind == "uses" else took

    return asyncio.run(main())


async def nothing() -> None: ...


def measure() -> list[Row]:
    module = "bench.cases.shared_caps"
    uses = float(fresh(module, "alone", "uses").answer)
    cpu = interleaved(
        {kind: partial(fresh, module, "alone", kind) for kind in ("held", "plain")}, 3
    )
    ours, other, named = (Figures(ten(kind)) for kind in ("shared", "polled", "actor"))
    held, plain = seconds(cpu["held"]), seconds(cpu["plain"])
    share = ratio(cpu["held"], cpu["plain"])
    us = 1e6 / ALONE
    return [
        at_least("shared-caps: uses of a lease, alone", f"{uses:.0f}", "", uses, 25),
        at_most(
            "shared-caps: CPU of a call with a held permit",
            f"{held * us:.0f} us", f"a plain cap {plain * us:.0f} us", share, 1.15,
        ),
        at_most(
            "shared-caps: most in flight, of 50", str(ours.peak),
            f"polled {other.peak}, actor {named.peak}",
            ours.peak / CAP, 1.0,
        ),
        at_least(
            "shared-caps: of the cap in use", f"{ours.used:.3f}",
            f"polled {other.used:.3f}, actor {named.used:.3f}",
            ours.used, 0.95,
        ),
        at_most(
            "shared-caps: median wait beyond the cap", f"{ours.median_ms:.2f} ms",
            f"polled {other.median_ms:.2f}, actor {named.median_ms:.2f} ms", ours.median_ms, 5,
        ),
        at_most(
            "shared-caps: p99 of it", f"{ours.p99_ms:.2f} ms",
            f"polled {other.p99_ms:.2f}, actor {named.p99_ms:.2f} ms",
            ours.p99_ms, 20,
        ),
        at_most(
            "shared-caps: how far a process is from its fair share", f"{ours.unfair:.2f}",
            f"polled {other.unfair:.2f}, actor {named.unfair:.2f}", ours.unfair, 0.2,
        ),
    ]  # fmt: skip
