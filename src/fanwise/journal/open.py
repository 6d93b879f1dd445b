"""Finding the journal: the one place that knows where it is when nobody says.

What opens it is imported here, when it is opened: `fanwise --help` and fan-outs in memory do
without SQLite, and `fanwise runs` without the thread that writes.
"""

from __future__ import annotations

import os
from pathlib import Path

from fanwise.errors import JournalNotWritable, UsageError
from fanwise.journal.port import Journal
from fanwise.private_files import close_to_others, make_folder, open_file

VARIABLE = "FANWISE_JOURNAL"
DIRECTORY = ".fanwise"
DEFAULT = Path(DIRECTORY, "journal.db")
SCHEME = "sqlite:///"


def open_journal(
    location: str | os.PathLike[str] | None = None, *, read_only: bool = False
) -> Journal:
    """The journal at a path or an `sqlite:///path` URL; made if it is not there.

    Without a location: what FANWISE_JOURNAL says, or `.fanwise/journal.db` in the working
    directory. A `read_only` journal is never made, and need not be writable. Others are made for
    you only, and closed to other users if they were open to them.
    """
    path = journal_path(location)
    if read_only:
        from fanwise.journal.read_only import ReadOnlyJournal

        return ReadOnlyJournal(path)
    from fanwise.journal.sqlite import SqliteJournal

    _make_directory(path.parent)
    return SqliteJournal(path)


def journal_path(location: str | os.PathLike[str] | None = None) -> Path:
    """The absolute path of the journal's file."""
    text = os.fspath(location if location is not None else os.environ.get(VARIABLE) or DEFAULT)
    if text.startswith(SCHEME):
        text = text.removeprefix(SCHEME)
        if "?" in text:
            raise _unusable(str(location), "has options, of which there are none")
    if not text or text == ":memory:" or "://" in text:
        raise _unusable(text, "is not the location of a journal")
    return Path(text).expanduser().absolute()


def _unusable(location: str, problem: str) -> UsageError:
    return UsageError(
        f"{location!r} {problem}",
        f"Give the path of an SQLite file, or {SCHEME}PATH ({SCHEME}/PATH if it is absolute)",
    )


def _make_directory(directory: Path) -> None:
    try:
        if directory.exists():
            if directory.name == DIRECTORY:  # any other may be for more than journals
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
