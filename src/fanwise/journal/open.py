"""Find and open the journal. Only this module knows the default location.

The implementations are imported when a journal is opened: `fanwise --help` and fan-outs in memory
need no SQLite, and `fanwise runs` needs no writer.
"""

from __future__ import annotations

import os
from pathlib import Path

from fanwise.errors import JournalNotWritable, UsageError
from fanwise.journal.port import Journal
from fanwise.journal.postgres.address import is_postgres, without_password
from fanwise.private_files import close_to_others, make_folder, open_file

VARIABLE = "FANWISE_JOURNAL"
DIRECTORY = ".fanwise"
DEFAULT = Path(DIRECTORY, "journal.db")
SCHEME = "sqlite:///"


def open_journal(
    location: str | os.PathLike[str] | None = None, *, read_only: bool = False
) -> Journal:
    """Open the journal at a path, an `sqlite:///path` URL or a `postgresql://` URL.

    One that does not exist is created. Default: the value of FANWISE_JOURNAL, or
    `.fanwise/journal.db` in the working directory. A `read_only` journal is never created and need
    not be writable. Other files are made private to you, even if other users could read them.
    """
    if (address := postgres_address(location)) is not None:
        from fanwise.journal.postgres.journal import PostgresJournal, ReadOnlyPostgresJournal

        return ReadOnlyPostgresJournal(address) if read_only else PostgresJournal(address)
    path = journal_path(location)
    if read_only:
        from fanwise.journal.read_only import ReadOnlyJournal

        return ReadOnlyJournal(path)
    from fanwise.journal.sqlite import SqliteJournal

    _make_directory(path.parent)
    return SqliteJournal(path)


def journal_is_there(location: str | os.PathLike[str] | None = None) -> bool:
    """Whether there is a journal to read. Without asking a server, which says so itself.

    Of a process that was killed while it made its journal, an empty file may be left.
    """
    if postgres_address(location) is not None:
        return True
    path = journal_path(location)
    log = path.with_name(f"{path.name}-wal")
    if path.is_file() and path.stat().st_size == 0:
        return log.exists() and log.stat().st_size > 0
    return path.exists()


def shown_location(location: str | os.PathLike[str] | None = None) -> str:
    """Where the journal is, for messages: without a password."""
    address = postgres_address(location)
    return str(journal_path(location)) if address is None else without_password(address)


def files_folder(location: str | os.PathLike[str] | None = None) -> Path:
    """Where the files of runs are: beside the journal, or here if it is on a server."""
    if postgres_address(location) is not None:
        return Path(DIRECTORY, "files").absolute()
    path = journal_path(location)
    return path.with_name(f"{path.name}.files")


def postgres_address(location: str | os.PathLike[str] | None = None) -> str | None:
    """The address of the server that has the journal; None: it is a file."""
    text = _given(location)
    return text if is_postgres(text) else None


def _given(location: str | os.PathLike[str] | None) -> str:
    return os.fspath(location if location is not None else os.environ.get(VARIABLE) or DEFAULT)


def journal_path(location: str | os.PathLike[str] | None = None) -> Path:
    """The absolute path of the journal's file."""
    text = _given(location)
    if text.startswith(SCHEME):
        text = text.removeprefix(SCHEME)
        if "?" in text:
            raise _unusable(str(location), "has options, of which there are none")
    if not text or text == ":memory:" or "://" in text:
        raise _unusable(without_password(text), "is not the location of a journal")
    return Path(text).expanduser().absolute()


def _unusable(location: str, problem: str) -> UsageError:
    return UsageError(
        f"{location!r} {problem}",
        f"Give the path of an SQLite file, {SCHEME}PATH ({SCHEME}/PATH if it is absolute), "
        "or postgresql://USER@HOST/DATABASE",
    )


def _make_directory(directory: Path) -> None:
    try:
        if directory.exists():
            if directory.name == DIRECTORY:  # any other directory may hold more than journals
                close_to_others(directory)
            return
        make_folder(directory)
        if directory.name == DIRECTORY:
            with os.fdopen(open_file(directory / ".gitignore"), "w") as file:
                file.write("*\n")
    except OSError as error:
        raise JournalNotWritable(
            str(directory), error.strerror or str(error), opening=True
        ) from error
