"""The book of shared caps: one contract for a file, a server and memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fanwise.core.shares import Due
from fanwise.errors import JournalNotWritable
from fanwise.journal import leases
from fanwise.journal.leases import LeaseBook, Offer
from fanwise.journal.open import open_journal
from fanwise.journal.port import Journal
from fanwise.journal.read_only import ReadOnlyJournal
from fanwise.journal.sqlite_leases import SqliteLeaseBook
from fanwise.testing import MemoryJournal

KEY = "team-key"


@pytest.fixture
def books(journal: Journal) -> Iterator[list[LeaseBook]]:
    """Three processes, as it were."""
    found = [journal.lease_book() for _ in range(3)]
    yield found
    for book in found:
        book.close()


def offer(held: int, demand: int, *, in_use: int | None = None, most: int = 10) -> Offer:
    return Offer(most, held, held if in_use is None else in_use, demand)


def test_the_first_gets_what_it_wants_and_the_next_what_is_left(books: list[LeaseBook]) -> None:
    one, two, three = books
    lease = one.exchange(KEY, "1", offer(0, 7))
    assert (lease.held, lease.due, lease.lasts_s) == (7, Due(7, contended=False), leases.LEASE_S)
    assert two.exchange(KEY, "2", offer(0, 7)).held == 3
    assert three.exchange(KEY, "3", offer(0, 1)).held == 0, "nobody is made to give back"
    assert three.exchange("another key", "3", offer(0, 9)).held == 9


def test_who_has_too_much_is_told_and_what_it_gives_back_goes_to_who_waits(
    books: list[LeaseBook],
) -> None:
    one, two, _ = books
    one.exchange(KEY, "1", offer(0, 10))
    two.exchange(KEY, "2", offer(0, 10))
    assert one.wait(60) == {"1": Due(5, contended=True)}
    assert one.exchange(KEY, "1", offer(8, 10)).held == 8
    assert two.wait(60) == {"2": Due(5, contended=True)}
    assert two.exchange(KEY, "2", offer(0, 10)).held == 2
    assert one.exchange(KEY, "1", offer(2, 2)).held == 2, "its items have ended"
    news = two.wait(60)
    assert news["2"].allowed == 8
    assert two.exchange(KEY, "2", offer(2, 10)).held == 8


def test_what_is_released_is_free_for_others_at_once(books: list[LeaseBook]) -> None:
    one, two, three = books
    one.exchange(KEY, "1", offer(0, 10))
    two.exchange(KEY, "2", offer(0, 4))
    one.release(KEY, "1")
    assert two.wait(60)["2"].allowed >= 4
    assert two.exchange(KEY, "2", offer(0, 4)).held == 4
    assert three.exchange(KEY, "3", offer(0, 10)).held == 6


def test_a_lease_that_ran_out_is_void_and_its_holder_has_only_what_it_uses(
    journal: Journal, books: list[LeaseBook], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LEASE_S", 0.0)
    silent = journal.lease_book()
    assert silent.exchange(KEY, "silent", offer(0, 10)).held == 10
    assert books[0].exchange(KEY, "1", offer(0, 8)).held == 8
    back = silent.exchange(KEY, "silent", offer(10, 10, in_use=1))
    assert back.held == 2, "the one that it uses, and what is free: not the ten that it had"
    silent.close()


@pytest.mark.parametrize("lasting", [False, True])
def test_what_is_kept_under_a_name_is_changed_by_one_at_a_time(
    books: list[LeaseBook], lasting: bool
) -> None:
    def add(kept: bytes | None, now: float) -> tuple[bytes, float]:
        return str(int(kept or b"0") + 1).encode(), now

    times: list[float] = []

    def often(book: LeaseBook) -> None:
        times.extend(book.update("n", add, lasting=lasting) for _ in range(20))

    threads = [threading.Thread(target=often, args=(book,)) for book in books]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    total = books[0].update("n", lambda kept, _: (b"0", int(kept or b"0")), lasting=lasting)
    assert total == len(times) == 60
    assert books[0].update("n", lambda kept, _: (b"0", kept), lasting=not lasting) is None


def test_of_two_caps_for_the_same_key_the_smaller_one_counts(books: list[LeaseBook]) -> None:
    one, two, _ = books
    assert one.exchange(KEY, "1", offer(0, 3, most=10)).held == 3
    assert two.exchange(KEY, "2", offer(0, 9, most=5)).held == 2
    assert one.exchange(KEY, "1", offer(3, 9, most=10)).held == 3


def test_waiting_ends_when_it_is_woken_from_another_thread(books: list[LeaseBook]) -> None:
    threading.Thread(target=books[0].wake).start()
    assert books[0].wait(600) == {}


def test_no_more_than_there_are_are_held_whoever_asks_at_once(journal: Journal) -> None:
    held: dict[str, int] = {}
    most = 0
    lock = threading.Lock()

    def ask(name: str) -> None:
        nonlocal most
        book = journal.lease_book()
        for turn in range(20):
            with lock:
                held[name] = held.get(name, 0) // 2
            mine = book.exchange(KEY, name, offer(held[name], 1 + (turn * 7) % 9)).held
            with lock:
                held[name] = mine
                most = max(most, sum(held.values()))
        with lock:
            held[name] = 0
        book.release(KEY, name)
        book.close()

    threads = [threading.Thread(target=ask, args=(name,)) for name in "abcd"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert 0 < most <= 10
    with closing(journal.lease_book()) as book:  # everything came back
        assert book.exchange(KEY, "e", offer(0, 10)).held == 10


PROGRAM = """
import sys
from fanwise.journal.leases import Offer
from fanwise.journal.open import open_journal
book = open_journal(sys.argv[1]).lease_book()
print(book.exchange("team-key", "child", Offer(10, 0, 0, 10)).held, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_permits_of_a_killed_process_come_back_before_its_lease_ends(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_SILENT_S", -1.0)
    monkeypatch.setattr(leases, "GRACE_S", 0.0)
    where = str(tmp_path / "journal.db")
    if kind == "postgres":
        where = request.getfixturevalue("postgres").address
    journal = open_journal(where)
    book = journal.lease_book()
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, where], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None and child.stdin is not None
    with child.stdout, child.stdin:
        assert child.stdout.readline() == b"10\n"
        assert book.exchange(KEY, "me", offer(0, 4)).held == 0, "it is alive"
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    book.exchange(KEY, "me", offer(0, 4))  # from now on it is known to be dead
    assert book.exchange(KEY, "me", offer(0, 4)).held == 4
    book.close()
    journal.close()


def test_the_book_of_a_file_is_private_and_forgotten_after_a_reboot(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "journal.db")
    journal.lease_book().close()
    journal.close()
    found = list(tmp_path.glob("journal.db.shared-*"))
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    assert f"journal.db.shared-{boot}" in [path.name for path in found]
    assert {path.stat().st_mode & 0o077 for path in found} == {0}
    with pytest.raises(JournalNotWritable):
        ReadOnlyJournal(tmp_path / "journal.db").lease_book()


def test_journals_in_memory_share_nothing_with_each_other() -> None:
    one, two = MemoryJournal().lease_book(), MemoryJournal().lease_book()
    assert one.exchange(KEY, "1", offer(0, 10)).held == 10
    assert two.exchange(KEY, "2", offer(0, 10)).held == 10


def test_leases_of_an_earlier_boot_are_removed_and_those_in_use_stay(tmp_path: Path) -> None:
    void, in_use, foreign = (
        tmp_path / name for name in ("j.db.shared-11111111", "j.db.shared-22222222.lock", "k.db")
    )
    for path in (void, in_use, foreign):
        path.touch()
    for path in (void, foreign):
        os.utime(path, (1, 1))
    with closing(SqliteLeaseBook(tmp_path / "j.db")) as book:
        book.exchange(KEY, "1", offer(0, 1))
        assert (void.exists(), in_use.exists(), foreign.exists()) == (False, True, True)
