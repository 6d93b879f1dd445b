"""Only its owner may read a journal, whatever the umask and whichever version made it."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fanwise import open_run
from fanwise.journal.open import open_journal
from fanwise.journal.port import ItemStartWrite
from fanwise.kernel.run_files import files_of
from tests.journal.conftest import a_run, write

SIDE_FILES = ("journal.db", "journal.db-shm", "journal.db-wal", "journal.db.lock")


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(folder: Path) -> dict[str, int]:
    return {file.name: mode(file) for file in folder.iterdir() if file.name != ".gitignore"}


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FANWISE_JOURNAL", raising=False)


def open_to_all(folder: Path) -> None:
    """As the umask of most people had it before."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def make(folder: Path = Path(".fanwise")) -> Path:
    journal = open_journal(folder / "journal.db")
    journal.create_run(a_run())
    journal.close()
    return folder


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
def test_a_new_journal_is_private_whatever_the_umask(mask: int, tmp_path: Path) -> None:
    with umask(mask):
        journal = open_journal()
        write(journal, ItemStartWrite(1, "k", 0, 1.0))
    assert mode(tmp_path / ".fanwise") == 0o700
    assert modes(tmp_path / ".fanwise") == dict.fromkeys(SIDE_FILES, 0o600)
    journal.close()


def test_files_kept_beside_the_journal_are_in_a_private_folder(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_run("r") as run, files_of(run) as folder:
            assert folder == tmp_path / ".fanwise" / "journal.db.files" / "r"
            assert (mode(folder), mode(folder.parent)) == (0o700, 0o700)

    with umask(0):
        asyncio.run(main())


def test_an_earlier_journal_is_closed_to_others_when_it_is_next_written_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = make()
    (folder / "journal.db.files").mkdir()
    other = open_journal(folder / "journal.db")  # so that there is a write-ahead log already
    write(other, ItemStartWrite(1, "k", 0, 1.0))
    open_to_all(folder)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            open_journal().close()
    assert mode(folder) == 0o700
    assert modes(folder) == dict.fromkeys(SIDE_FILES, 0o600) | {"journal.db.files": 0o700}
    [message] = [record.getMessage() for record in caplog.records]
    assert message.endswith("journal.db could be read by other users; from now on only by you")
    other.close()


def test_looking_at_a_journal_changes_no_permissions() -> None:
    folder = make()
    open_to_all(folder)
    open_journal(read_only=True).close()
    assert (mode(folder), mode(folder / "journal.db")) == (0o755, 0o644)


def test_a_folder_that_may_hold_other_things_is_left_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o775)
    make(shared)
    open_to_all(shared)
    open_journal(shared / "journal.db").close()
    assert (mode(shared), mode(shared / "journal.db")) == (0o755, 0o600)


def test_what_a_link_points_to_is_left_as_it_is(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o755)
    (tmp_path / ".fanwise").symlink_to(elsewhere)
    open_journal().close()
    assert (mode(elsewhere), mode(elsewhere / "journal.db")) == (0o755, 0o600)


def test_folders_that_are_made_for_a_journal_are_private(tmp_path: Path) -> None:
    with umask(0):
        open_journal(tmp_path / "new" / "deep" / "j.db").close()
    assert [mode(tmp_path / name) for name in ("new", "new/deep")] == [0o700, 0o700]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_journal_of_another_user_is_left_as_it_is() -> None:
    folder = make()
    open_to_all(folder)
    for path in (folder, folder / "journal.db"):
        os.chown(path, 12345, 12345)
    open_journal().close()
    assert (mode(folder), mode(folder / "journal.db")) == (0o755, 0o644)


def test_the_database_of_another_program_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    path.write_bytes(b"some text\n" * 1000)
    path.chmod(0o644)
    with pytest.raises(Exception, match="not a database"):
        open_journal(path)
    assert mode(path) == 0o644
