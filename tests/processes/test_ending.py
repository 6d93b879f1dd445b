"""Time-out, cancellation and leftovers: nothing of a command outlives it."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from fanwise.processes import Command, CommandResult, run_command
from fanwise.processes.guard_program import pids
from fanwise.processes.table import look
from tests.processes.support import alive, eventually, jump, pids_in, run

# Each writes its number, ignores SIGTERM (as do its children, who inherit that) and stays: the
# leader, a child in its group, one in a session of its own, and one there that nobody waits for.
STUBBORN = """
trap '' TERM
note='echo $$ >> pids; exec sleep 1000'
sh -c "$note" &
setsid sh -c "$note" &
(setsid sh -c "$note" &)
echo $$ >> pids
while :; do sleep 1000; done
"""
# A session of its own and an empty environment: only its ancestors tell whose it is.
WIPED = "setsid env -i sh -c 'echo $$ >> pids; exec sleep 1000' & echo $$ >> pids; wait"


class Running:
    """A script in a directory, started, with its processes known."""

    def __init__(self, script: str, cwd: Path, processes: int, **options: float) -> None:
        self._file = cwd / "pids"
        self._count = processes
        command = Command.shell_line(script, cwd=str(cwd))
        self.task = asyncio.create_task(run_command(command, **options))  # type: ignore[arg-type]

    async def started(self) -> None:
        await eventually(lambda: len(self.pids) == self._count)

    @property
    def pids(self) -> list[int]:
        return pids_in(self._file)

    def living(self) -> list[int]:
        return [pid for pid in self.pids if alive(pid)]


async def cancelled(task: asyncio.Task[CommandResult]) -> None:
    with pytest.raises(asyncio.CancelledError):
        await task


async def steps(count: int) -> None:
    """Let the loop go round, so that others come to their next await."""
    for _ in range(count):
        await asyncio.sleep(0)


async def jump_until_done(task: asyncio.Task[CommandResult], seconds: float) -> None:
    """Let time pass in leaps, so that neither time-out nor grace is waited for."""
    while not task.done():
        jump(seconds)
        await asyncio.sleep(0)


@pytest.mark.parametrize(("script", "processes"), [(STUBBORN, 4), (WIPED, 2)])
def test_after_a_time_out_no_process_of_the_command_lives(
    script: str, processes: int, tmp_path: Path
) -> None:
    async def work() -> None:
        running = Running(script, tmp_path, processes, timeout=1000)
        await running.started()
        await jump_until_done(running.task, 500)
        assert running.living() == []
        assert running.task.result().timed_out

    run(work())


@pytest.mark.parametrize(("script", "processes"), [(STUBBORN, 4), (WIPED, 2)])
def test_when_the_cancellation_is_told_no_process_of_the_command_lives(
    script: str, processes: int, tmp_path: Path
) -> None:
    async def work() -> None:
        running = Running(script, tmp_path, processes, grace=0.0)
        await running.started()
        running.task.cancel()
        await cancelled(running.task)
        assert running.living() == []

    run(work())


def test_a_process_that_has_lost_group_environment_and_parents_is_remembered(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        stray = """setsid env -i sh -c 'trap "" TERM; echo $$ >> pids; exec sleep 1000' &"""
        script = f"{stray} until [ -s pids ]; do sleep 0.01; done; echo $$ >> pids; wait"
        running = Running(script, tmp_path, 2, grace=1_000_000)
        await running.started()
        survivor, leader = running.pids
        running.task.cancel()
        await eventually(lambda: not alive(leader))
        look(time.monotonic())  # from now on nobody sees it as a child of the command
        assert alive(survivor)
        running.task.cancel()
        await cancelled(running.task)
        assert not alive(survivor)

    run(work())


def test_a_child_that_heeds_sigterm_has_the_grace_to_tidy_up(tmp_path: Path) -> None:
    async def work() -> None:
        script = "trap 'echo tidy; exit 7' TERM; echo $$ >> pids; while :; do sleep 0.01; done"
        running = Running(script, tmp_path, 1, timeout=1000, grace=1_000_000)
        await running.started()
        jump(1000)
        result = await running.task
        assert (result.timed_out, result.exit_code, result.stdout.text) == (True, 7, "tidy\n")

    run(work())


def test_a_second_cancellation_ends_the_grace(tmp_path: Path) -> None:
    async def work() -> None:
        running = Running(STUBBORN, tmp_path, 4, grace=1_000_000)
        await running.started()
        running.task.cancel()
        await steps(10)
        assert not running.task.done()
        running.task.cancel()
        await cancelled(running.task)
        assert running.living() == []

    run(work())


def test_cancelling_again_and_again_does_not_interrupt_the_killing(tmp_path: Path) -> None:
    async def work() -> None:
        running = Running(STUBBORN, tmp_path, 4, grace=1_000_000)
        await running.started()
        while not running.task.done():
            running.task.cancel()
            await asyncio.sleep(0)
        await cancelled(running.task)
        assert running.living() == []

    run(work())


def test_a_cancellation_during_a_time_out_s_grace_is_raised_when_all_are_dead(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        running = Running(STUBBORN, tmp_path, 4, timeout=1000, grace=1_000_000)
        await running.started()
        jump(1000)
        await steps(10)
        assert not running.task.done()
        running.task.cancel()
        await cancelled(running.task)
        assert running.living() == []

    run(work())


@pytest.mark.parametrize("count", range(6))
def test_a_cancellation_as_it_starts_leaves_nothing(count: int) -> None:
    async def work() -> None:
        task = asyncio.create_task(run_command(Command("sleep", "1000"), grace=0.0))
        await steps(count)
        task.cancel()
        await cancelled(task)

    run(work())  # the fixture sees to it that no child and no descriptor remains


def test_a_cancelled_command_leaves_no_file_of_output(tmp_path: Path) -> None:
    async def work() -> None:
        command = Command.shell_line("trap '' TERM; yes", keep=10)
        task = asyncio.create_task(run_command(command, spill=tmp_path, grace=0.0))
        await eventually(lambda: any(tmp_path.iterdir()))
        task.cancel()
        await cancelled(task)
        assert list(tmp_path.iterdir()) == []

    run(work())


def test_a_loop_that_stops_in_the_middle_still_kills_the_child(tmp_path: Path) -> None:
    loop = asyncio.new_event_loop()
    command = Command.shell_line("echo $$ >> pids; exec sleep 1000", cwd=str(tmp_path))
    coroutine = run_command(command)
    task = loop.create_task(coroutine)
    loop.run_until_complete(eventually(lambda: len(pids_in(tmp_path / "pids")) == 1))
    coroutine.close()  # what the garbage collector does to a coroutine that nobody awaits
    assert not alive(pids_in(tmp_path / "pids")[0])
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()


def test_the_end_of_asyncio_run_ends_commands_that_nobody_awaits(tmp_path: Path) -> None:
    async def work() -> None:
        running = Running(STUBBORN, tmp_path, 4, grace=0.0)
        await running.started()

    asyncio.run(work())
    assert [pid for pid in pids_in(tmp_path / "pids") if alive(pid)] == []


@pytest.mark.parametrize(
    "script",
    [
        "sleep 1000 & echo $! >> pids; echo done",
        "sleep 1000 > /dev/null 2>&1 & echo $! >> pids; echo done",
        "setsid sleep 1000 & echo $! >> pids; echo done",
        "trap '' TERM; sleep 1000 & echo $! >> pids; echo done",
    ],
)
def test_what_a_command_leaves_behind_is_killed_and_told(script: str, tmp_path: Path) -> None:
    async def work() -> None:
        running = Running(script, tmp_path, 1)
        await running.started()
        await jump_until_done(running.task, 1)
        result = running.task.result()
        assert running.living() == []
        assert result.left_behind
        assert (result.exit_code, result.stdout.text) == (0, "done\n")

    run(work())


def test_one_that_was_forked_while_the_table_was_read_is_killed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pids()
    monkeypatch.setattr("fanwise.processes.table.pids", lambda: before)

    async def work() -> None:
        script = "sleep 1000 > /dev/null 2>&1 & echo $! >> pids"
        running = Running(script, tmp_path, 1)
        await running.started()
        await jump_until_done(running.task, 1)
        assert running.task.result().left_behind
        await eventually(lambda: running.living() == [])

    run(work())


def test_what_ends_by_itself_within_the_grace_is_not_left_behind(tmp_path: Path) -> None:
    async def work() -> None:
        os.mkfifo(tmp_path / "go")
        script = "(read x < go; echo late) & echo $! >> pids; echo early"
        running = Running(script, tmp_path, 1, grace=1_000_000)
        await running.started()
        await asyncio.to_thread((tmp_path / "go").write_text, "\n")
        result = await running.task
        assert (result.stdout.text, result.left_behind) == ("early\nlate\n", False)

    run(work())


def test_a_grandchild_that_never_stops_writing_does_not_hold_the_command_up() -> None:
    async def work() -> None:
        task = asyncio.create_task(run_command(Command.shell_line("yes & echo", keep=100)))
        await jump_until_done(task, 0.01)
        assert task.result().left_behind

    run(work())


def test_without_pidfd_the_whole_family_dies_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")

    async def work() -> None:
        running = Running(STUBBORN, tmp_path, 4, grace=0.0)
        await running.started()
        running.task.cancel()
        await cancelled(running.task)
        assert running.living() == []

    run(work())


def test_a_hundred_commands_cancelled_at_once_are_all_dead() -> None:
    async def work() -> None:
        tasks = [
            asyncio.create_task(run_command(Command("sleep", "1000"), grace=0.0))
            for _ in range(100)
        ]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        assert all(
            isinstance(each, asyncio.CancelledError)
            for each in await asyncio.gather(*tasks, return_exceptions=True)
        )

    run(work())
