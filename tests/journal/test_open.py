"""Where the journal is, and what is said when it cannot be opened."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from fanwise.errors import (
    JournalError,
    JournalNotWritable,
    JournalTooNew,
    JournalUnreadable,
    UsageError,
)
from fanwise.journal.open import journal_path, open_journal
from fanwise.journal.port import ItemStartWrite
from fanwise.journal.sqlite import SqliteJournal
from tests.journal.conftest import a_run, is_open, write


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FANWISE_JOURNAL", raising=False)


def make(path: Path) -> Path:
    journal = open_journal(path)
    journal.create_run(a_run())
    journal.close()
    return path


def test_the_default_is_in_the_working_directory_and_git_ignores_it(tmp_path: Path) -> None:
    journal = open_journal()
    assert journal.location == str(tmp_path / ".fanwise" / "journal.db")
    assert (tmp_path / ".fanwise" / ".gitignore").read_text() == "*\n"
    journal.close()


def test_the_variable_names_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANWISE_JOURNAL", str(tmp_path / "deep" / "down" / "j.db"))
    journal = open_journal()
    assert journal.location == str(tmp_path / "deep" / "down" / "j.db")
    assert not (tmp_path / "deep" / "down" / ".gitignore").exists()
    journal.close()


def test_a_url_is_a_path(tmp_path: Path) -> None:
    assert journal_path("sqlite:///a/b.db") == tmp_path / "a" / "b.db"
    assert journal_path(f"sqlite:///{tmp_path}/b.db") == tmp_path / "b.db"
    assert journal_path(tmp_path / "b c#?.db") == tmp_path / "b c#?.db"


@pytest.mark.parametrize("location", ["mysql://host/db", "sqlite://", ":memory:", "sqlite:///a?b"])
def test_what_is_not_supported_is_refused_with_what_is(location: str) -> None:
    with pytest.raises(UsageError, match="sqlite:///PATH"):
        open_journal(location)


def test_a_name_with_odd_characters_works(tmp_path: Path) -> None:
    make(tmp_path / "a b#c?d%20é.db")
    assert (tmp_path / "a b#c?d%20é.db").is_file()


def test_reading_only_does_not_make_a_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalUnreadable, match="there is no journal"):
        open_journal(read_only=True)
    assert not list(tmp_path.iterdir())


def test_a_journal_for_reading_reads_and_refuses_to_write(tmp_path: Path) -> None:
    path = make(tmp_path / "j.db")
    journal = open_journal(path, read_only=True)
    assert [run.id for run in journal.runs()] == ["r"]
    with pytest.raises(JournalNotWritable, match="reading only"):
        journal.create_run(a_run("s"))
    with pytest.raises(JournalNotWritable, match="reading only"):
        write(journal, ItemStartWrite(1, "k", 0, 1.0))
    journal.close()


def test_a_reader_sees_what_a_writer_in_the_same_process_commits(tmp_path: Path) -> None:
    writer = open_journal(tmp_path / "j.db")
    reader = open_journal(tmp_path / "j.db", read_only=True)
    writer.create_run(a_run())
    assert [run.id for run in reader.runs()] == ["r"]
    reader.close()
    writer.create_run(a_run("s"))
    writer.close()


def test_a_directory_is_not_a_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalUnreadable, match="directory"):
        open_journal(tmp_path)


def test_a_directory_that_cannot_be_made_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalNotWritable, match="file"):
        open_journal(tmp_path / "file" / "below" / "j.db")


def test_where_files_cannot_be_made_the_journal_is_not_writable() -> None:
    with pytest.raises(JournalNotWritable):
        open_journal("/proc/fanwise-journal.db")


def test_a_file_that_is_not_sqlite_is_unreadable_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    path.write_bytes(b"some text, and more of it\n" * 1000)
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(JournalUnreadable, match="not a database"):
            open_journal(path, read_only=read_only)
    assert path.read_bytes() == before


def test_a_damaged_header_is_unreadable(tmp_path: Path) -> None:
    path = make(tmp_path / "j.db")
    with path.open("r+b") as file:
        file.write(b"\0" * 100)
    with pytest.raises(JournalUnreadable):
        open_journal(path)


def test_damage_in_the_middle_is_an_error_of_ours_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    journal = open_journal(path)
    write(journal, *(ItemStartWrite(1, f"{i:06}", i, 1.0) for i in range(5000)))
    journal.close()
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 40_000)
    journal = open_journal(path)
    with pytest.raises(JournalUnreadable, match="damaged"):
        list(journal.items(1))
    journal.close()


def test_any_damaged_byte_of_the_schema_is_an_error_of_ours(tmp_path: Path) -> None:
    path = make(tmp_path / "j.db")
    whole = path.read_bytes()
    start = whole.index(b"CREATE TABLE runs")
    errors = []
    for at in range(start, whole.index(b")", start)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            open_journal(path, read_only=True).close()
        except JournalUnreadable as error:
            errors.append(error)
    assert [error for error in errors if isinstance(error.__cause__, UnicodeDecodeError)]
    assert all("Nothing was changed. Move the file away" in str(error) for error in errors)
    path.write_bytes(whole[:start] + b"\xdf" + whole[start + 1 :])
    with pytest.raises(JournalUnreadable, match="damaged"):
        open_journal(path)


def test_an_owner_that_cannot_be_decoded_is_an_error_of_ours(tmp_path: Path) -> None:
    path = make(tmp_path / "j.db")
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE runs SET owner = '{'")
        other.commit()
    journal = open_journal(path, read_only=True)
    with pytest.raises(JournalUnreadable, match="damaged"):
        journal.runs()
    journal.close()


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmarks (url)")
    with pytest.raises(JournalUnreadable, match="another program"):
        open_journal(path)


def test_a_newer_journal_is_refused_and_says_to_upgrade(tmp_path: Path) -> None:
    path = make(tmp_path / "j.db")
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("UPDATE alembic_version SET version_num = '0999'")
        newer.commit()
    for read_only in (False, True):
        with pytest.raises(JournalTooNew, match=r"0999.*Upgrade"):
            open_journal(path, read_only=read_only)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("problem", ["newer", "not a database"])
def test_a_journal_that_is_refused_is_not_left_open(
    tmp_path: Path, problem: str, read_only: bool
) -> None:
    path = make(tmp_path / "j.db")
    if problem == "newer":
        with closing(sqlite3.connect(path)) as newer:
            newer.execute("UPDATE alembic_version SET version_num = '0999'")
            newer.commit()
    else:
        path.write_bytes(b"some text\n" * 1000)
    with pytest.raises(JournalError) as refusal:
        open_journal(path, read_only=read_only)
    # The error is held, and with it all that its traceback refers to: nothing is collected yet.
    assert refusal.value.__traceback__ is not None
    assert not is_open(path)


def test_a_journal_that_another_program_locks_is_not_writable(tmp_path: Path) -> None:
    path = make(tmp_path / "j.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalNotWritable, match="locked"):
            SqliteJournal(path, patience=0.01)


def test_the_port_does_not_import_sqlalchemy() -> None:
    code = """
import sys, fanwise.journal.port, fanwise.journal.open, fanwise.journal.codec, fanwise.journal.owner
import fanwise.testing.memory_journal
sys.exit('sqlalchemy' in sys.modules or 'alembic' in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_new_journal_and_one_that_is_up_to_date_do_not_import_alembic(tmp_path: Path) -> None:
    code = """
import sys; from fanwise.journal.open import open_journal
open_journal(sys.argv[1]).close(); open_journal(sys.argv[1]).close()
sys.exit('alembic' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "j.db"], check=False)
    assert done.returncode == 0


def test_a_disk_that_takes_nothing_is_not_writable_and_nothing_is_left_there(
    tmp_path: Path,
) -> None:
    code = """
import resource, sys
from fanwise.errors import JournalNotWritable
from fanwise.journal.open import open_journal
resource.setrlimit(resource.RLIMIT_FSIZE, (512, resource.RLIM_INFINITY))
try:
    open_journal(sys.argv[1])
except JournalNotWritable as error:
    sys.exit(error.next_step)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "j.db"], capture_output=True, check=False
    )
    assert done.stderr.startswith(b"Nothing was started. Check free space")
    assert list(tmp_path.iterdir()) == []
    make(tmp_path / "j.db")


def test_what_was_recorded_is_not_spoken_of_before_there_is_anything(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalNotWritable, match="Nothing was started"):
        open_journal(tmp_path / "file" / "j.db")
