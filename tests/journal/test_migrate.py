"""Old journals become new ones, and a new one is the same however it was made."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from fanwise import Budget, Outcome, Usage, call, fan_out, open_run
from fanwise.errors import JournalUnreadable
from fanwise.journal import migrate
from fanwise.journal.read_only import ReadOnlyJournal
from fanwise.journal.sqlite import SqliteJournal
from fanwise.journal.version import HEAD, HISTORY, History
from tests.journal.conftest import Child, a_run

NEXT = f"{int(HEAD) + 1:04}"
NEXT_VERSION = f'''
"""A version that is not there yet."""

import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{HEAD}"


def upgrade() -> None:
    with op.batch_alter_table("runs") as runs:
        runs.add_column(sa.Column("colour", sa.Text, server_default="red"))
'''


@pytest.fixture
def later(tmp_path: Path) -> History:
    """The history as it will be after the next change of the schema."""
    migrations = tmp_path / "migrations"
    (migrations / "versions").mkdir(parents=True)
    for file in [HISTORY.migrations / "env.py", *(HISTORY.migrations / "versions").glob("*.py")]:
        (migrations / file.relative_to(HISTORY.migrations)).write_text(file.read_text())
    (migrations / "versions" / f"{NEXT}_next.py").write_text(NEXT_VERSION)
    return History(head=NEXT, migrations=migrations)


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A journal as the fanwise of schema 0001 left it."""
    path = tmp_path / "first.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(Path(__file__).with_name("journal-0001.sql").read_text())
    return path


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def structure(path: Path) -> dict[str, object]:
    """All that SQLite knows of each table; not its SQL text, whose spacing does not matter."""
    tables: dict[str, object] = {}
    for name, sql in query(path, "SELECT name, sql FROM sqlite_master WHERE type = 'table'"):
        indexes = query(path, f"SELECT name, [unique], origin FROM pragma_index_list('{name}')")
        tables[str(name)] = (
            query(path, f"PRAGMA table_info({name})"),
            [(index, query(path, f"PRAGMA index_info({index[0]})")) for index in indexes],
            [word in str(sql) for word in ("WITHOUT ROWID", "AUTOINCREMENT")],
        )
    return tables


def test_the_migrations_make_exactly_the_schema_of_the_metadata(tmp_path: Path) -> None:
    made, migrated = tmp_path / "made.db", tmp_path / "migrated.db"
    SqliteJournal(made).close()
    with migrate._connection(migrated, "rwc", 1.0) as connection:
        migrate._migrate(connection, HISTORY)
    assert structure(migrated) == structure(made)
    assert query(migrated, "SELECT * FROM alembic_version") == [(HEAD,)]
    assert query(made, "SELECT * FROM alembic_version") == [(HEAD,)]


def test_the_newest_migration_is_the_one_that_new_journals_are_marked_with() -> None:
    config = Config()
    config.set_main_option("script_location", str(HISTORY.migrations))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_an_older_journal_is_migrated_and_a_copy_of_it_is_kept(
    tmp_path: Path, later: History
) -> None:
    path = tmp_path / "j.db"
    old = SqliteJournal(path)
    old.create_run(a_run())
    old.close()
    new = SqliteJournal(path, history=later)
    assert [run.id for run in new.runs()] == ["r"]
    new.close()
    assert query(path, "SELECT id, colour FROM runs") == [("r", "red")]
    assert query(path, "SELECT * FROM alembic_version") == [(NEXT,)]
    assert query(path, "PRAGMA journal_mode") == [("wal",)]
    kept = Path(f"{path}.version-{HEAD}")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert query(kept, "SELECT id FROM runs") == [("r",)]
    assert query(kept, "SELECT * FROM alembic_version") == [(HEAD,)]


def test_a_journal_of_the_first_schema_has_the_structure_of_a_new_one_afterwards(
    tmp_path: Path, first: Path
) -> None:
    SqliteJournal(first).close()
    SqliteJournal(tmp_path / "new.db").close()
    assert structure(first) == structure(tmp_path / "new.db")
    assert query(first, "SELECT * FROM alembic_version") == [(HEAD,)]
    kept = Path(f"{first}.version-0001")
    assert query(kept, "SELECT count(*) FROM attempts") == [(8,)]
    assert query(kept, "SELECT * FROM alembic_version") == [("0001",)]


def test_attempts_of_the_first_schema_are_read_back_and_what_they_lack_is_unknown(
    first: Path,
) -> None:
    columns = "fan_out, key, call, queued_s, ran_s, backoff_s, error, requests, tokens, usd, number"
    before = query(first, f"SELECT {columns} FROM attempts")
    journal = SqliteJournal(first)
    [fan_out] = journal.fan_outs("old")
    rows = list(journal.attempts(fan_out.id))
    journal.close()
    read = [msgspec.structs.astuple(row) for row in rows]
    assert [(*row[:10], row[-1]) for row in read] == before
    assert {row[10:-1] for row in read} == {(None,) * 9}


def test_a_run_of_the_first_schema_goes_on_and_counts_what_it_had_spent(first: Path) -> None:
    async def item(n: int) -> int:
        return await call(asyncio.sleep, 0, n, usage=lambda _: new)

    async def main() -> list[Outcome[int]]:
        async with open_run("old", journal=first, budget=budget) as run:
            return list(await fan_out(item, range(6), run=run, key=lambda n: f"k{n}"))

    new = Usage(1, 100, 0.5, input_tokens=60, output_tokens=40, cached_tokens=0)
    budget = Budget(tokens=1000)
    *old, last = asyncio.run(main())
    assert [outcome.unwrap() for outcome in old] == [0, 1, 2, 3, 4]
    assert all(outcome.recorded for outcome in old)
    spent = [a.usage for outcome in old for a in outcome.attempts if a.call and a.usage]
    assert spent[0] == Usage(1, 10, 0.25)
    assert [a.usage for a in last.attempts if a.call] == [new]
    assert budget.spent["tokens"] == 10 + 0 + 11 + 12 + 13 + 100


def test_a_migration_that_fails_leaves_the_journal_as_it_was(
    tmp_path: Path, later: History
) -> None:
    path = tmp_path / "j.db"
    SqliteJournal(path).close()
    script = later.migrations / "versions" / f"{NEXT}_next.py"
    script.write_text(NEXT_VERSION + "    raise ZeroDivisionError('half way')\n")
    before = structure(path)
    with pytest.raises(ZeroDivisionError):
        SqliteJournal(path, history=later)
    assert structure(path) == before
    assert query(path, "SELECT * FROM alembic_version") == [(HEAD,)]


def test_a_journal_of_the_first_schema_survives_a_migration_that_fails(
    first: Path, later: History
) -> None:
    script = later.migrations / "versions" / "0002_tokens.py"
    script.write_text(script.read_text() + "    raise ZeroDivisionError('half way')\n")
    before = structure(first), query(first, "SELECT * FROM attempts")
    with pytest.raises(ZeroDivisionError):
        SqliteJournal(first, history=later)
    assert (structure(first), query(first, "SELECT * FROM attempts")) == before
    assert query(first, "SELECT * FROM alembic_version") == [("0001",)]


def test_an_older_journal_is_not_migrated_by_looking_at_it(
    tmp_path: Path, later: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "j.db"
    SqliteJournal(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0000'")
        connection.commit()
    with pytest.raises(JournalUnreadable, match="open it once for writing"):
        ReadOnlyJournal(path)


def test_processes_that_make_the_same_journal_at_once_all_succeed(
    tmp_path: Path, child: Child
) -> None:
    code = """
        import sys
        from fanwise.journal.sqlite import SqliteJournal
        from pathlib import Path
        from tests.journal.conftest import a_run
        print("ready", flush=True)
        input()
        for n in range(10):
            journal = SqliteJournal(Path(sys.argv[1], f"{n}.db"))
            journal.create_run(a_run(sys.argv[2]))
            journal.close()
    """
    root = str(Path(__file__).parents[2])
    processes = [child(code, tmp_path, n, PYTHONPATH=root) for n in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        assert process.wait(60) == 0, process.communicate()[1]
    for n in range(10):
        ids = query(tmp_path / f"{n}.db", "SELECT id FROM runs ORDER BY id")
        assert ids == [("0",), ("1",), ("2",), ("3",)]
