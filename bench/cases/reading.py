"""A million items looked at and written out by the command line.

Two runs, as the journal has them: what a fan-out returned, and lines of `fanwise map` with what
their commands printed. The processor's time of the whole process counts.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

from bench.harness import Row, command_cpu_s, fanwise
from fanwise.journal.codec import JSON
from fanwise.journal.open import open_journal
from fanwise.journal.port import (
    FanOutRecord,
    InputRecord,
    ItemEndWrite,
    Journal,
    RunRecord,
    Write,
    fan_out_id,
)
from fanwise.processes import Capture, CommandResult

ITEMS = 1_000_000
BATCH = 10_000
BOUND_S = 15.0
PRINTED = JSON.encode(CommandResult(0, stdout=Capture(b"a line of output\n", 17)).to_json())


def measure() -> list[Row]:
    """Each command once: it takes long enough."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.db")
        journal = open_journal(path)
        for kind in ("fan_out", "map"):
            fill(journal, kind, ITEMS)
        journal.close()
        place = ["--journal", str(path)]
        return [
            _row(
                " ".join([*words, *options, f"({kind})"]),
                fanwise(*words, kind, *options, *place),
                folder,
            )
            for kind in ("fan_out", "map")
            for words, options in ((["show"], ["--items"]), (["export"], []))
        ]


def _row(what: str, command: list[str], folder: str) -> Row:
    took = command_cpu_s(command, folder)
    return Row(
        f"reading: CPU time of {what}, {ITEMS:,} items",
        f"{took:.1f} s",
        bound=f"<= {BOUND_S:g} s",
        ok=took <= BOUND_S,
    )


def fill(journal: Journal, kind: str, items: int) -> None:
    """A run of this kind with so many items."""
    digest = sha256(b"{}").hexdigest()
    run = journal.create_run(RunRecord(kind, 0, kind, kind, "{}", digest, "done", 1e9, 1e9 + 60))
    fan_out = fan_out_id(run.number, 1)
    journal.submit(FanOutRecord(fan_out, kind, "items", 1000, "never", 1e9, "done", 1e9 + 60))
    writes = _writes(kind, fan_out, items)
    while batch := list(islice(writes, BATCH)):
        for write in batch[:-1]:
            journal.submit(write)
        _write_and_wait(journal, batch[-1])


def _write_and_wait(journal: Journal, write: Write) -> None:
    written = threading.Event()
    journal.submit(write, lambda _: written.set())
    written.wait()


def _writes(kind: str, fan_out: int, items: int) -> Iterator[Write]:
    for n in range(items):
        if kind == "map":
            yield InputRecord(kind, n, b"line %d" % n)
        at = 1e9 + n * 60 / items
        value = PRINTED if kind == "map" else f'{{"square": {n * n}}}'
        yield ItemEndWrite(fan_out, str(n), n, "done", at, 0.01, 0.5, 0.0, value)
