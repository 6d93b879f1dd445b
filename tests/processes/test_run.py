from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest

from fanwise.errors import CommandFailed
from fanwise.processes import Command, CommandResult, require_success, run_command
from tests.processes.support import children, open_files, run


def test_output_and_exit_code_come_back() -> None:
    result = run(run_command(Command.shell_line("echo out; echo err >&2; exit 3")))
    assert (result.exit_code, result.signal) == (3, None)
    assert (result.stdout.text, result.stderr.text) == ("out\n", "err\n")
    assert not result.timed_out
    assert not result.left_behind


def test_an_end_by_a_signal_is_told_from_an_exit_code() -> None:
    result = run(run_command(Command.shell_line("kill -9 $$")))
    assert (result.exit_code, result.signal) == (None, 9)


def test_stdin_is_empty_unless_given() -> None:
    assert run(run_command(Command("cat"))).stdout.size == 0


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
def test_stdin_reaches_the_child_while_its_output_is_read(size: int) -> None:
    data = os.urandom(size)
    assert run(run_command(Command("cat", stdin=data))).stdout.data == data


@pytest.mark.parametrize("program", ["true", "exec <&-; true"])
def test_a_child_that_does_not_read_its_stdin_is_fine(program: str) -> None:
    result = run(run_command(Command.shell_line(program, stdin=b"x" * 5_000_000)))
    assert result.exit_code == 0


def test_the_environment_is_inherited_and_added_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLD", "1")
    result = run(run_command(Command.shell_line('echo "$OLD$NEW"', env={"NEW": "2"})))
    assert result.stdout.text == "12\n"


def test_in_another_folder_git_does_not_work_on_the_repository_that_we_were_started_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/users/.git")  # as in a hook
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Me")
    line = 'echo "$GIT_DIR,$GIT_AUTHOR_NAME"'
    there = run(run_command(Command.shell_line(line, cwd=str(tmp_path))))
    assert there.stdout.text == ",Me\n"
    assert run(run_command(Command.shell_line(line))).stdout.text == "/users/.git,Me\n"


def test_cwd_is_where_it_runs(tmp_path: Path) -> None:
    assert run(run_command(Command("pwd", cwd=str(tmp_path)))).stdout.text == f"{tmp_path}\n"


def test_it_leads_a_session_and_a_group_of_its_own() -> None:
    program = "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0))"
    assert run(run_command(Command(sys.executable, "-c", program))).stdout.text == "True\n"


def test_it_inherits_no_descriptor_but_the_three() -> None:
    result = run(run_command(Command("ls", "/proc/self/fd")))
    assert result.stdout.text.split() == ["0", "1", "2", "3"]  # the fourth is that of ls


def failing(command: Command) -> CommandFailed:
    with pytest.raises(CommandFailed) as caught:
        run(run_command(command))
    return caught.value


def test_a_missing_program_is_127_and_says_what_to_do() -> None:
    error = failing(Command("no-such-program-here"))
    assert error.result.exit_code == 127
    assert "no-such-program-here" in str(error)
    assert error.next_step in str(error)


def test_a_program_that_may_not_be_run_is_126(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo")
    assert failing(Command(str(script))).result.exit_code == 126
    script.chmod(0o755)
    assert "#!" in failing(Command(str(script))).next_step


def test_a_missing_directory_is_not_taken_for_a_missing_program(tmp_path: Path) -> None:
    error = failing(Command("true", cwd=str(tmp_path / "gone")))
    assert "gone" in error.message
    assert "cwd" in error.next_step


def test_an_argument_that_is_too_long_is_a_failure_of_the_command() -> None:
    assert "stdin" in failing(Command("true", "x" * 10_000_000)).next_step


async def many(count: int) -> list[CommandResult]:
    command = Command("printf", "%s")
    return await asyncio.gather(
        *(run_command(command.for_item(str(number))) for number in range(count))
    )


def test_fifty_at_once_do_not_mix_their_output() -> None:
    assert [each.stdout.text for each in run(many(50))] == [str(n) for n in range(50)]


def test_two_hundred_runs_leave_no_descriptor_open() -> None:
    async def work() -> None:
        await many(10)
        before = len(open_files())
        for _ in range(10):
            await many(20)
        assert len(open_files()) == before

    run(work())


def test_it_runs_in_a_thread_that_is_not_the_main_one() -> None:
    found: list[CommandResult] = []
    thread = threading.Thread(target=lambda: found.extend(run(many(5))))
    thread.start()
    thread.join()
    assert [each.exit_code for each in found] == [0] * 5


def test_it_runs_where_there_is_no_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    assert [each.exit_code for each in run(many(20))] == [0] * 20


def test_an_exit_code_that_something_else_has_taken_is_no_success() -> None:
    async def work() -> CommandResult:
        before = set(children())  # servers that other tests of this process share
        task = asyncio.create_task(run_command(Command("cat", stdin=b"")))
        await asyncio.sleep(0)
        (child,) = set(children()) - before
        os.kill(child, 9)
        os.waitpid(child, 0)
        return await task

    result = run(work())
    assert (result.exit_code, result.signal) == (None, None)
    with pytest.raises(CommandFailed, match="taken by something else"):
        require_success(result)
