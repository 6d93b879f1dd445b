"""A command takes no more than it may, and its result says what ended it."""

from __future__ import annotations

import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from fanwise.errors import CommandFailed, UsageError
from fanwise.processes import (
    PLAIN,
    Command,
    CommandResult,
    Limits,
    require_success,
    run_command,
)
from fanwise.processes.family import ProcessFamily
from fanwise.processes.limits import exceeded_limit
from fanwise.processes.watch import Watch, _own
from tests.processes.support import alive, pids_in, run

MB = 1 << 20
LONG = 600.0  # never waited for: what ends the command is something else


def python(code: str, **options: object) -> Command:
    return Command(sys.executable, "-c", code, **options)  # type: ignore[arg-type]


def ran(command: Command, timeout: float | None = LONG) -> CommandResult:
    return run(run_command(command, timeout=timeout))


def test_64_gb_are_not_to_be_had_and_the_result_says_out_of_memory() -> None:
    limits = Limits(address_space=1024 * MB)
    result = ran(python("bytearray(64 << 30)", limits=limits))
    assert (result.ending, result.exceeded, result.out_of_memory) == ("limit", "memory", True)
    assert not result.ok
    with pytest.raises(CommandFailed, match="ran out of the memory that it may have: MemoryError"):
        require_success(result)


def test_memory_is_counted_over_all_processes_of_the_command() -> None:
    # Each of the four stays far below the limit; so a limit for each would not be met.
    code = (
        "import os, time\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0: break\n"
        "held = b'x' * (100 << 20)\n"
        "time.sleep(1000)"
    )
    result = ran(python(code, limits=Limits(memory=250 * MB)))
    assert (result.ending, result.exceeded) == ("limit", "memory")
    assert result.signal in (signal.SIGTERM, signal.SIGKILL)


def test_memory_that_a_fork_shares_with_its_parent_counts_once() -> None:
    code = (
        "import os, sys\n"
        "held = b'x' * (100 << 20)\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0: break\n"
        "os.write(1, b'.')\n"
        "sys.stdin.read()"
    )
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.read(4) == b"...."
        family = ProcessFamily(process.pid, "[no mark]")
        assert len(family.living()) == 4
        assert sum(map(_own, family.living())) > 300 * MB, "the quick figure counts it four times"
        assert Watch(Limits(memory=200 * MB), family, 0)._look() is None
        assert Watch(Limits(memory=90 * MB), family, 0)._look() == "memory"
        assert Watch(Limits(processes=4), family, 0)._look() is None
        assert Watch(Limits(processes=3), family, 0)._look() == "processes"
        assert Watch(Limits(processes=2), family, 2)._look() is None, "a sandbox's own do not count"
        process.stdin.close()


@pytest.mark.parametrize("prelude", ["", "os.setsid()"])
def test_a_fork_bomb_ends_at_the_limit_with_all_that_it_forked(
    prelude: str, tmp_path: Path
) -> None:
    code = (
        "import os, time\n"
        "pids = open('pids', 'a', buffering=1)\n"
        "for _ in range(500):\n"  # an end, lest a broken limit be the end of this machine
        "    if os.fork() == 0:\n"
        f"        {prelude}\n"
        "        pids.write(f'{os.getpid()}\\n')\n"
        "        time.sleep(1000)\n"
        "time.sleep(1000)"
    )
    result = ran(python(code, cwd=str(tmp_path), limits=Limits(processes=20)))
    assert (result.ending, result.exceeded) == ("limit", "processes")
    bombs = pids_in(tmp_path / "pids")
    assert bombs
    assert [pid for pid in bombs if alive(pid)] == []


def test_as_many_processes_as_allowed_are_allowed() -> None:
    code = (
        "import subprocess, sys\n"
        "others = [subprocess.Popen(['sleep', '1000']) for _ in range(4)]\n"
        "sys.stdin.read()\n"
        "for each in others: each.kill(); each.wait()"
    )
    assert ran(python(code, limits=Limits(processes=5), stdin=b"x" * 100_000)).ok


def test_cpu_seconds_end_a_loop() -> None:
    result = ran(python("while True: pass", limits=Limits(cpu_s=1)))
    assert (result.ending, result.exceeded, result.signal) == ("limit", "cpu", signal.SIGXCPU)


def test_a_file_grows_no_larger_than_it_may(tmp_path: Path) -> None:
    line = "head -c 10000000 /dev/zero > big"
    result = ran(Command.shell_line(line, cwd=str(tmp_path), limits=Limits(file_size=1 * MB)))
    assert not result.ok
    assert (tmp_path / "big").stat().st_size == 1 * MB
    ended = ran(
        python(
            "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
            "open('big', 'wb').write(bytes(10_000_000))",
            cwd=str(tmp_path),
            limits=Limits(file_size=1 * MB),
        )
    )
    assert ended.exceeded == "file_size"


def test_a_program_that_prints_without_end_is_ended_at_its_limit_of_output() -> None:
    for stream in ("stdout", "stderr"):
        code = f"import sys\nwhile True: sys.{stream}.write('x' * 65536)"
        result = ran(python(code, limits=Limits(output=1 * MB)))
        assert (result.ending, result.exceeded) == ("limit", "output")
    code = f"print('x' * {MB}, end='')"
    assert ran(python(code, limits=Limits(output=1 * MB))).ok


def test_too_much_output_is_an_excess_even_if_the_program_has_ended() -> None:
    result = ran(python("print('x' * 4096)", limits=Limits(output=4096)))
    assert not result.ok
    assert (result.ending, result.exceeded) == ("limit", "output")


def test_exit_signal_time_out_and_limit_are_told_apart() -> None:
    limits = Limits(address_space=4096 * MB, memory=512 * MB, processes=10, cpu_s=100)
    ends = {
        "exit": ran(python("raise SystemExit(3)", limits=limits)),
        "signal": ran(python("import os; os.kill(os.getpid(), 9)", limits=limits)),
        "time-out": ran(python("import time; time.sleep(1000)", limits=limits), timeout=0.2),
        "limit": ran(python("bytearray(64 << 30)", limits=limits)),
    }
    assert {name: result.ending for name, result in ends.items()} == {each: each for each in ends}
    assert (ends["exit"].exit_code, ends["signal"].signal) == (3, signal.SIGKILL)
    assert CommandResult(None).ending == "lost"


def test_the_kernel_killing_for_memory_is_told_from_another_kill() -> None:
    def told(number: int, oom_killed: bool) -> str | None:
        return exceeded_limit(Limits(), None, number, b"", oom_killed=oom_killed)

    assert told(signal.SIGKILL, True) == "memory"
    assert told(signal.SIGKILL, False) is None
    assert told(signal.SIGSEGV, True) is None


def test_words_about_memory_mean_nothing_without_a_limit_on_it() -> None:
    code = "import sys; sys.exit('MemoryError')"
    assert ran(python(code, limits=Limits(cpu_s=100))).ending == "exit"
    assert ran(python("print('MemoryError')", limits=Limits(address_space=1024 * MB))).ok


def test_limits_hold_for_what_the_command_starts_too() -> None:
    line = "ulimit -t; ulimit -H -t; ulimit -f; ulimit -v"
    limits = Limits(cpu_s=7, file_size=10 * MB, address_space=2048 * MB)
    result = ran(Command("sh", "-c", f"sh -c '{line}'", limits=limits))
    assert result.stdout.text.split() == ["7", "8", str(10 * MB // 512), str(2048 * 1024)]


def test_a_limit_above_our_own_is_ours() -> None:
    code = (
        "import asyncio, resource\n"
        "from fanwise.processes import Command, Limits, run_command\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (512 * 10, 512 * 10))\n"
        "limits = Limits(file_size=1 << 30)\n"
        "done = asyncio.run(run_command(Command('sh', '-c', 'ulimit -f', limits=limits)))\n"
        "print(done.stdout.text)"
    )
    assert subprocess.check_output([sys.executable, "-c", code]).split() == [b"10"]


def test_a_gigabyte_of_output_needs_no_memory_and_its_size_is_known() -> None:
    line = "head -c 1073741824 /dev/zero; echo end"
    tracemalloc.start()
    result = ran(Command.shell_line(line, keep=1 * MB))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.stdout.size == (1 << 30) + 4
    assert result.stdout.truncated
    assert result.stdout.data.endswith(b"\0end\n")
    assert peak < 32 * MB


def test_the_environment_is_only_what_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("LC_SECRET_NO", "x")
    line = Command("env", inherit=["PATH", "LC_T*"], env={"GIVEN": "1"})
    names = {each.partition("=")[0] for each in ran(line).stdout.text.splitlines()}
    assert names == {"PATH", "LC_TIME", "GIVEN", "FANWISE_CHILD"}
    plain = ran(Command("env", inherit=PLAIN)).stdout.text
    assert "sk-secret" not in plain and "LC_TIME=C" in plain
    assert "sk-secret" in ran(Command("env")).stdout.text


@pytest.mark.parametrize("limits", [None, Limits(cpu_s=5, memory=100 * MB)])
def test_a_program_that_is_not_there_is_told_alike_with_and_without_limits(
    limits: Limits | None, tmp_path: Path
) -> None:
    (tmp_path / "plain").write_text("x")
    for argv, cwd, code in (
        ("no-such-program", None, 127),
        ("./no-such-program", str(tmp_path), 127),
        ("./plain", str(tmp_path), 126),
        ("true", str(tmp_path / "nowhere"), 127),
    ):
        with pytest.raises(CommandFailed) as caught:
            ran(Command(argv, cwd=cwd, limits=limits))
        assert caught.value.result.exit_code == code
    (tmp_path / "here").write_text("#!/bin/sh\necho here")
    (tmp_path / "here").chmod(0o755)
    assert ran(Command("./here", cwd=str(tmp_path), limits=limits)).stdout.text == "here\n"


def test_the_items_command_keeps_what_was_said_of_the_command() -> None:
    command = Command(
        "echo", inherit=["PATH"], limits=Limits(cpu_s=5), sandbox=True, cwd="/", keep=7
    )
    one = command.for_item("x")
    assert (one.inherit, one.limits, one.sandbox, one.cwd, one.keep) == (
        ("PATH",), Limits(cpu_s=5), command.sandbox, "/", 7,
    )  # fmt: skip
    assert one.argv == ("echo", "x")


@pytest.mark.parametrize("given", [0, -1, True, 1.5, "1"])
def test_limits_are_whole_numbers_above_0(given: object) -> None:
    with pytest.raises(UsageError, match="the limit memory is"):
        Limits(memory=given)  # type: ignore[arg-type]


def test_what_a_result_says_survives_the_journal() -> None:
    result = CommandResult(None, signal=9, exceeded="processes", sandboxed=True)
    assert CommandResult.from_json(result.to_json()) == result
    assert "exceeded" not in CommandResult(0).to_json()
