"""On a terminal: a live line on stderr that never mixes with the outputs."""

from __future__ import annotations

import re

from tests.cli.support import Place, numbers, on_a_terminal


def as_seen(got: bytes) -> list[str]:
    """The lines that stay on the screen: what an erased line had shown is gone."""
    seen = []
    for line in got.decode().replace("\r\n", "\n").split("\n"):
        left = line.rpartition("\r\x1b[2K")[2]
        seen.append(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", left))
    return seen


def test_the_live_line_is_drawn_and_gone_at_the_end_and_outputs_are_whole(place: Place) -> None:
    got = on_a_terminal(place, "map", "--run", "the-run", "--", "echo", given=numbers(30))
    assert b"the-run" in got
    assert b"in flight" in got
    assert as_seen(got) == [*map(str, range(1, 31)), "fanwise: run the-run: 30 lines done", ""]


def test_the_live_line_is_not_drawn_behind_an_output_that_has_not_ended_its_line(
    place: Place,
) -> None:
    got = on_a_terminal(place, "map", "--run", "r", "--", "printf", "%s.", given=numbers(30))
    outputs = "".join(f"{n}." for n in range(1, 31))
    assert as_seen(got) == [outputs, "fanwise: run r: 30 lines done", ""]


def test_no_color_is_honoured(place: Place) -> None:
    got = on_a_terminal(place, "map", "--", "false", given=numbers(5), NO_COLOR="1")
    assert b"in flight" in got
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]m", got)


def test_a_dumb_terminal_gets_no_live_line(place: Place) -> None:
    assert b"\x1b" not in on_a_terminal(place, "map", "--", "echo", given=b"a\n", TERM="dumb")


def test_without_a_terminal_there_is_no_live_line(place: Place) -> None:
    done = place.run("map", "--", "echo", given=numbers(3))
    assert done.stderr == b""


def test_on_a_terminal_a_resume_says_first_what_it_will_do(place: Place) -> None:
    script = "test {} != 2 || test -e mended"
    args = ("--run", "r", "--cap", "1", "--halt", "failure", "--", "sh", "-c", script)
    place.run("map", *args, given=numbers(5))
    told = as_seen(on_a_terminal(place, "resume", "r"))
    halted = "halted at line 2: 3 lines not started"
    assert told[0] == f"fanwise: r: {halted}; without --retry-failed it halts there again"
    (place.path / "mended").touch()
    told = as_seen(on_a_terminal(place, "resume", "r", "--retry-failed"))
    assert told[0] == "fanwise: r: 1 line done, 1 failed (to run again), 3 to run"
    assert told[-2] == "fanwise: run r: 5 lines done"
