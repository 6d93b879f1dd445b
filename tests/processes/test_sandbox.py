"""What a command in a sandbox can do and cannot do, with bubblewrap and without it."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanwise.errors import CommandFailed, SandboxUnavailable, UsageError
from fanwise.processes import Command, CommandResult, Limits, Sandbox, run_command
from tests.processes.support import (
    alive,
    box,
    eventually,
    eventually_now,
    jump,
    no_box,
    pids_in,
    run,
)

__all__ = ["box", "no_box"]

MB = 1 << 20


@pytest.fixture
def space(tmp_path: Path) -> Path:
    (tmp_path / "space").mkdir()
    return tmp_path / "space"


def boxed(code: str, space: Path, **options: object) -> CommandResult:
    command = Command(sys.executable, "-c", code, cwd=str(space), sandbox=True, **options)  # type: ignore[arg-type]
    result = run(run_command(command, timeout=600))
    assert result.sandboxed
    return result


def test_it_writes_in_its_folder_and_in_a_tmp_of_its_own_and_nowhere_else(
    box: str, space: Path
) -> None:
    outside = [space.parent / "outside", Path.home() / "fanwise-outside", Path("/etc/fanwise-out")]
    code = (
        "import pathlib, tempfile\n"
        "pathlib.Path('inside').write_text('x')\n"
        "pathlib.Path('/tmp/mine').write_text('x')\n"
        "tempfile.NamedTemporaryFile().close()\n"
        f"for path in {[str(path) for path in outside]}:\n"
        "    try: pathlib.Path(path).write_text('x')\n"
        "    except OSError as error: print(type(error).__name__)\n"
    )
    result = boxed(code, space)
    assert result.ok, result.stderr.text
    assert (space / "inside").read_text() == "x"
    assert not any(path.exists() for path in (*outside, Path("/tmp/mine")))


def test_what_is_named_is_writable_or_seen_and_the_rest_of_tmp_is_not(
    box: str, tmp_path: Path
) -> None:
    for name in ("writable", "readable", "hidden"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    command = Command.shell_line(
        "cat */file; echo new > writable/file; echo new > readable/file",
        cwd="/",
        env={"D": str(tmp_path)},
        sandbox=Sandbox(
            writable=[str(tmp_path / "writable")], readable=[str(tmp_path / "readable")]
        ),
    )
    line = Command.shell_line(
        f"cd {tmp_path}; {command.argv[0]!s}", sandbox=command.sandbox or True
    )
    result = run(run_command(line))
    assert result.stdout.text == "readablewritable"
    assert (tmp_path / "writable/file").read_text() == "new\n"
    assert (tmp_path / "readable/file").read_text() == "readable"


@pytest.fixture
def server() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_it_reaches_no_server_unless_it_may(box: str, space: Path, server: int) -> None:
    code = f"import socket; socket.create_connection(('127.0.0.1', {server})); print('connected')"
    assert "ConnectionRefusedError" in boxed(code, space).stderr.text
    open_box = Sandbox(network=True)
    command = Command(sys.executable, "-c", code, cwd=str(space), sandbox=open_box)
    assert run(run_command(command)).stdout.text == "connected\n"


# Ours has the key in its environment from its start, so that its /proc entry has it too.
KEYS = """
import asyncio, os, sys
from fanwise.processes import Command, run_command
code = (
    "import glob, os, sys\\n"
    "for path in [*glob.glob('/proc/[0-9]*/environ'), f'/proc/{sys.argv[1]}/environ']:\\n"
    "    try: print(path, open(path, 'rb').read())\\n"
    "    except OSError: pass\\n"
    "print(os.environ)"
)
command = Command(sys.executable, "-c", code, str(os.getpid()), sandbox=sys.argv[1] == "boxed")
print(asyncio.run(run_command(command)).stdout.text)
"""


def test_it_does_not_see_our_keys_nor_any_of_our_processes(
    box: str, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-this-test")

    def said(how: str) -> str:
        return subprocess.check_output([sys.executable, "-c", KEYS, how], cwd=space, text=True)

    assert "sk-from-this-test" not in said("boxed")
    assert said("boxed").count("/environ") in (1, 2), "its own, and that of the first in there"
    assert said("plain").count("sk-from-this-test") > 2


def test_it_may_kill_all_that_it_sees_and_we_live(box: str, space: Path) -> None:
    code = (
        "import os\n"
        "for kill, whom in ((os.kill, os.getppid()), (os.killpg, os.getpgid(os.getppid())),\n"
        "                   (os.kill, -1), (os.killpg, 0)):\n"
        "    try: kill(whom, 9)\n"
        "    except OSError: pass\n"
        "os.kill(os.getpid(), 9)"
    )
    result = boxed(code, space)
    assert (result.ending, result.signal) == ("signal", 9)


def test_its_exit_code_and_its_signal_are_its_own(box: str, space: Path) -> None:
    assert boxed("raise SystemExit(3)", space).exit_code == 3
    result = boxed("import os; os.abort()", space)
    assert (result.exit_code, result.signal, result.ending) == (None, 6, "signal")


def test_limits_hold_in_the_sandbox(box: str, space: Path) -> None:
    limits = Limits(address_space=1024 * MB, memory=300 * MB, processes=5)
    assert boxed("bytearray(64 << 30)", space, limits=limits).out_of_memory
    held = boxed("x = b'x' * (600 << 20); import time; time.sleep(1000)", space, limits=limits)
    assert held.exceeded == "memory"
    fork = "import os, time\nfor _ in range({}): os.fork() or (os.setsid(), time.sleep(1000))\n"
    # It stays to be seen: limits of the whole are looked at a few times a second.
    bomb = f"{fork.format(300)}time.sleep(1000)\n"
    assert boxed(bomb, space, limits=limits).exceeded == "processes"
    assert boxed(fork.format(4), space, limits=limits).ok, "five may live, bubblewrap not counted"


# Ignores SIGTERM; a child in a session of its own, and one there whose parent is gone.
STUBBORN = """
trap '' TERM
(setsid sleep 1000.{n} &)
setsid sleep 1000.{n} &
echo ready > ready
exec sleep 1000.{n}
"""


def living(number: int) -> list[int]:
    """The processes of `STUBBORN` with this number."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"1000.{number}".encode() in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [pid for pid in found if alive(pid)]


def test_after_a_time_out_nothing_in_the_sandbox_lives(box: str, space: Path) -> None:
    async def work() -> None:
        number = os.getpid()
        command = Command.shell_line(STUBBORN.format(n=number), cwd=str(space), sandbox=True)
        task = asyncio.create_task(run_command(command, timeout=1000))
        await eventually(lambda: (space / "ready").exists() and len(living(number)) >= 3)
        while not task.done():
            jump(500)
            await asyncio.sleep(0)
        assert task.result().timed_out
        assert living(number) == []

    run(work())


def test_when_fanwise_is_killed_nothing_in_the_sandbox_lives(box: str, space: Path) -> None:
    program = (
        "import asyncio, os\n"
        "from fanwise.processes import Command, run_command\n"
        f"line = {STUBBORN!r}.format(n=os.getpid())\n"
        "asyncio.run(run_command(Command.shell_line(line, sandbox=True)))"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=space) as process:
        eventually_now(lambda: (space / "ready").exists() and len(living(process.pid)) >= 3)
        process.kill()
    eventually_now(lambda: living(process.pid) == [])


def test_it_has_the_grace_to_tidy_up(box: str, space: Path) -> None:
    async def work() -> None:
        script = "trap 'echo tidy; exit 7' TERM; echo 1 >> pids; while :; do sleep 0.01; done"
        command = Command.shell_line(script, cwd=str(space), sandbox=True)
        task = asyncio.create_task(run_command(command, timeout=1000, grace=1_000_000))
        await eventually(lambda: pids_in(space / "pids") == [1])
        jump(1000)
        result = await task
        assert (result.timed_out, result.exit_code, result.stdout.text) == (True, 7, "tidy\n")

    run(work())


def test_a_program_that_is_not_there_is_told_as_ever(box: str, space: Path) -> None:
    with pytest.raises(CommandFailed, match="cannot run 'no-such-program'"):
        run(run_command(Command("no-such-program", cwd=str(space), sandbox=True)))
    with pytest.raises(UsageError, match="is to be writable and does not exist"):
        run(run_command(Command("true", sandbox=Sandbox(writable=["/no/such/folder"]))))


def test_without_any_sandbox_nothing_runs_and_it_says_what_to_install(
    no_box: str, space: Path
) -> None:
    command = Command("touch", "ran", cwd=str(space), sandbox=True)
    with pytest.raises(SandboxUnavailable, match=r"No permissions.*unshare: Operation") as caught:
        run(run_command(command))
    assert not (space / "ran").exists()
    assert "apt install bubblewrap" in caught.value.next_step
    assert "--no-sandbox" in caught.value.next_step
    assert run(run_command(Command("touch", "ran", cwd=str(space)))).ok, "nobody asked for one"


@pytest.mark.parametrize("given", ["yes", None, 1.5])
def test_a_sandbox_is_true_or_a_sandbox(given: object) -> None:
    with pytest.raises(UsageError, match="sandbox is"):
        Command("true", sandbox=given)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="writable of a sandbox is"):
        Sandbox(writable="/tmp")
