from __future__ import annotations

import hashlib
import resource
import sys
import tracemalloc
from pathlib import Path

import pytest

from fanwise.errors import JournalError, OutputNotWritable
from fanwise.processes import Command, CommandResult, run_command
from tests.processes.support import run

BIG = 100_000_000
WRITE_BIG = (
    f"import os; d = b'0123456789' * 100_000\nfor _ in range({BIG // 1_000_000}): os.write(1, d)"
)


def write(data: str, keep: int, spill: Path | None = None) -> CommandResult:
    return run(run_command(Command("printf", "%s", data, keep=keep), spill=spill))


def test_output_up_to_the_bound_is_complete() -> None:
    capture = write("0123456789", keep=10).stdout
    assert (capture.data, capture.size, capture.truncated) == (b"0123456789", 10, False)


def test_beyond_the_bound_head_and_tail_remain_and_the_true_size_is_known() -> None:
    capture = write("0123456789", keep=5).stdout
    assert capture.data == b"01\n[... 5 bytes left out ...]\n789"
    assert (capture.size, capture.truncated, capture.path) == (10, True, None)


def test_nothing_is_kept_if_nothing_shall_be() -> None:
    capture = write("0123456789", keep=0).stdout
    assert capture.data == b"\n[... 10 bytes left out ...]\n"


def test_with_a_directory_the_whole_output_is_in_a_file(tmp_path: Path) -> None:
    capture = write("0123456789", keep=5, spill=tmp_path / "new").stdout
    assert capture.path is not None
    assert Path(capture.path).read_bytes() == b"0123456789"
    assert (capture.size, capture.truncated) == (10, False)
    assert capture.data.startswith(b"01\n")


def test_output_within_the_bound_makes_no_file(tmp_path: Path) -> None:
    assert write("0123456789", keep=10, spill=tmp_path).stdout.path is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spilled", [False, True])
def test_a_hundred_megabytes_pass_in_bounded_memory(spilled: bool, tmp_path: Path) -> None:
    command = Command(sys.executable, "-c", WRITE_BIG, keep=1_000_000)
    tracemalloc.start()
    try:
        result = run(run_command(command, spill=tmp_path if spilled else None))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.exit_code == 0
    assert result.stdout.size == BIG
    assert peak < 5_000_000
    if spilled:
        assert result.stdout.path is not None
        written = Path(result.stdout.path).read_bytes()
        wanted = hashlib.sha256(b"0123456789" * (BIG // 10)).digest()
        assert hashlib.sha256(written).digest() == wanted


def test_stdout_and_stderr_are_read_side_by_side() -> None:
    line = "head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero; echo end >&2"
    result = run(run_command(Command.shell_line(line)))
    assert (result.stdout.size, result.stderr.size) == (1_000_000, 1_000_004)


def test_output_that_cannot_be_written_ends_the_command_and_is_told(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        with pytest.raises(OutputNotWritable, match="where a command's output goes") as caught:
            run(run_command(Command("yes", keep=10), spill=tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(caught.value, JournalError)  # so it ends the run, and is no outcome
    assert "free space" in caught.value.next_step
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_made_is_told_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputNotWritable, match="cannot write"):
        write("0123456789", keep=1, spill=tmp_path / "file")
