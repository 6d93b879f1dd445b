"""Trivial items, 1,000 at a time, each on a PostgreSQL server before anyone hears of it.

The other is a bare pool on the same server: asyncio workers and one thread that commits whatever
has gathered, by COPY, one row for an item. Wall time, because the server's processes count too.
"""

from __future__ import annotations

import asyncio
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from tests.postgres import running_server

from bench.harness import Row, at_least, environment, fresh, interleaved, ratio, seconds

CAP = 1_000
ITEMS = 20_000
ROUNDS = 3
DRIVERS = 8
LEAST_RATIO = 0.4
LEAST_GAIN = 2.0


async def trivial(item: int) -> int:
    await asyncio.sleep(0)
    return item


def recorded(items: int, address: str) -> float:
    """All of them, into a journal that is there."""
    from fanwise import fan_out, open_run

    async def main() -> float:
        async with open_run(journal=address) as run:
            began = time.perf_counter()
            outcomes = await fan_out(trivial, range(items), cap=CAP, run=run)
            took = time.perf_counter() - began
        assert outcomes.values() == list(range(items))
        return took

    return asyncio.run(main())


def bare(items: int, address: str) -> float:
    async def main() -> float:
        began = time.perf_counter()
        await _BarePool(address).run(iter(range(items)))
        return time.perf_counter() - began

    return asyncio.run(main())


class _BarePool:
    """Workers that share an iterator, and a thread that commits what they hand in."""

    def __init__(self, address: str) -> None:
        self._address = address
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
        import psycopg

        with psycopg.connect(self._address, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS bare")
            connection.execute(
                "CREATE TABLE bare (key TEXT PRIMARY KEY, status TEXT, value TEXT, "
                "ended_at FLOAT8, ran_s FLOAT8)"
            )
            going = True
            while going:
                batch = [self._queue.get()]
                while not self._queue.empty():
                    batch.append(self._queue.get())
                rows = [row for row in batch if row is not None]
                going = len(rows) == len(batch)
                with (
                    connection.transaction(),
                    connection.cursor().copy("COPY bare FROM STDIN (FORMAT BINARY)") as copy,
                ):
                    copy.set_types(["text", "text", "text", "float8", "float8"])
                    for row, _ in rows:
                        copy.write_row(row)
                self._loop.call_soon_threadsafe(_tell, [on_disk for _, on_disk in rows])


def _tell(waiting: list[asyncio.Future[None]]) -> None:
    for future in waiting:
        future.set_result(None)


def _rate(drivers: int, address: str) -> float:
    """Items a second of all drivers, from the first that begins to the last that ends."""
    code = (
        "import sys, time; from bench.cases.postgres import recorded, ITEMS\n"
        "sys.stdin.readline(); began = time.time(); recorded(ITEMS, sys.argv[1])\n"
        "print(began, time.time())"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, address], env=environment(), text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(drivers)
    ]  # fmt: skip
    time.sleep(5)  # all have imported everything; a bare pipe cannot say so
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    spans = [list(map(float, process.communicate()[0].split())) for process in processes]
    return drivers * ITEMS / (max(end for _, end in spans) - min(start for start, _ in spans))


def measure() -> list[Row]:
    with running_server() as server:
        fresh(__name__, "recorded", 100, server.address)
        found = interleaved(
            {
                "ours": lambda: fresh(__name__, "recorded", ITEMS, server.address),
                "bare": lambda: fresh(__name__, "bare", ITEMS, server.address),
            },
            ROUNDS,
        )
        ours, other = found["ours"], found["bare"]
        one, many = _rate(1, server.address), _rate(DRIVERS, server.address)
    return [
        at_least(
            f"postgres, {ITEMS:,} items, rate against a bare pool",
            f"{ITEMS / seconds(ours):,.0f}/s",
            f"{ITEMS / seconds(other):,.0f}/s",
            1 / ratio(ours, other),
            LEAST_RATIO,
        ),
        at_least(
            f"postgres, {DRIVERS} drivers at once, rate against one",
            f"{many:,.0f}/s",
            f"{one:,.0f}/s",
            many / one,
            LEAST_GAIN,
        ),
    ]
