"""The live view: pages of large runs, and what an open page costs a run and the machine.

The server is a process of its own, as people start it, and answers over HTTP. A page counts until
its last byte is there. A run of a thousand items a second goes with and without a page that is
open on it and asks for news whenever the journal changes, at most once a second, as browsers do.
"""

from __future__ import annotations

import asyncio
import http.client
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.cases.reading import fill
from bench.harness import Measured, Row, at_most, environment, fanwise, fresh, interleaved, ratio
from fanwise import fan_out, open_run
from fanwise.core.stats import CAPS
from fanwise.journal.open import open_journal
from fanwise.journal.port import EventRecord

ROUNDS = 5
LIVE_ROUNDS, LIVE_ITEMS, LIVE_CAP, ITEM_S = 5, 10_000, 10, 0.01
"""A thousand items a second, for ten seconds."""
PAGES = {
    "first page": "/runs/map",
    "items": "/runs/map/items",
    "items, by state": "/runs/map/items?status=failed",
    "items, by text": "/runs/map/items?q=nowhere",
}
BOUNDS = {100_000: (0.5, 0.3), 1_000_000: (1.0, 1.0)}
"""Seconds for the page of a run, and for its items however they are filtered."""


class ViewProcess:
    """`fanwise view`, and how to ask it."""

    def __init__(self, journal: Path) -> None:
        words = ("view", "--no-open", "--journal", str(journal))
        self._process = subprocess.Popen(
            fanwise(*words), env=environment(), stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        found = re.search(r":(\d+)/\?token=(\S+)", self._process.stderr.readline())
        assert found is not None
        self._port, token = int(found[1]), found[2]
        answer = self._ask(f"/?token={token}")
        self._cookie = (answer.getheader("set-cookie") or "").partition(";")[0]

    def _ask(self, address: str, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request("GET", address, headers=headers)
        return connection.getresponse()

    def get(self, address: str) -> float:
        """Seconds until the whole page is there."""
        began = time.perf_counter()
        with self._ask(address, Cookie=self._cookie) as answer:
            answer.read()
            assert answer.status == 200, (address, answer.status)
        return time.perf_counter() - began

    @contextmanager
    def watched(self, address: str) -> Iterator[None]:
        """A page that is open on this."""
        stream = self._ask("/changes", Cookie=self._cookie)
        watcher = threading.Thread(target=self._watch, args=(stream, address))
        watcher.start()
        try:
            yield
        finally:
            self._process.terminate()  # which ends the stream
            watcher.join()

    def _watch(self, stream: http.client.HTTPResponse, address: str) -> None:
        asked_at = 0.0
        with suppress(OSError), stream:  # until the server is ended
            for line in stream:
                if line.startswith(b"event: journal") and time.monotonic() - asked_at >= 1:
                    asked_at = time.monotonic()
                    with self._ask(address, Cookie=self._cookie) as answer:
                        answer.read()

    def cpu_s(self) -> float:
        """The processor's time that it has used."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()


def measure() -> list[Row]:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for items in BOUNDS:
            rows += _pages(Path(folder, f"{items}.db"), items)
        rows += _live(Path(folder))
    return rows


def _pages(path: Path, items: int) -> Iterator[Row]:
    journal = open_journal(path)
    fill(journal, "map", items)
    journal.submit(EventRecord("map", 1e9, CAPS, '{"total": 1000}'))
    journal.close()
    view = ViewProcess(path)
    first, others = BOUNDS[items]
    for name, address in PAGES.items():
        if address == PAGES["first page"]:
            took, bound = view.get(address), first  # once: the server keeps it for a while
        else:
            took, bound = min(view.get(address) for _ in range(ROUNDS)), others
        case = f"view: {name}, {items:,} items"
        yield Row(case, f"{took:.3f} s", bound=f"<= {bound:g} s", ok=took <= bound)
    view.stop()


def _live(folder: Path) -> list[Row]:
    shares: list[float] = []
    numbers = iter(range(1_000))

    def alone() -> Measured:
        return fresh(__name__, "paced", str(folder / f"{next(numbers)}.db"))

    def watched() -> Measured:
        path = folder / f"{next(numbers)}.db"
        open_journal(path).close()
        view = ViewProcess(path)
        with view.watched("/runs/r/live"):
            before, began = view.cpu_s(), time.perf_counter()
            found = fresh(__name__, "paced", str(path))
            shares.append((view.cpu_s() - before) / (time.perf_counter() - began))
        view.stop()
        return found

    found = interleaved({"watched": watched, "alone": alone}, LIVE_ROUNDS)
    costs = ratio(found["watched"], found["alone"])
    share = sorted(shares)[len(shares) // 2]
    return [
        at_most(
            "view: CPU time of a run of 1,000 items/s with a page open on it",
            f"{min(float(each.answer) for each in found['watched']):.2f} s",
            f"{min(float(each.answer) for each in found['alone']):.2f} s",
            costs,
            1.03,
        ),
        Row(
            "view: share of a core that the view needs meanwhile",
            f"{share:.1%}",
            bound="<= 25%",
            ok=share <= 0.25,
        ),
    ]


def paced(path: str) -> float:
    """The processor's time of a run with a steady pace."""

    async def work(_: int) -> None:
        await asyncio.sleep(ITEM_S)

    async def main() -> None:
        async with open_run("r", journal=path) as run:
            await fan_out(work, range(LIVE_ITEMS), cap=LIVE_CAP, run=run)

    began = time.process_time()
    asyncio.run(main())
    return time.process_time() - began
