"""Trivial items, 1,000 at a time, each on disk before anyone is told of it.

50,000 of them are set against a bare pool, by the processor's time of all threads: that of the
wall clock depends on who else uses the machine, and its disk. A million show that nothing grows.

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

from bench.harness import Measured, Row, at_least, fresh, interleaved, ratio, seconds
from fanwise import Outcomes, fan_out, open_run

CAP = 1_000
ITEMS = 50_000
ROUNDS = 5
LEAST_RATIO = 0.45
MANY = 1_000_000
MOST_S = 45
MOST_S_RESUMED = 15
MOST_MB_RESUMED = 500

TABLE = """CREATE TABLE items (key TEXT PRIMARY KEY, status TEXT, value TEXT, ended_at REAL,
    ran_s REAL) WITHOUT ROWID"""
INSERT = "INSERT INTO items VALUES (?, ?, ?, ?, ?)"


async def trivial(item: int) -> int:
    await asyncio.sleep(0)
    return item


def made(path: str) -> None:
    """A new journal. Its tables, and what it takes to make them, are not what is measured here."""
    with open_run(journal=path):
        pass


def recorded(items: int, path: str) -> float:
    """All of them, into a journal that is there."""
    began = time.process_time()
    outcomes = asyncio.run(_fan_out(items, path))
    took = time.process_time() - began
    assert outcomes.values() == list(range(items))
    return took


def resumed(items: int, path: str) -> float:
    """The same again, with every outcome already there."""
    began = time.process_time()
    outcomes = asyncio.run(_fan_out(items, path))
    took = time.process_time() - began
    assert len(outcomes) == items and all(outcome.recorded for outcome in outcomes)
    return took


async def _fan_out(items: int, path: str) -> Outcomes[int]:
    async with open_run("bench", journal=path) as run:
        return await fan_out(trivial, range(items), cap=CAP, run=run)


def bare(items: int) -> float:
    async def main(path: Path) -> float:
        began = time.process_time()
        pool = _BarePool(path)
        await pool.run(iter(range(items)))
        took = time.process_time() - began
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
    """Against the bare pool; then a million, and what it takes to resume them."""
    found = interleaved(
        {
            "ours": _ours,
            "bare": lambda: fresh(__name__, "bare", ITEMS),
        },
        rounds=ROUNDS,
    )
    mine, theirs = seconds(found["ours"]), seconds(found["bare"])
    return [
        at_least(
            f"durable: items per second of CPU time, {ITEMS:,}, against a bare pool",
            f"{ITEMS / mine:,.0f}",
            f"{ITEMS / theirs:,.0f}",
            ratio(found["bare"], found["ours"]),
            LEAST_RATIO,
        ),
        *_many(),
    ]


def _ours() -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "journal.db"))
        fresh(__name__, "made", path)
        return fresh(__name__, "recorded", ITEMS, path)


def _many() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "journal.db"))
        fresh(__name__, "made", path)
        first = fresh(__name__, "recorded", MANY, path)
        again = fresh(__name__, "resumed", MANY, path)
    return [
        _cpu(f"durable: CPU time of {MANY:,} items", first, MOST_S),
        _cpu(f"durable: CPU time of resuming {MANY:,} items", again, MOST_S_RESUMED),
        Row(
            f"durable: peak memory of resuming {MANY:,} items",
            f"{again.peak_mb:.0f} MB",
            bound=f"<= {MOST_MB_RESUMED} MB",
            ok=again.peak_mb <= MOST_MB_RESUMED,
        ),
    ]


def _cpu(case: str, measured: Measured, most: float) -> Row:
    took = float(measured.answer)
    return Row(case, f"{took:.1f} s", bound=f"<= {most} s", ok=took <= most)
