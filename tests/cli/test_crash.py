"""`kill -9` of `fanwise map`, then `fanwise resume`: together, each output once, in order."""

from __future__ import annotations

import array
import fcntl
import json
import os
import random
import signal
import subprocess
import termios
from pathlib import Path
from typing import IO

import pytest

from fanwise.cli.recorded_run import recorded_run
from fanwise.crashpoint import POINTS
from fanwise.errors import RunNotFound
from fanwise.lines.output.fd_writer import PIECE
from fanwise.lines.spec.map_spec import KEEP
from fanwise.view.item_rows import item_rows
from fanwise.view.run_detail import run_detail
from tests.cli.support import Place, end, eventually, numbers
from tests.marks import slow_after

LINES = 14
# Each line has several lines of output, of which the last has no newline; it takes several writes
# to a pipe, of 4 KB each.
SCRIPT = "echo {} >> ran; echo {}; printf %9000s x; printf %s {}"
EXPECTED = b"".join(b"%d\n%9000s%d" % (n, b"x", n) for n in range(1, LINES + 1))


@pytest.mark.parametrize("nth", slow_after(1, [1, 5]))
@pytest.mark.parametrize("point", slow_after(3, POINTS))
def test_killed_at_a_crash_point_and_resumed(place: Place, point: str, nth: int) -> None:
    once = point in ("run.created", "run.before_end")
    if once and nth > 1:
        return
    (place.path / "lines").write_bytes(numbers(LINES))
    command = ["map", "--run", "r", "--cap", "3", "--", "sh", "-c", SCRIPT]
    killed = place.run(*command, given=numbers(LINES), FANWISE_CRASH_AT=f"{point}:{nth}")
    assert killed.returncode == -signal.SIGKILL
    if _is_recorded(place):
        resumed = place.run("resume", "r", "--input", "lines")
        assert resumed.returncode == 0, resumed.stderr
        assert killed.stdout + resumed.stdout == EXPECTED
        _check_that_done_items_did_not_run_again(place)


@pytest.mark.parametrize("seed", slow_after(1, range(3)))
@pytest.mark.parametrize("to_a_file", slow_after(1, [False, True]))
def test_killed_at_a_random_moment_and_resumed_until_it_is_done(
    place: Place, seed: int, to_a_file: bool
) -> None:
    chance = random.Random(seed)
    (place.path / "lines").write_bytes(numbers(LINES))
    command = ["map", "--run", "r", "--cap", "3", "--", "sh", "-c", SCRIPT]
    together = b""
    with (place.path / "out").open("ab") as file:
        stdout = file.fileno() if to_a_file else subprocess.PIPE
        process = place.start(*command, given=numbers(LINES), stdout=stdout)
        for _ in range(2):
            ran = len(place.lines("ran")) + chance.randrange(1, 7)
            eventually(lambda: len(place.lines("ran")) >= ran or process.poll() is not None)
            process.kill()
            together += end(process)[1] or b""
            process = place.start("resume", "r", "--input", "lines", given=b"", stdout=stdout)
        code, out, err = end(process)
    assert code == 0, err
    assert together + (out or b"") + (place.path / "out").read_bytes() == EXPECTED
    _check_that_done_items_did_not_run_again(place)


@pytest.mark.parametrize("size", [KEEP // 2, KEEP * 2])
def test_killed_in_the_middle_of_an_output_it_goes_on_at_that_byte(place: Place, size: int) -> None:
    """`size`: in the journal, and in a file. The pipe is full, and nobody reads."""
    script = f"echo {{}} >> ran; head -c {size} /dev/zero | tr '\\0' {{}}"
    process = place.start("map", "--run", "r", "--", "sh", "-c", script, given=b"a\nb\n")
    assert process.stdout is not None
    taken = os.read(process.stdout.fileno(), 1)
    position = place.path / ".fanwise" / "journal.db.files" / "r" / "position"
    held = Held(process.stdout)
    # It waits for the reader, and has noted all that it wrote.
    eventually(lambda: held.full and _offset(position) == len(taken) + held.bytes)
    process.kill()
    first = taken + end(process)[1]
    assert PIECE < len(first) < size
    resumed = place.run("resume", "r")
    assert resumed.returncode == 0, resumed.stderr
    assert first + resumed.stdout == b"a" * size + b"b" * size
    assert sorted(place.lines("ran"))[:2] == ["a", "b"]


class Held:
    """What a pipe holds."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe

    @property
    def bytes(self) -> int:
        held = array.array("i", [0])
        fcntl.ioctl(self._pipe, termios.FIONREAD, held)
        return held[0]

    @property
    def full(self) -> bool:
        """Whether another write would have to wait."""
        return self.bytes > fcntl.fcntl(self._pipe, fcntl.F_GETPIPE_SZ) - 2 * PIECE


def _offset(position: Path) -> int:
    return int.from_bytes(position.read_bytes()[-8:], "little")


def _is_recorded(place: Place) -> bool:
    try:
        with recorded_run(str(place.path / ".fanwise" / "journal.db"), "r"):
            return True
    except RunNotFound:
        return False


def _check_that_done_items_did_not_run_again(place: Place) -> None:
    """An item ran as often as its start is in the journal, or less."""
    with recorded_run(str(place.path / ".fanwise" / "journal.db"), "r") as (journal, run):
        items = list(item_rows(journal, "r", inputs="by index"))
        told = run_detail(journal, run, inputs="by index")["may_have_run_twice"]
    ran = place.lines("ran")
    assert len(items) == LINES
    for item in items:
        assert item["status"] == "done"
        assert ran.count(item["input"]) <= item["starts"]
    twice = {each["input"] for each in told}
    assert {line for line in ran if ran.count(line) > 1} <= twice


def test_items_that_may_have_run_twice_are_named_by_the_resume(place: Place) -> None:
    process = place.start(
        "map", "--run", "r", "--", "sh", "-c", "echo {} >> ran; [ -e open ] || sleep 600",
        given=b"some line\n",
    )  # fmt: skip
    eventually(lambda: place.lines("ran") == ["some line"])
    eventually(
        lambda: b'"total": 1' in place.run("show", "r", "--json").stdout.replace(b":", b": ")
    )
    process.kill()
    end(process)
    assert b"interrupted" in place.run("runs").stdout
    (place.path / "open").touch()
    resumed = place.run("resume", "r")
    assert resumed.returncode == 0
    assert b"may have run twice:\n  line 1 (some line)" in resumed.stderr


def test_an_input_that_was_not_read_to_its_end_is_said_and_can_be_given_again(
    place: Place,
) -> None:
    process = place.start("map", "--run", "r", "--", "echo")
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b"1\n2\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"1\n"
    assert process.stdout.readline() == b"2\n"
    process.kill()
    end(process)
    known = place.run("resume", "r")
    assert b"halted: the input was not read to its end; 2 lines known\n" in known.stderr
    assert known.returncode == 130
    (place.path / "other").write_bytes(b"1\nx\n3\n")
    other = place.run("resume", "r", "--input", "other")
    assert (other.returncode, other.stdout) == (2, b"")
    assert b"line 2 of the input is not what was recorded" in other.stderr
    rest = place.run("resume", "r", "--input", "-", given=numbers(4))
    assert (rest.returncode, rest.stdout, rest.stderr) == (0, b"3\n4\n", b"")


def test_with_key_an_edited_input_keeps_what_is_done(place: Place) -> None:
    command = ["map", "--key", "--run", "r", "--", "sh", "-c", "echo {} | tee -a ran"]
    assert place.run(*command, given=b"a\nb\nc\n").returncode == 0
    (place.path / "edited").write_bytes(b"c\nnew\na\n")
    again = place.run("resume", "r", "--input", "edited")
    assert (again.returncode, again.stdout) == (0, b"c\nnew\na\n")
    assert sorted(place.lines("ran")) == ["a", "b", "c", "new"]


def test_after_an_edit_each_line_is_shown_with_its_own_outcome(place: Place) -> None:
    script = "echo {}; [ {} != c ]"
    place.run("map", "--key", "--run", "r", "--", "sh", "-c", script, given=b"a\nb\nc\n1\n")
    (place.path / "edited").write_bytes(b"new\nc\na\n")
    assert place.run("resume", "r", "--input", "edited").returncode == 1
    rows = [json.loads(line) for line in place.run("export", "r").stdout.splitlines()]
    shown = [(row["index"], row["input"], row["stdout"]) for row in rows]
    assert shown == [(0, "new", "new\n"), (1, "c", "c\n"), (2, "a", "a\n")]
    text = place.run("show", "r", "--items").stdout
    assert b"  line 2 (c): the command exited with code 1\n" in text
    assert b"       1  failed     c  " in text and b"lines     2 done, 1 failed, of 3" in text
    again = place.run("resume", "r")
    assert (again.returncode, again.stdout) == (1, b"")
    assert b"line 2 (c): the command exited with code 1\n" in again.stderr


def test_an_edited_input_that_was_not_read_to_its_end_is_said(place: Place) -> None:
    assert place.run("map", "--key", "--run", "r", "--", "echo", given=b"a\nb\n").returncode == 0
    process = place.start("resume", "r", "--input", "-")
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b"a\nx\ny\n")
    process.stdin.flush()
    assert [process.stdout.readline() for _ in range(3)] == [b"a\n", b"x\n", b"y\n"]
    process.kill()
    end(process)
    known = place.run("resume", "r")
    assert b"halted: the input was not read to its end; 3 lines known\n" in known.stderr
    assert known.returncode == 130


def test_what_failed_runs_again_if_asked_for_and_only_that(place: Place) -> None:
    script = "echo {} >> ran; echo {}; [ {} != 2 ] || [ -e mended ]"
    assert place.run("map", "--run", "r", "--", "sh", "-c", script, given=numbers(3)).returncode
    assert place.run("resume", "r").stdout == b""
    (place.path / "mended").touch()
    again = place.run("resume", "r", "--retry-failed")
    assert (again.returncode, again.stdout) == (0, numbers(3))
    assert sorted(place.lines("ran")) == ["1", "2", "2", "3"]
