"""50,000 trivial items, 1,000 at a time, each on disk before anyone is told of it.

The other is the least that can be durable: asyncio workers and one thread that commits whatever
has gathered, with the same SQLite settings. It writes one row for an item, with the same columns
as an outcome of ours (key, status, value as JSON, when, how long), and no more: no starts, no
resume, no retry, no order. Ours writes each item's start before its work too.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench.harness import Row, at_least, best, fresh, interleaved, ratio, seconds
from fanwise import fan_out, open_run

CAP = 1_000
ITEMS = 50_000
ROUNDS = 5
LEAST_RATIO = 0.25
LEAST_RATE = 10_000

TABLE = """CREATE TABLE items (key TEXT PRIMARY KEY, status TEXT, value TEXT, ended_at REAL,
    ran_s REAL) WITHOUT ROWID"""
INSERT = "INSERT INTO items VALUES (?, ?, ?, ?, ?)"


async def trivial(item: int) -> int:
    await asyncio.sleep(0)
    return item


def ours(items: int) -> float:
    async def main(path: Path) -> float:
        began = time.perf_counter()
        async with open_run(journal=path) as run:
            outcomes = await fan_out(trivial, range(items), cap=CAP, run=run)
        took = time.perf_counter() - began
        assert outcomes.values() == list(range(items))
        return took

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.db")
        with open_run(journal=path):  # creating the tables is not what is measured here
            pass
        return asyncio.run(main(path))


def resumed(items: int) -> float:
    """The same again, with every outcome already there."""

    async def main(path: Path) -> float:
        async with open_run("bench", journal=path) as run:
            await fan_out(trivial, range(items), cap=CAP, run=run)
        began = time.perf_counter()
        async with open_run("bench", journal=path, resume=True) as run:
            outcomes = await fan_out(trivial, range(items), cap=CAP, run=run)
        assert all(outcome.recorded for outcome in outcomes)
        return time.perf_counter() - began

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(main(Path(folder, "journal.db")))


def bare(items: int) -> float:
    async def main(path: Path) -> float:
        began = time.perf_counter()
        pool = _BarePool(path)
        await pool.run(iter(range(items)))
        took = time.perf_counter() - began
        with sqlite3.connect(path) as connection:
            (rows,) = connection.execute("SELECT count(*) FROM items").fetchone()
        connection.close()
        assert rows == items
        return took

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(main(Path(folder, "bare.db")))


class _BarePool:
    """Workers that share an iterator, and a thread that commits what they hand in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[tuple[tuple[object, ...], asyncio.Future[None]] | None]
        self._queue = queue.SimpleQueue()

    async def run(self, items: Iterator[int]) -> None:
        thread = threading.Thread(target=self._write)
        thread.start()
        await asyncio.gather(*(self._work(items) for _ in range(CAP)))
        self._queue.put(None)
        thread.join()

    async def _work(self, items: Iterator[int]) -> None:
        for item in items:
            began = self._loop.time()
            value = await trivial(item)
            row = (str(item), "done", json.dumps(value), time.time(), self._loop.time() - began)
            on_disk = self._loop.create_future()
            self._queue.put((row, on_disk))
            await on_disk

    def _write(self) -> None:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(TABLE)
        going = True
        while going:
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get())
            rows = [row for row in batch if row is not None]
            going = len(rows) == len(batch)
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(INSERT, [row for row, _ in rows])
            connection.execute("COMMIT")
            self._loop.call_soon_threadsafe(_tell, [on_disk for _, on_disk in rows])
        connection.close()


def _tell(waiting: list[asyncio.Future[None]]) -> None:
    for future in waiting:
        future.set_result(None)


def measure() -> list[Row]:
    """As a rate, and against the bare pool. Resuming is reported."""
    found = interleaved(
        {
            "ours": lambda: fresh(__name__, "ours", ITEMS),
            "bare": lambda: fresh(__name__, "bare", ITEMS),
            "resumed": lambda: fresh(__name__, "resumed", ITEMS),
        },
        rounds=ROUNDS,
    )
    rate = ITEMS / best(found["ours"])
    return [
        at_least(
            "durable: rate, against a bare pool (medians)",
            _rate(ITEMS / seconds(found["ours"])),
            _rate(ITEMS / seconds(found["bare"])),
            ratio(found["bare"], found["ours"]),
            LEAST_RATIO,
        ),
        Row(
            f"durable: rate (best of {ROUNDS})",
            _rate(rate),
            bound=f">= {LEAST_RATE:,}/s",
            ok=rate >= LEAST_RATE,
        ),
        Row(
            f"durable: resume, all recorded (best of {ROUNDS})",
            _rate(ITEMS / best(found["resumed"])),
        ),
    ]


def _rate(items_a_second: float) -> str:
    return f"{items_a_second:,.0f}/s"
