"""`kill -9` of `fanwise map`, then `fanwise resume`: together, each output once, in order."""

from __future__ import annotations

import json
import random
import signal

import pytest

from fanwise.crashpoint import POINTS
from tests.cli.support import Place, end, eventually, numbers

LINES = 40
# Each line has several lines of output, of which the last has no newline.
SCRIPT = "echo {} >> ran; echo {}; echo middle; printf %s {}"
EXPECTED = b"".join(b"%d\nmiddle\n%d" % (n, n) for n in range(1, LINES + 1))


@pytest.mark.parametrize("nth", [1, 7])
@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_crash_point_and_resumed(place: Place, point: str, nth: int) -> None:
    once = point in ("run.created", "run.before_end")
    at = point if once or nth == 1 else f"{point}:{nth}"
    (place.path / "lines").write_bytes(numbers(LINES))
    command = ["map", "--run", "r", "--cap", "3", "--", "sh", "-c", SCRIPT]
    killed = place.run(*command, given=numbers(LINES), FANWISE_CRASH_AT=at)
    assert killed.returncode == -signal.SIGKILL
    if not place.run("show", "r").returncode:
        resumed = place.run("resume", "r", "--input", "lines")
        assert resumed.returncode == 0, resumed.stderr
        assert killed.stdout + resumed.stdout == EXPECTED
        _check_that_done_items_did_not_run_again(place)


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_a_random_moment_and_resumed_until_it_is_done(place: Place, seed: int) -> None:
    chance = random.Random(seed)
    together = b""
    process = place.start(
        "map", "--run", "r", "--cap", "3", "--", "sh", "-c", SCRIPT, given=numbers(LINES)
    )
    for _ in range(3):
        ran = len(place.lines("ran")) + chance.randrange(1, 12)
        eventually(lambda: len(place.lines("ran")) >= ran or process.poll() is not None)
        process.kill()
        together += end(process)[1]
        process = place.start("resume", "r", given=b"")
    code, out, err = end(process)
    assert code == 0, err
    assert together + out == EXPECTED
    _check_that_done_items_did_not_run_again(place)


def _check_that_done_items_did_not_run_again(place: Place) -> None:
    """An item ran as often as its start is in the journal, or less."""
    shown = json.loads(place.run("show", "r", "--items", "--json").stdout)
    ran = place.lines("ran")
    for item in shown["items"]:
        assert item["status"] == "done"
        assert ran.count(item["input"]) <= item["starts"]
    twice = {each["input"] for each in shown["may_have_run_twice"]}
    assert {line for line in ran if ran.count(line) > 1} <= twice


def test_items_that_may_have_run_twice_are_named_by_the_resume(place: Place) -> None:
    process = place.start(
        "map", "--run", "r", "--", "sh", "-c", "echo {} >> ran; [ -e open ] || sleep 600",
        given=b"some line\n",
    )  # fmt: skip
    eventually(lambda: place.lines("ran") == ["some line"])
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
    assert b"not been read to its end: 2 lines are known" in known.stderr
    (place.path / "other").write_bytes(b"1\nx\n3\n")
    other = place.run("resume", "r", "--input", "other")
    assert (other.returncode, other.stdout) == (2, b"")
    assert b"line 2 of the input is not the line that was recorded" in other.stderr
    rest = place.run("resume", "r", "--input", "-", given=numbers(4))
    assert (rest.returncode, rest.stdout, rest.stderr) == (0, b"3\n4\n", b"")


def test_with_key_an_edited_input_keeps_what_is_done(place: Place) -> None:
    command = ["map", "--key", "--run", "r", "--", "sh", "-c", "echo {} | tee -a ran"]
    assert place.run(*command, given=b"a\nb\nc\n").returncode == 0
    (place.path / "edited").write_bytes(b"c\nnew\na\n")
    again = place.run("resume", "r", "--input", "edited")
    assert (again.returncode, again.stdout) == (0, b"c\nnew\na\n")
    assert sorted(place.lines("ran")) == ["a", "b", "c", "new"]


def test_what_failed_runs_again_if_asked_for_and_only_that(place: Place) -> None:
    script = "echo {} >> ran; echo {}; [ {} != 2 ] || [ -e mended ]"
    assert place.run("map", "--run", "r", "--", "sh", "-c", script, given=numbers(3)).returncode
    assert place.run("resume", "r").stdout == b""
    (place.path / "mended").touch()
    again = place.run("resume", "r", "--retry-failed")
    assert (again.returncode, again.stdout) == (0, numbers(3))
    assert sorted(place.lines("ran")) == ["1", "2", "2", "3"]
