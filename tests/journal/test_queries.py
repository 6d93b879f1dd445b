"""The queries are text, so that readers need no SQLAlchemy; here they meet its tables."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from fanwise.journal import queries, schema
from fanwise.journal.sqlite import SqliteJournal
from tests.journal.conftest import a_run

QUERIES = {
    **{name: text for name, text in vars(queries).items() if name.isupper() and name[0] != "_"},
    "items": queries.items(),
    "items of keys": queries.items(3),
    "attempts": queries.attempts(),
    "attempts of keys": queries.attempts(3),
}
del QUERIES["RUN_COLUMNS"], QUERIES["SUMS"]

ONLY_SQLITE = re.compile(r"\b(pragma|rowid|glob|ifnull|json_\w+|or (replace|ignore))\b|->", re.I)


@pytest.fixture(scope="module")
def tables() -> Iterator[sqlite3.Connection]:
    """An empty database with the tables of the schema."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for table in schema.metadata.sorted_tables:
            connection.execute(str(sa.schema.CreateTable(table)))
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        yield connection


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_fits_the_tables_of_the_schema(name: str, tables: sqlite3.Connection) -> None:
    text = QUERIES[name]
    tables.execute(f"EXPLAIN {text}", (None,) * text.count("?"))


@pytest.mark.parametrize("name", QUERIES)
def test_no_query_needs_what_only_sqlite_has(name: str) -> None:
    assert not ONLY_SQLITE.search(QUERIES[name])


def test_a_journal_that_is_up_to_date_is_written_and_read_without_sqlalchemy(
    tmp_path: Path,
) -> None:
    path = tmp_path / "j.db"
    journal = SqliteJournal(path)
    journal.create_run(a_run())
    journal.close()
    code = """
import sys; from fanwise.journal.open import open_journal
for read_only in (False, True):
    journal = open_journal(sys.argv[1], read_only=read_only)
    journal.runs(), journal.fan_outs("r"), journal.call_totals("r")
    journal.close()
sys.exit('sqlalchemy' in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == 0
