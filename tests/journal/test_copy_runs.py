"""Runs move between journals of any kind, and the copy is verified."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fanwise import Budget, call, fan_out, open_run
from fanwise.errors import JournalDamaged, RunExists
from fanwise.journal.copy_runs import copy_run, difference, refuse_taken
from fanwise.journal.port import ItemStartWrite, Journal
from fanwise.journal.postgres.journal import PostgresJournal
from fanwise.journal.sqlite import SqliteJournal
from fanwise.testing.memory_journal import MemoryJournal
from tests.journal.conftest import write
from tests.postgres import Server


async def a_run_with_everything(journal: Journal) -> None:
    async def work(item: int) -> list[int]:
        await call(_priced, item)
        if item == 3:
            raise ValueError("three")
        return [item]

    async with open_run("r", journal=journal, budget=Budget(requests=100)) as run:
        await fan_out(work, range(6), cap=2, run=run, retry=1)
        await fan_out(work, [7], cap=1, run=run, name="second")
        run.note("remark", {"said": "yes"})
    write(journal, ItemStartWrite(98, "by now the end of the run is on disk", 0, 1.0))


async def _priced(item: int) -> int:
    return item


@pytest.mark.parametrize("way", ["to postgres", "to sqlite"])
def test_a_copied_run_is_equal_and_can_be_resumed(
    way: str, tmp_path: Path, postgres: Server
) -> None:
    sqlite, server = SqliteJournal(tmp_path / "j.db"), PostgresJournal(postgres.address)
    source, target = (sqlite, server) if way == "to postgres" else (server, sqlite)
    write(target, ItemStartWrite(99, "other", 0, 1.0))
    asyncio.run(a_run_with_everything(source))
    copy_run(source, target, source.run("r"))
    assert difference(source, target, "r") is None
    assert [run.id for run in target.runs()] == ["r"]
    asyncio.run(a_run_with_everything(target))  # all is recorded, so nothing runs again
    assert [item.starts for item in target.items(target.fan_outs("r")[0].id)] == [1] * 6
    with pytest.raises(RunExists):
        refuse_taken(target, source.runs())
    sqlite.close()
    server.close()


def test_a_copy_that_differs_is_found(tmp_path: Path) -> None:
    one, other = MemoryJournal(), MemoryJournal()
    asyncio.run(a_run_with_everything(one))
    copy_run(one, other, one.run("r"))
    (first, _) = other.fan_outs("r")
    write(other, ItemStartWrite(first.id, "more", 9, 1.0))
    assert difference(one, other, "r") == f"an item of fan-out {first.path!r}"

    class Forgetful(MemoryJournal):
        def submit(self, write, then=None):  # type: ignore[no-untyped-def]
            if type(write).__name__ != "EventRecord":
                super().submit(write, then)
            elif then is not None:
                then(None)

    with pytest.raises(JournalDamaged, match="the copy differs"):
        copy_run(one, Forgetful(), one.run("r"))
