"""The journal on disk sorts the writes of a batch; the one in memory takes them one by one.

For any writes in any order, and batches cut anywhere, both must say the same afterwards.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.journal import schema
from fanwise.journal.batch import write_all
from fanwise.journal.port import (
    AttemptWrite,
    Batch,
    EventRecord,
    FanOutEndWrite,
    FanOutRecord,
    InputRecord,
    ItemEndWrite,
    ItemStartWrite,
    Journal,
    RunEndWrite,
    Write,
)
from fanwise.journal.sqlite import SqliteJournal, SqliteTarget
from fanwise.testing.memory_journal import MemoryJournal
from tests.journal.conftest import a_run, write

fan_outs = st.integers(1, 2)
keys = st.sampled_from("abc")
indexes = st.integers(0, 3)
times = st.floats(0, 100)
texts = st.none() | st.just("[]")

writes = st.one_of(
    st.builds(ItemStartWrite, fan_outs, keys, indexes, times),
    st.builds(
        ItemEndWrite,
        fan_outs,
        keys,
        indexes,
        st.sampled_from(["done", "failed"]),
        times,
        times,
        times,
        times,
        texts,
        texts,
    ),
    st.builds(AttemptWrite, fan_outs, keys, texts, times, times, times, texts),
    st.builds(FanOutRecord, fan_outs, st.just("r"), st.just("p"), indexes, texts.map(str), times),
    st.builds(FanOutEndWrite, fan_outs, st.sampled_from(["done", "halted"]), times, st.just("{}")),
    st.builds(EventRecord, st.just("r"), times, st.sampled_from("xyz"), st.just("{}")),
    st.builds(InputRecord, st.just("r"), indexes, st.binary(max_size=3)),
    st.builds(RunEndWrite, st.just("r"), st.sampled_from(["done", "failed"]), times, texts),
)


# An item is in a batch once, and nobody else writes of it before the batch is answered.
gathered = st.builds(
    Batch,
    st.lists(
        st.tuples(fan_outs, st.sampled_from("rst"), indexes, times),
        unique_by=lambda row: row[:2],
    ),
    st.lists(
        st.tuples(
            fan_outs, st.sampled_from("xyz"), indexes, st.sampled_from(["done", "failed"]),
            times, times, times, times, texts, texts,
        ),
        unique_by=lambda row: row[:2],
    ),
    st.lists(writes),
)  # fmt: skip


def everything(journal: Journal) -> list[object]:
    return [
        journal.runs(),
        journal.fan_outs("r"),
        [list(journal.items(n)) for n in (1, 2)],
        [list(journal.attempts(n)) for n in (1, 2)],
        list(journal.events("r")),
        list(journal.inputs("r")),
    ]


def in_one_transaction(journal: SqliteJournal, batch: list[Write]) -> None:
    """Not by `submit`: what makes up a batch would depend on the speed of the disk."""
    journal._writer.call(lambda connection: write_all(SqliteTarget(connection), batch))


def emptied(journal: SqliteJournal) -> None:
    """As new; making a new file for each example would take most of the time."""
    for table in [*schema.metadata.tables, "sqlite_sequence"]:
        sql = f"DELETE FROM {table}"
        journal._writer.call(lambda connection, sql=sql: connection.execute(sql).rowcount)  # type: ignore[misc]


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteJournal]:
    journal = SqliteJournal(tmp_path_factory.mktemp("order") / "j.db")
    yield journal
    journal.close()


@given(
    batches=st.lists(
        st.builds(
            lambda before, batch, after: [*before, batch, *after],
            st.lists(writes, max_size=15),
            gathered,
            st.lists(writes, max_size=15),
        ),
        max_size=4,
    )
)
def test_batches_have_the_effect_of_their_writes_one_by_one(
    on_disk: SqliteJournal, batches: list[list[Write]]
) -> None:
    emptied(on_disk)
    in_memory = MemoryJournal()
    for journal in (on_disk, in_memory):
        journal.create_run(a_run())
    for batch in batches:
        in_one_transaction(on_disk, batch)
        write(in_memory, *batch)
    assert everything(on_disk) == everything(in_memory)


def test_batches_of_every_size_arrive_whole(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j.db")
    for fan_out, size in enumerate(itertools.chain(range(1, 22), (255, 256, 257, 1023))):
        write(journal, *(ItemStartWrite(fan_out, str(i), i, 1.0) for i in range(size)))
        assert [item.index for item in journal.items(fan_out)] == list(range(size))
    journal.close()
