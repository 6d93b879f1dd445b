"""Shared caps: one cap over several processes, by the count of the server that they all ask."""

from __future__ import annotations

import asyncio
import fcntl
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fanwise import Caps, Shared, call, fan_out, fan_out_sync, open_run
from fanwise.core.shares import Due
from fanwise.errors import BadCap, JournalNotWritable, UsageError
from fanwise.journal import leases
from fanwise.journal.port import Journal
from fanwise.journal.sqlite_leases import SqliteLeaseBook
from fanwise.kernel import shared_caps
from fanwise.kernel.shared_caps import SharedPermits
from fanwise.testing import Answer, MemoryJournal, ScriptedServer
from tests.marks import slow

PROGRAM = [sys.executable, "-m", "tests.kernel.shared_caps_program"]
ROOT = Path(__file__).parents[2]


def caps_of(most: int) -> Caps:
    return Caps(key=Shared(most, name="team-key"))


def run(main: Coroutine[Any, Any, None], within_s: float = 300) -> None:
    asyncio.run(asyncio.wait_for(main, within_s))


# -- in one process ------------------------------------------------------------------------------


class Load:
    """Items that count how many of them are in flight at once, over all runs, and wait."""

    def __init__(self) -> None:
        self.in_flight = self.peak = self.begun = 0
        self.go = asyncio.Event()
        self._changed = asyncio.Event()

    async def __call__(self, _: int) -> None:
        self.in_flight += 1
        self.begun += 1
        self.peak = max(self.peak, self.in_flight)
        self._changed.set()
        try:
            await self.go.wait()
        finally:
            self.in_flight -= 1

    async def until(self, begun: int) -> None:
        while self.begun < begun:
            self._changed.clear()
            await self._changed.wait()


async def one_run(
    journal: Journal | Path,
    name: str,
    work: Callable[[int], Any],
    items: int,
    caps: Caps,
    needs: str | None = "key",
) -> None:
    async with open_run(name, journal=journal, caps=caps) as opened:
        outcomes = await fan_out(work, range(items), cap=9, needs=lambda _: needs, run=opened)
        assert outcomes.ok


def test_without_a_journal_a_shared_cap_is_refused_before_anything_starts() -> None:
    ran: list[int] = []

    async def item(number: int) -> None:
        ran.append(number)

    for journal in (None, ":memory:"):
        with pytest.raises(UsageError, match="cap 'key' is shared"):
            if journal is None:
                fan_out_sync(item, range(3), caps=caps_of(2))
            else:
                with open_run(journal=journal, caps=caps_of(2)) as opened:
                    fan_out_sync(item, range(3), run=opened)
    assert ran == []
    for wrong in (Shared(0, "k"), Shared(2, ""), Shared(True, "k")):
        with pytest.raises(BadCap):
            Caps(key=wrong)
    with pytest.raises(UsageError, match="two caps"):
        Caps(key=(2, Shared(2, "k")))


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_two_runs_hold_the_cap_between_them_and_what_one_gives_up_the_other_gets(
    kind: str, tmp_path: Path
) -> None:
    journal: Any = MemoryJournal() if kind == "memory" else tmp_path / "j.db"

    async def main() -> None:
        both, first, second = Load(), Load(), Load()

        def work(own: Load) -> Callable[[int], Coroutine[Any, Any, None]]:
            async def item(number: int) -> None:
                both.begun += 1
                both.in_flight += 1
                both.peak = max(both.peak, both.in_flight)
                try:
                    await own(number)
                finally:
                    both.in_flight -= 1

            return item

        one = asyncio.ensure_future(one_run(journal, "one", work(first), 4, caps_of(4)))
        await first.until(4)
        two = asyncio.ensure_future(one_run(journal, "two", work(second), 6, caps_of(4)))
        first.go.set()  # its items end, and it has no others
        await second.until(4)
        assert (both.peak, second.in_flight) == (4, 4)
        second.go.set()
        await asyncio.gather(one, two)
        assert (both.begun, both.peak) == (10, 4)

    run(main())


def test_a_run_that_uses_its_permits_without_a_pause_makes_room_for_another() -> None:
    async def main() -> None:
        journal, had_turns, in_flight, peak = MemoryJournal(), asyncio.Event(), 0, 0

        async def step() -> None:
            nonlocal in_flight, peak
            in_flight += 1
            peak = max(peak, in_flight)
            await asyncio.sleep(0.001)
            in_flight -= 1

        async def greedy(_: int) -> None:
            while not had_turns.is_set():
                await call(step, needs="key")

        async def modest(_: int) -> None:
            for _ in range(5):
                await call(step, needs="key")

        async def other() -> None:
            await one_run(journal, "modest", modest, 4, caps_of(4), needs=None)
            had_turns.set()

        one = asyncio.ensure_future(one_run(journal, "greedy", greedy, 8, caps_of(4), needs=None))
        while not peak:
            await asyncio.sleep(0)
        await asyncio.gather(one, other())
        assert peak == 4

    run(main(), within_s=60)


def test_two_runs_with_the_same_caps_are_one_holder_and_survive_each_other() -> None:
    async def main() -> None:
        journal, caps, load = MemoryJournal(), caps_of(3), Load()
        short = asyncio.ensure_future(one_run(journal, "short", load, 3, caps))
        await load.until(3)
        long = asyncio.ensure_future(one_run(journal, "long", load, 30, caps))
        load.go.set()
        await asyncio.gather(short, long)
        assert (load.begun, load.peak) == (33, 3)

    run(main())


def test_a_held_permit_is_used_again_and_again_without_asking_the_book(tmp_path: Path) -> None:
    async def main() -> None:
        caps = caps_of(3)

        async def item(_: int) -> int:
            await asyncio.sleep(0)
            leased = caps.ledger.resources["key"].leased
            assert leased is not None and isinstance(leased.owner, SharedPermits)
            return leased.owner.exchanges

        async with open_run("r", journal=tmp_path / "j.db", caps=caps) as opened:
            outcomes = await fan_out(item, range(500), cap=9, needs=lambda _: "key", run=opened)
        assert max(outcomes.values()) <= 500 / 25

    run(main())


def test_what_others_want_is_not_used_again_and_is_when_they_want_it_no_more() -> None:
    async def main() -> None:
        journal, caps, load = MemoryJournal(), caps_of(4), Load()
        going = asyncio.ensure_future(one_run(journal, "r", load, 4, caps))
        await load.until(4)
        leased = caps.ledger.resources["key"].leased
        assert leased is not None and isinstance(leased.owner, SharedPermits)
        leased.owner.told(Due(1, contended=True))
        assert caps.current == {"key": 1}
        leased.owner.told(Due(4, contended=False))
        assert caps.current == {"key": 4}
        load.go.set()
        await going

    run(main())


def test_a_lease_that_ran_out_starts_nothing_until_there_is_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Renewing fails, as if the process had been stopped: what is in flight goes on, alone."""
    monkeypatch.setattr(leases, "LEASE_S", 0.1)
    monkeypatch.setattr(shared_caps, "TRY_AGAIN_S", 0.01)

    async def main() -> None:
        journal, load = MemoryJournal(), Load()
        broken = True

        class Book(type(journal.lease_book())):  # type: ignore[misc]
            def exchange(self, name: str, holder: str, offer: Any) -> Any:
                if load.begun and broken:
                    failures.append(offer)
                    raise JournalNotWritable("book", "out of order")
                return super().exchange(name, holder, offer)

        failures: list[Any] = []
        monkeypatch.setattr(journal, "lease_book", lambda: Book(journal._leases))
        caps = caps_of(2)
        going = asyncio.ensure_future(one_run(journal, "r", load, 6, caps))
        await load.until(2)
        leased = caps.ledger.resources["key"].leased
        assert leased is not None
        while asyncio.get_running_loop().time() < leased.until or len(failures) < 3:
            await asyncio.sleep(0.01)
        load.go.set()
        while failures[-1].held:  # until it asks for what it uses, and not for what it had
            await asyncio.sleep(0.01)
        assert load.begun == 2, "it still had two permits, and four items waited"
        broken = False
        await going
        assert (load.begun, load.peak) == (6, 2)

    run(main())


@pytest.mark.parametrize("part", ["exchange", "wait"])
def test_any_error_of_the_book_ends_the_fan_out_and_nobody_waits_for_ever(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LEASE_S", 0.1)

    async def main() -> None:
        journal = MemoryJournal()

        def fails(self: Any, *_: Any) -> Any:
            raise ZeroDivisionError("of the book")

        broken = type("Book", (type(journal.lease_book()),), {part: fails})
        monkeypatch.setattr(journal, "lease_book", lambda: broken(journal._leases))
        with pytest.raises(ZeroDivisionError, match="of the book"):
            await one_run(journal, "r", Load(), 3, caps_of(1))

    run(main())


def test_fan_outs_with_caps_of_their_own_leave_no_leases_behind(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_run("r", journal=tmp_path / "j.db") as opened:
            for number in range(30):
                named = f"f{number}"
                await fan_out(
                    str, [1], run=opened, name=named, caps=caps_of(4), needs=lambda _: {"key": 1}
                )
            keeper = opened.lease_keeper()
            assert keeper is not None
            assert len(keeper.shares) <= 2

    run(main())


def test_a_book_that_cannot_be_opened_ends_the_fan_out_with_its_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        journal = MemoryJournal()

        def fails() -> None:
            raise JournalNotWritable("book", "no rights")

        monkeypatch.setattr(journal, "lease_book", fails)
        with pytest.raises(JournalNotWritable, match="no rights"):
            await one_run(journal, "r", Load(), 3, caps_of(2))

    run(main())


# -- in many -------------------------------------------------------------------------------------


class Child:
    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self.process = process

    def ask(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def said(self, word: str) -> None:
        assert self.process.stdout is not None
        assert (await self.process.stdout.readline()).decode() == f"{word}\n"

    async def ended(self) -> int:
        await self.process.communicate()
        return self.process.returncode or 0


@asynccontextmanager
async def children(
    count: int, journal: str, server: ScriptedServer, most: int, wide: int, lasts_s: float = 6.0
) -> AsyncIterator[list[Child]]:
    found = []
    try:
        for number in range(count):
            name = f"p{number}"
            given = [journal, server.base_url, str(most), name, str(wide), str(lasts_s)]
            pipes = {"stdin": -1, "stdout": -1, "cwd": ROOT}
            found.append(
                Child(name, await asyncio.create_subprocess_exec(*PROGRAM, *given, **pipes))  # type: ignore[arg-type]
            )
        for child in found:
            await child.said("ready")
        yield found
    finally:
        for child in found:
            if child.process.returncode is None:
                child.process.kill()
                await child.process.communicate()


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=slow)])
def test_three_processes_fill_the_cap_exactly_and_the_permits_of_a_killed_one_come_back(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    where = str(tmp_path / "j.db")
    if kind == "postgres":
        where = request.getfixturevalue("postgres").address

    async def main() -> None:
        async with ScriptedServer(lambda _: "ok") as server:
            server.gate.close()
            async with children(3, where, server, most=5, wide=4) as every:
                for child in every:
                    child.ask("8")
                await server.gate.held(5)
                every[0].process.kill()
                await every[0].ended()
                server.gate.open()
                for child in every[1:]:
                    await child.said("done")
                    child.stop()
                    assert await child.ended() == 0
            assert server.most_in_flight == 5
            asked = Counter(body["model"] for body in server.bodies)
            assert (asked["p1"], asked["p2"]) == (8, 8)

    run(main())


async def stop(child: Child, journal: Path) -> None:
    """Stop it, but not in the middle of a transaction, which would stop all the others."""
    while True:
        child.process.send_signal(signal.SIGSTOP)
        with closing(sqlite3.connect(journal, timeout=0, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
                (lock,) = journal.parent.glob("*.shared-*.lock")
                with lock.open() as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (sqlite3.OperationalError, BlockingIOError):
                child.process.send_signal(signal.SIGCONT)
                await asyncio.sleep(0.01)
            else:
                return


@slow
def test_a_stopped_process_does_not_use_its_permits_when_it_wakes(tmp_path: Path) -> None:
    where = tmp_path / "j.db"

    async def main() -> None:
        async with ScriptedServer(lambda _: "ok") as server:
            async with children(2, str(where), server, most=4, wide=4, lasts_s=1.0) as (one, two):
                book = SqliteLeaseBook(where)
                one.ask("8")
                await one.said("done")  # it holds all four, and nobody else has asked
                await stop(one, where)
                server.gate.close()
                two.ask("4")
                await server.gate.held(4)  # its lease has run out
                one.ask("4")
                one.process.send_signal(signal.SIGCONT)
                demand = 0
                while demand < 8:  # until it has asked
                    with book.open("team-key") as table:
                        demand = sum(row.demand for row in table.rows())
                    await asyncio.sleep(0.01)
                assert server.most_in_flight == 4
                server.gate.open()
                await one.said("done")
                await two.said("done")
                book.close()
            assert server.most_in_flight == 4

    run(main())


@slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_ten_processes_share_fairly_and_three_are_killed(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    where, chance, most = str(tmp_path / "j.db"), Random(1), 20
    if kind == "postgres":
        where = request.getfixturevalue("postgres").address

    async def main() -> None:
        asked: Counter[str] = Counter()
        reached = asyncio.Event()
        goal = 200

        def answer(body: dict[str, Any]) -> Answer:
            asked[body["model"]] += 1
            if asked.total() >= goal:
                reached.set()
            return Answer(text="ok", first_byte_s=0.3)

        async with (
            ScriptedServer(answer) as server,
            children(10, where, server, most=most, wide=6) as every,
        ):
            for child in every:
                child.ask("endless")
            alive = list(every)
            for _ in range(3):
                await asyncio.wait_for(reached.wait(), 200)
                victim = alive.pop(chance.randrange(len(alive)))
                victim.process.kill()
                goal += 100
                reached.clear()
            before = Counter(asked)
            goal = asked.total() + 700
            reached.clear()
            await asyncio.wait_for(reached.wait(), 200)
            for child in alive:
                child.stop()
            for child in alive:
                assert await child.ended() == 0
            assert server.most_in_flight == most
            made = [asked[child.name] - before[child.name] for child in alive]
            fair = sum(made) / len(made)
            assert all(0.8 * fair <= each <= 1.2 * fair for each in made), made

    run(main(), within_s=900)
