"""Durable runs: resumed, owned, refused, cancelled, and what is on disk of them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from fanwise import Budget, Caps, Command, Halt, Retry, Usage, call, fan_out, fan_out_sync, open_run
from fanwise.errors import (
    BadPredicate,
    BadRunId,
    CommandFailed,
    DuplicateKey,
    DuplicateName,
    JournalNotWritable,
    NotStorable,
    RecordedError,
    RunExists,
    RunIsLive,
    RunNotFound,
    SpecChanged,
    UsageError,
)
from fanwise.journal.open import open_journal
from fanwise.journal.port import ItemRecord, Owner, RunRecord
from fanwise.kernel.events import (
    AttemptEnded,
    FanOutEnded,
    FanOutStarted,
    Halted,
    ItemEnded,
    ItemStarted,
    RunEnded,
    RunStarted,
)
from fanwise.kernel.in_thread import in_thread
from fanwise.processes import require_success, run_command
from fanwise.testing import MemoryJournal, Recording, run_virtual, virtual_time


class Boom(Exception):
    pass


class Work:
    def __init__(self, fails: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        self.fails = fails
        self.ran: list[Any] = []

    async def __call__(self, item: int) -> int:
        self.ran.append(item)
        await asyncio.sleep(1)
        if item in self.fails:
            raise Boom(item)
        return item * 10


@virtual_time
async def test_a_second_opening_returns_what_is_recorded_and_runs_nothing() -> None:
    journal, first, second = MemoryJournal(), Work(fails={1}), Work()
    async with open_run("r", journal=journal) as run:
        await fan_out(first, range(3), run=run)
        assert not run.resumed
    async with open_run("r", journal=journal) as run:
        outcomes = await fan_out(second, range(3), run=run)
        assert run.resumed
    assert second.ran == []
    assert [(o.status, o.value, o.recorded) for o in outcomes] == [
        ("done", 0, True), ("failed", None, True), ("done", 20, True),
    ]  # fmt: skip
    assert isinstance(outcomes[1].error, RecordedError)
    assert str(outcomes[1].error).endswith("Boom: 1")
    assert outcomes[0].ran_s == pytest.approx(1)


@virtual_time
async def test_a_run_object_is_opened_once() -> None:
    """A second time its unnamed fan-outs would have other places, and run again."""
    run = open_run("r", journal=MemoryJournal())
    async with run:
        with pytest.raises(UsageError, match="was opened before"):
            await run.__aenter__()
    with pytest.raises(UsageError, match="Call `open_run` again"), run:
        pass


@virtual_time
async def test_new_items_run_and_known_ones_do_not_by_their_key() -> None:
    journal, work = MemoryJournal(), Work()
    async with open_run("r", journal=journal) as run:
        await fan_out(work, [1, 2], key=str, run=run)
    async with open_run("r", journal=journal) as run:
        outcomes = await fan_out(work, [3, 2, 1], key=str, run=run)
    assert work.ran == [1, 2, 3]
    assert outcomes.values() == [30, 20, 10]


@virtual_time
async def test_what_a_halt_cancelled_or_never_started_runs_on_resume() -> None:
    journal = MemoryJournal()

    async def work(item: int) -> int:
        await asyncio.sleep(1 if item == 1 else 50)
        if item == 1:
            raise Boom
        return item

    async with open_run("r", journal=journal) as run:
        halted = await fan_out(work, range(9), cap=4, halt=Halt.on_failure(), run=run)
        assert [o.status for o in halted.discarded] == ["cancelled", "cancelled"]
    async with open_run("r", journal=journal) as run:
        resumed = await fan_out(work, range(9), cap=4, run=run)
    assert [o.index for o in resumed if o.recorded] == [0, 1]
    assert [o.status for o in resumed] == ["done", "failed"] + ["done"] * 7
    assert resumed.may_have_run_twice == []


@virtual_time
async def test_a_halt_from_outside_starts_nothing_more_and_says_why() -> None:
    work = Work()
    async with open_run(journal=":memory:") as run:
        asyncio.get_running_loop().call_later(1.5, run.halt, "interrupted")
        outcomes = await fan_out(work, range(100), cap=4, run=run)
        later = await fan_out(work, range(5), run=run)
    assert [o.status for o in outcomes] == ["done"] * 8
    assert outcomes.halt_reason == "interrupted"
    assert len(later) == 0
    assert later.halt_reason is not None


@virtual_time
async def test_a_cancel_from_outside_ends_what_is_in_flight() -> None:
    journal, work = MemoryJournal(), Work()
    async with open_run("r", journal=journal) as run:
        asyncio.get_running_loop().call_later(1.5, run.cancel)
        outcomes = await fan_out(work, range(100), cap=4, run=run)
    assert [o.status for o in outcomes] == ["done"] * 4 + ["cancelled"] * 4
    assert journal.run("r").status == "cancelled"
    async with open_run("r", journal=journal) as run:
        outcomes = await fan_out(work, range(100), cap=4, run=run)
    assert outcomes.values() == [n * 10 for n in range(100)]
    assert work.ran.count(4) == 2


@pytest.mark.parametrize("order", ["halt", "cancel"])
def test_an_order_may_come_from_any_thread(order: str) -> None:
    """In debug mode asyncio raises where an event loop is used from another thread."""
    begun = threading.Barrier(2, timeout=60)

    async def work(item: int) -> int:
        if item == 1:
            await in_thread(begun.wait)
            await asyncio.sleep(1_000 if order == "cancel" else 0)
        return item

    async def main() -> None:
        async with open_run("r", journal=MemoryJournal()) as run:
            doing = asyncio.ensure_future(fan_out(work, count(), cap=1, run=run))

            def give() -> None:
                begun.wait()
                getattr(run, order)("enough")

            await in_thread(give)
            outcomes = await doing
            assert outcomes.halt_reason == "enough"
        assert run.ending[0] == {"halt": "halted", "cancel": "cancelled"}[order]

    asyncio.run(asyncio.wait_for(main(), 60), debug=True)


def test_a_cancel_request_from_another_process_arrives(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    ask = (
        "import sys; from fanwise.journal.open import open_journal\n"
        "journal = open_journal(sys.argv[1]); journal.request_cancel('r'); journal.close()"
    )

    async def work(_: int) -> None:
        done = asyncio.to_thread(subprocess.run, [sys.executable, "-c", ask, str(path)], check=True)
        await done
        await asyncio.sleep(3600)

    async def main() -> Any:
        async with open_run("r", journal=path) as run:
            return await fan_out(work, range(3), cap=1, run=run)

    outcomes = asyncio.run(asyncio.wait_for(main(), 60))
    assert [o.status for o in outcomes] == ["cancelled"]
    assert outcomes.halt_reason == "cancel requested"


def test_a_live_run_is_refused_to_a_second_process_and_a_dead_ones_is_not(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    hold = (
        "import sys; from fanwise import open_run\n"
        "with open_run('r', journal=sys.argv[1]): print('open', flush=True); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", hold, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(RunIsLive, match=f"{other.pid}.*fanwise cancel r"):
            open_run("r", journal=path).__enter__()
        other.kill()
        other.wait()
    with open_run("r", journal=path) as run:
        assert run.resumed


def test_whoever_loses_a_race_for_a_new_run_is_told_that_it_is_live() -> None:
    class AnotherIsFaster(MemoryJournal):
        def create_run(self, run: RunRecord) -> RunRecord:
            if not self.runs():
                super().create_run(run)
            return super().create_run(run)

    with pytest.raises(RunIsLive):
        open_run("r", journal=AnotherIsFaster()).__enter__()
    with pytest.raises(RunExists):
        open_run("r", journal=AnotherIsFaster(), resume=False).__enter__()


def test_of_eight_processes_that_open_a_new_run_at_once_one_has_it_and_seven_are_told_so(
    tmp_path: Path,
) -> None:
    code = """
import sys; from fanwise import open_run
with open_run("first", journal=sys.argv[1] + sys.argv[2]): pass  # all is imported
journal = sys.argv[1]
print("ready", flush=True)
for run_id in sys.stdin:
    try:
        open_run(run_id.strip(), journal=journal).__enter__()  # and hold it to the end
        print("opened", flush=True)
    except Exception as error:
        print(type(error).__name__, flush=True)
"""
    path = str(tmp_path / "j.db")
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", code, path, str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(8)
    ]
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "ready\n"
    for run_id in ("a", "b", "c", "d", "e", "f"):
        for opener in openers:
            assert opener.stdin is not None
            opener.stdin.write(f"{run_id}\n")
            opener.stdin.flush()
        answers = sorted(opener.stdout.readline() for opener in openers if opener.stdout)
        assert answers == ["RunIsLive\n"] * 7 + ["opened\n"]
    for opener in openers:
        opener.communicate()


def test_ids_specs_and_expectations_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with open_run("r", journal=path, spec={"prompt": "a"}):
        pass
    with open_run("r", journal=path, spec={"prompt": "a"}):
        pass
    with pytest.raises(SpecChanged):
        open_run("r", journal=path, spec={"prompt": "b"}).__enter__()
    with pytest.raises(RunExists, match="fanwise resume r"):
        open_run("r", journal=path, resume=False).__enter__()
    with (
        pytest.raises(RunNotFound, match="Did you mean 'r'")
        if False
        else pytest.raises(RunNotFound)
    ):
        open_run("q", journal=path, resume=True).__enter__()


@pytest.mark.parametrize("bad", ["../x", "a/b", "", " ", ".hidden", "x" * 65, "a\nb", "ü", "-x"])
def test_a_run_id_that_is_no_plain_name_is_refused_and_nothing_is_written(
    bad: str, tmp_path: Path
) -> None:
    with pytest.raises(BadRunId):
        open_run(bad or "..", journal=tmp_path / "sub" / "j.db").__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_spec_that_json_cannot_hold_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(NotStorable):
        open_run("r", journal=tmp_path / "j.db", spec={"x": object()}).__enter__()
    assert list(tmp_path.iterdir()) == []


@virtual_time
async def test_a_value_that_json_cannot_hold_fails_its_item_and_says_what_to_do() -> None:
    async def work(item: int) -> Any:
        return {1, 2} if item == 1 else item

    async with open_run("r", journal=MemoryJournal()) as run:
        outcomes = await fan_out(work, range(3), run=run)
    assert [o.status for o in outcomes] == ["done", "failed", "done"]
    assert isinstance(outcomes[1].error, NotStorable)
    assert "codec" in str(outcomes[1].error)


def test_what_a_command_printed_does_not_hide_why_the_item_failed() -> None:
    async def work(_: int) -> None:
        require_success(await run_command(Command(sys.executable, "-c", "exit(3)")))

    with open_run("r", journal=MemoryJournal()) as run:
        (outcome,) = fan_out_sync(work, [0], run=run)
    assert isinstance(outcome.error, CommandFailed)
    assert "code 3" in str(outcome.error)


@virtual_time
async def test_two_fan_outs_of_one_name_are_an_error_and_unnamed_ones_have_places() -> None:
    work = Work()
    async with open_run("r", journal=MemoryJournal()) as run:
        await fan_out(work, [1], run=run)
        await fan_out(work, [2], run=run)
        await fan_out(work, [3], run=run, name="x")
        with pytest.raises(DuplicateName):
            await fan_out(work, [4], run=run, name="x")
    assert work.ran == [1, 2, 3]


@virtual_time
async def test_duplicate_keys_are_an_error_that_names_the_item() -> None:
    with pytest.raises(DuplicateKey, match="item 2 has the same key as an earlier item: 'a'"):
        await fan_out(Work(), [1, 2, 3], key=lambda n: "aba"[n - 1])


@virtual_time
async def test_an_item_that_is_retried_runs_only_what_failed_inside_it() -> None:
    ran: list[str] = []

    async def inner(name: str) -> str:
        ran.append(name)
        if name == "b" and ran.count("b") == 1:
            raise Boom
        return name

    async def item(_: int) -> list[str]:
        return (await fan_out(inner, "abc", key=str, name="inside")).values()

    journal = MemoryJournal()
    async with open_run("r", journal=journal) as run:
        [outcome] = await fan_out(item, [0], retry=Retry(2), run=run)
    assert outcome.value == ["a", "b", "c"]
    assert ran == ["a", "b", "c", "b"]


@virtual_time
async def test_a_budget_remembers_what_earlier_executions_spent() -> None:
    journal = MemoryJournal()

    async def leaf() -> str:
        return "x"

    async def item(_: int) -> str:
        return await call(leaf, estimate=Usage(tokens=40))

    async def execute(items: range) -> list[str]:
        async with open_run("r", journal=journal, budget=Budget(tokens=100)) as run:
            outcomes = await fan_out(item, items, cap=1, run=run)
        return [o.status for o in outcomes]

    assert await execute(range(1)) == ["done"]
    assert await execute(range(4)) == ["done", "done", "failed", "failed"]


def test_a_full_disk_ends_the_fan_out_with_our_error_and_tells_nothing_unrecorded() -> None:
    journal = MemoryJournal(fail_after=20)
    recording = Recording()
    ended = 0

    async def work(item: int) -> int:
        nonlocal ended
        try:
            await asyncio.sleep(item % 3)
        finally:
            ended += 1
        return item

    async def main() -> None:
        async with open_run("r", journal=journal, subscribers=[recording]) as run:
            await fan_out(work, range(100), cap=5, run=run)

    with pytest.raises(JournalNotWritable):
        run_virtual(main())
    [fan_out_record] = journal.fan_outs("r")
    on_disk = {row.key for row in journal.items(fan_out_record.id) if row.status == "done"}
    told = {event.outcome.key for event in recording.of(ItemEnded)}
    assert told <= on_disk
    assert ended == len(recording.of(ItemStarted))


@virtual_time
async def test_events_tell_the_story_in_order() -> None:
    recording = Recording()

    async def work(item: int) -> int:
        await asyncio.sleep(1)
        if item == 1:
            raise Boom
        return item

    async with open_run("r", journal=MemoryJournal(), subscribers=[recording]) as run:
        await fan_out(
            work, range(2), cap=1, run=run, halt=Halt.on_failure(),
            retry=Retry(1, base_s=0.0), caps=Caps(api=2), needs=lambda _: "api",
        )  # fmt: skip
    assert [type(event) for event in recording.events] == [
        RunStarted, FanOutStarted,
        ItemStarted, AttemptEnded, ItemEnded,
        ItemStarted, AttemptEnded, AttemptEnded, ItemEnded, Halted,
        FanOutEnded, RunEnded,
    ]  # fmt: skip
    assert [event.needs for event in recording.of(ItemStarted)] == [("api",), ("api",)]
    assert [event.retry_in for event in recording.of(AttemptEnded)] == [None, 0.0, None]
    assert recording.of(Halted)[0].index == 1
    assert recording.of(FanOutEnded)[0].stats.peak["api"] == 1


def test_the_journal_can_be_read_with_sql(tmp_path: Path) -> None:
    import sqlite3

    async def work(item: int) -> dict[str, int]:
        if item == 2:
            raise Boom("two")
        return {"n": item}

    with open_run("r", journal=tmp_path / "j.db", spec={"what": "sql"}) as run:
        fan_out_sync(work, range(3), run=run, name="numbers")
    rows = sqlite3.connect(tmp_path / "j.db").execute(
        "select key, status, json_extract(value, '$.n'), json_extract(error, '$.text') from items"
        " order by key"
    )
    assert list(rows) == [
        ("0", "done", 0, None),
        ("1", "done", 1, None),
        ("2", "failed", None, "two"),
    ]
    journal = open_journal(tmp_path / "j.db")
    assert json.loads(journal.run("r").spec) == {"what": "sql"}
    assert journal.run("r").status == "done"
    journal.close()


def test_how_a_run_ended_is_on_disk_when_it_is_left(tmp_path: Path) -> None:
    """Also in a journal that stays open: a reader must not take a finished run for a live one."""
    journal = open_journal(tmp_path / "j.db")
    for number in range(20):
        with open_run(f"r{number}", journal=journal) as run:
            fan_out_sync(str, [1], run=run)
        assert journal.run(f"r{number}").status == "done"
    journal.close()


def test_command_results_survive_the_journal_to_the_byte(tmp_path: Path) -> None:
    command = Command(
        "/bin/sh", "-c", r'printf "\377%s" "$1"; echo oops >&2; exit $2', "sh", "{}", "3"
    )
    executed = []
    for _ in range(2):
        with open_run("r", journal=tmp_path / "j.db") as run:
            [outcome] = fan_out_sync(command, [b"\xfe x"], run=run)
            executed.append(outcome.recorded)
        assert outcome.status == "failed"
        assert outcome.value is not None
        assert outcome.value.exit_code == 3
        assert outcome.value.stdout.data == b"\xff\xfe x"
        assert outcome.value.stderr.data == b"oops\n"
    assert executed == [False, True]


def test_sync_code_uses_the_same_run_and_leaves_no_thread(tmp_path: Path) -> None:
    with open_run(journal=tmp_path / "j.db") as run:
        outcomes = fan_out_sync(lambda n: n + 1, range(5), run=run)
    assert outcomes.values() == [1, 2, 3, 4, 5]
    assert not [t for t in threading.enumerate() if "fanwise" in t.name]


@virtual_time
async def test_slashes_in_keys_and_names_never_make_two_paths_one() -> None:
    async def inner(item: str) -> str:
        return item

    async def outer(item: str) -> list[str]:
        name = "lint/x" if item == "a" else "x"
        return (await fan_out(inner, [f"of {item}"], name=name)).values()

    async with open_run("r", journal=MemoryJournal()) as run:
        outcomes = await fan_out(outer, ["a", "a/lint"], key=str, cap=1, run=run, name="all")
        apart = await fan_out(inner, ["top"], run=run, name="all/a/x")
    assert outcomes.values() == [["of a"], ["of a/lint"]]
    assert apart.values() == ["top"]


@pytest.mark.parametrize("answer", [None, "raise"])
def test_a_retry_function_that_fails_is_an_error_and_not_a_hang(answer: str | None) -> None:
    def on(error: BaseException) -> Any:
        if answer == "raise":
            raise KeyError
        return answer

    with pytest.raises(BadPredicate, match="Retry's `on`"):
        run_virtual(fan_out(Work(fails={0}), range(3), retry=Retry(3, on=on)))


@virtual_time
async def test_attempts_and_what_they_cost_come_back_on_resume() -> None:
    tries = 0

    async def leaf() -> str:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise Boom("first")
        return "x"

    async def item(_: int) -> str:
        return await call(leaf, estimate=Usage(tokens=40, usd=0.5), retry=Retry(1, base_s=0.0))

    journal = MemoryJournal()
    async with open_run("r", journal=journal) as run:
        [first] = await fan_out(item, [0], run=run)
    async with open_run("r", journal=journal) as run:
        [second] = await fan_out(item, [0], run=run)
    assert second.recorded
    assert [(a.call, a.usage, a.ran_s) for a in second.attempts] == [
        (a.call, a.usage, a.ran_s) for a in first.attempts
    ]
    assert str(second.attempts[1].error).endswith("Boom: first")


@virtual_time
async def test_a_budget_object_that_is_used_again_counts_each_run_once() -> None:
    journal, budget = MemoryJournal(), Budget(tokens=100)

    async def leaf() -> str:
        return "x"

    async def item(_: int) -> str:
        return await call(leaf, estimate=Usage(tokens=40))

    for _ in range(3):
        async with open_run("r", journal=journal, budget=budget) as run:
            await fan_out(item, range(1), run=run)
        assert budget.spent["tokens"] == 40


SPEND = """
import asyncio, os, signal, sys
from fanwise import Budget, Usage, call, fan_out, open_run
async def leaf(): os.kill(os.getpid(), signal.SIGKILL)
async def item(_): await call(leaf, estimate=Usage(tokens=40))
with open_run("r", journal=sys.argv[1], budget=Budget(tokens=100)) as run:
    asyncio.run(fan_out(item, range(1), cap=1, run=run))
"""


def test_what_may_have_been_spent_when_the_process_was_killed_counts_as_spent(
    tmp_path: Path,
) -> None:
    path = tmp_path / "j.db"
    killed = subprocess.run([sys.executable, "-c", SPEND, str(path)], check=False, timeout=60)
    assert killed.returncode < 0

    async def leaf() -> str:
        return "x"

    async def item(_: int) -> str:
        return await call(leaf, estimate=Usage(tokens=40))

    with open_run("r", journal=path, budget=Budget(tokens=100)) as run:
        outcomes = fan_out_sync(item, range(3), cap=1, run=run)
    assert [o.status for o in outcomes] == ["done", "failed", "failed"]


def test_a_run_of_another_host_is_taken_over_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    journal = open_journal(path)
    elsewhere = Owner(1, "elsewhere", "boot", "start")
    journal.create_run(
        RunRecord("r", 0, "fan_out", "", "null", "", "running", 0.0, owner=elsewhere)
    )
    journal.close()
    with pytest.raises(RunIsLive, match="--take-over"):
        open_run("r", journal=path).__enter__()
    with open_run("r", journal=path, take_over=True) as run:
        assert run.resumed


@virtual_time
async def test_a_halted_fan_out_is_recorded_as_halted() -> None:
    journal = MemoryJournal()
    async with open_run("r", journal=journal) as run:
        await fan_out(Work(fails={1}), range(5), cap=1, halt=Halt.on_failure(), run=run)
    [record] = journal.fan_outs("r")
    assert record.status == "halted"


@virtual_time
async def test_a_resume_reads_recorded_values_by_the_page_and_each_once() -> None:
    """Values may be large: what is held is a page of them, whatever their number."""
    asked: list[int] = []

    class Counting(MemoryJournal):
        def items(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[ItemRecord]:
            if keys is not None:
                asked.append(len(keys))
            return super().items(fan_out, keys)

    async def work(item: int) -> int:
        return item

    journal = Counting()
    for _ in range(2):
        async with open_run("r", journal=journal) as run:
            outcomes = await fan_out(work, range(1_200), run=run)
    assert outcomes.values() == list(range(1_200))
    assert asked == [500, 500, 200]


@virtual_time
async def test_a_race_that_was_won_keeps_its_winner_on_resume() -> None:
    started: list[int] = []

    async def work(item: int) -> int:
        started.append(item)
        await asyncio.sleep(10 - item)
        return item

    async def items() -> AsyncIterator[int]:
        for item in range(4):
            yield item

    journal = MemoryJournal()
    fastest = Halt.on_success(fastest=True)
    async with open_run("r", journal=journal) as run:
        first = await fan_out(work, items(), cap=4, halt=fastest, run=run)
    started.clear()
    async with open_run("r", journal=journal) as run:
        second = await fan_out(work, items(), cap=1, halt=fastest, run=run)
    assert started == []
    assert first.winner is not None
    assert second.winner is not None
    assert second.winner.value == first.winner.value == 3
    assert [o.status for o in second] == [o.status for o in first]


@virtual_time
async def test_what_could_not_be_kept_is_no_outcome() -> None:
    """A full disk under a command's output: the item is not recorded, and runs on resume."""
    journal, full = MemoryJournal(), True

    async def work(item: int) -> int:
        if item == 1 and full:
            raise JournalNotWritable("output", "no space left")
        await asyncio.sleep(1)
        return item

    with pytest.raises(JournalNotWritable):
        async with open_run("r", journal=journal) as run:
            await fan_out(work, range(3), cap=1, run=run)
    full = False
    async with open_run("r", journal=journal) as run:
        outcomes = await fan_out(work, range(3), cap=1, run=run)
    assert outcomes.values() == [0, 1, 2]
    assert [o.key for o in outcomes.may_have_run_twice] == ["1"]
