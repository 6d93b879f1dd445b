"""The lines of a run are compared and read back without holding a snapshot of the journal."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fanwise import open_run
from fanwise.journal.port import InputRecord
from fanwise.journal.sqlite import SqliteJournal
from fanwise.lines.run.recorded_lines import RecordedLines
from tests.cli.support import numbers
from tests.journal.conftest import write

KNOWN = 2000
"""More than are read from the file at once."""


def is_held(path: Path) -> bool:
    """Whether somebody's snapshot keeps the write-ahead log from being emptied."""
    with closing(sqlite3.connect(path)) as connection:
        (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return bool(busy)


@pytest.mark.parametrize("came", [1, KNOWN])
def test_no_snapshot_is_held_while_known_lines_come_again(tmp_path: Path, came: int) -> None:
    path, (out, into) = tmp_path / "j.db", os.pipe()
    journal = SqliteJournal(path)

    async def main() -> list[bytes]:
        async with open_run("r", journal=journal) as run:
            lines = numbers(KNOWN).splitlines()
            write(journal, *(InputRecord("r", n, line) for n, line in enumerate(lines)))
            recorded = RecordedLines(run, out)
            given = recorded.given()
            os.write(into, numbers(came))
            got = [(await anext(given)).data for _ in range(came)]
            assert not is_held(path)
            os.close(into)
            await recorded.finish()
            return got

    try:
        assert asyncio.run(main()) == numbers(came).splitlines()
    finally:
        journal.close()
        os.close(out)
