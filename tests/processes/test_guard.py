"""When fanwise itself is killed with SIGKILL, its commands die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fanwise.processes import Command, run_command
from fanwise.processes.guard import Guard, guard
from fanwise.processes.guard_program import VARIABLE
from tests.processes.support import alive, eventually_now, pids_in, run

# A program that runs a command whose processes ignore SIGTERM: one is in a session of
# its own, another in the group but without the environment.
PARENT = """
import asyncio
from fanwise.processes import Command, run_command
script = '''
trap "" TERM HUP
sh -c 'echo $$ >> pids; exec sleep 1000' &
setsid sh -c 'echo $$ >> pids; exec sleep 1000' &
env -i sh -c 'echo $$ >> pids; exec sleep 1000' &
echo $$ >> pids
wait
'''
asyncio.run(run_command(Command.shell_line(script)))
"""
NESTED = f"""
import asyncio, sys
from fanwise.processes import Command, run_command
asyncio.run(run_command(Command(sys.executable, "-c", {PARENT!r})))
"""
FINISHED = """
import asyncio, os, signal
from fanwise.processes import Command, run_command
from fanwise.processes.guard import guard
line = "setsid sh -c 'echo $$ >> pids; exec sleep 1000' > /dev/null 2>&1 &"
asyncio.run(run_command(Command.shell_line(line)))
print(guard()._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def start(program: str, cwd: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program], cwd=cwd)


@pytest.mark.parametrize("program", [PARENT, NESTED])
def test_commands_die_with_a_fanwise_that_is_killed(program: str, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    with start(program, tmp_path) as parent:
        eventually_now(lambda: len(pids_in(file)) == 4)
        assert all(alive(pid) for pid in pids_in(file))
        parent.kill()
    eventually_now(lambda: not any(alive(pid) for pid in pids_in(file)))


def test_a_command_dies_whose_group_was_not_announced_yet(tmp_path: Path) -> None:
    """Its parent may be killed just after it started the command."""
    own = Guard()
    env = {**os.environ, VARIABLE: own.mark(own.announce())}
    script = "env -i sh -c 'echo $$ >> pids; exec sleep 1000' & echo $$ >> pids; wait"
    with subprocess.Popen(
        ["sh", "-c", script], cwd=tmp_path, env=env, start_new_session=True
    ) as leader:
        eventually_now(lambda: len(pids_in(tmp_path / "pids")) == 2)
        own.close()
        assert leader.wait() == -signal.SIGKILL
    eventually_now(lambda: not any(alive(pid) for pid in pids_in(tmp_path / "pids")))


def test_a_daemon_of_a_command_that_is_over_may_stay(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    ended = subprocess.run([sys.executable, "-c", FINISHED], cwd=tmp_path, stdout=subprocess.PIPE)
    eventually_now(lambda: len(pids_in(file)) == 1)
    eventually_now(lambda: not alive(int(ended.stdout)))
    (daemon,) = pids_in(file)
    try:
        assert alive(daemon)
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_the_marks_of_nested_commands_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANWISE_CHILD", "[outer.1]")
    result = run(run_command(Command("printenv", "FANWISE_CHILD")))
    assert result.stdout.text.startswith(f"[outer.1][{guard().owner}.")


def test_a_guard_that_was_killed_is_replaced_and_told_of_what_runs() -> None:
    async def work() -> None:
        await run_command(Command("true"))
        process = guard()._process
        assert process is not None
        process.kill()
        process.wait()
        assert (await run_command(Command("true"))).exit_code == 0
        replaced = guard()._process
        assert replaced is not None
        assert replaced.pid != process.pid
        assert alive(replaced.pid)

    run(work())
