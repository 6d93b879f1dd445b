"""What others wrote never steers the terminal: in no command, and in no field."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from typing import Any

import pytest

from fanwise import fan_out_sync, open_run
from fanwise.cli.progress_line import ProgressLine
from fanwise.kernel.events import Event, FanOutStarted, ItemStarted
from fanwise.testing import virtual_time
from fanwise.view.progress import Progress
from fanwise.view.terminal_text import terminal_line, terminal_safe
from tests.cli.support import Place, on_a_terminal

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b5;\u202egpj\u2066.\x08\x7f\rX"
"""Sets the title, clears the screen, turns the direction, deletes, goes back to the margin."""
OURS = re.compile(r"\r+\n|\r?\x1b\[2K|\r?\x1b\[\d+A|\x1b\[[0-9;]*m|\x1b\[J")
"""What the live line is made of."""
STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def steering(got: bytes) -> list[str]:
    """What a terminal would obey, beside what the live line needs."""
    return STEERING.findall(OURS.sub("", got.decode()))


@pytest.fixture
def evil(place: Place) -> Place:
    """A run with evil in its kind, its name, its spec, its paths, keys, errors and events."""

    def work(item: str) -> str:
        if item.startswith("bad"):
            raise ValueError(EVIL)
        return item

    journal = place.path / ".fanwise" / "journal.db"
    made = open_run("r", journal=journal, kind=f"k{EVIL}", name=f"n{EVIL}", spec={EVIL: EVIL})
    with pytest.raises(ValueError, match="ended"), made as run:
        items = [f"good{EVIL}", f"bad{EVIL}"]
        fan_out_sync(work, items, run=run, name=f"f{EVIL.replace('/', '')}", key=str)
        run.note(f"event{EVIL}", {EVIL: EVIL})
        raise ValueError(f"ended {EVIL}")
    return place


@pytest.mark.parametrize(
    "args",
    [
        ["runs"],
        ["runs", "--json"],
        ["show", "r"],
        ["show", "r", "--items"],
        ["show", "r", "--items", "--json"],
        ["export", "r"],
        ["export", "r", "--format", "csv"],
        ["resume", "r"],
        ["report", "r"],
        ["score", "r"],
    ],
    ids=" ".join,
)
def test_no_command_lets_what_is_recorded_steer_the_terminal(evil: Place, args: list[str]) -> None:
    got = on_a_terminal(evil, *args)
    assert b"owned" in got
    assert not steering(got)


def test_a_map_shows_what_commands_and_lines_say_without_obeying_it(place: Place) -> None:
    line = EVIL.replace("\r", "").encode()
    script = 'printf "%s\\n" "$1" >&2; exit 1'
    journal = f"{EVIL.replace('/', '')}.db"
    got = on_a_terminal(
        place, "map", "--run", "r", "--journal", journal, "--", "sh", "-c", script, "sh",
        given=line + b"\n",
    )  # fmt: skip
    child, _, said = got.partition(b"1 failed:")
    assert line in child.replace(b"\r\n", b"\n")  # the user's own, as with xargs
    assert said.count(b"owned") == 2  # the line, and the last line of stderr
    assert not steering(said)
    assert not steering(on_a_terminal(place, "show", "r", "--items", "--journal", journal))


@pytest.mark.parametrize(
    "args",
    [
        ["map", "--", f"no{EVIL}"],
        ["map", f"--no{EVIL}", "--", "true"],
        ["show", f"no{EVIL}"],
        ["run", f"no{EVIL}.yaml"],
        ["run", "bad.yaml"],
        ["check", "bad.yaml"],
        [f"no{EVIL}"],
    ],
    ids=["program", "option", "run", "file", "run-bad", "check-bad", "command"],
)
def test_no_error_steers_the_terminal(place: Place, args: list[str]) -> None:
    quoted = "".join(f"\\u{ord(each):04x}" for each in EVIL)
    (place.path / "bad.yaml").write_text(f'{{"sample": {{"name": 1, "{quoted}": 2}}}}')
    got = on_a_terminal(place, *args)
    assert b"owned" in got
    assert not steering(got)


def test_a_question_at_a_gate_does_not_steer_the_terminal(place: Place) -> None:
    quoted = "".join(f"\\u{ord(each):04x}" for each in EVIL)
    (place.path / "gate.yaml").write_text(
        f"""
        workflow: {{id: w, name: "name {quoted}"}}
        steps:
          - {{id: review, type: gate, message: "ask {quoted}", options: ["yes {quoted}", reject]}}
        """
    )
    got = on_a_terminal(place, "run", "gate.yaml", "--run", "r", given=None, answer=b"1\n")
    assert got.count(b"owned") >= 2
    assert b"review: completed" in got
    assert not steering(got)


class Drawn:
    """A drawing whose words are anybody's."""

    def __call__(self, event: Event) -> None:
        pass

    def lines(self, now: float, rows: int, width: int) -> Sequence[Sequence[tuple[str, str]]]:
        return [[(f"leaf {EVIL}", "bold")]]


@virtual_time
async def test_neither_the_live_line_nor_a_drawing_steers_the_terminal(
    capfd: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    progress = Progress()
    progress(FanOutStarted(at=0.0, path="f", cap=1, total=None))
    progress(ItemStarted(at=0.0, path="f", index=0, key=EVIL, needs=(f"cap {EVIL}",)))
    with ProgressLine(progress, "r", drawing=Drawn()) as line:
        await asyncio.sleep(1)
        line.say(f"warning {EVIL}")
    got = capfd.readouterr().err
    assert got.count("owned") >= 2
    assert not steering(got.encode())


def test_safe_text_keeps_what_is_harmless_and_shows_what_is_not() -> None:
    assert terminal_safe("tab\tline\r\nüñ‮") == "tab\tline\r\nüñ\\u202e"
    assert terminal_safe("\x1b[2J\x9b\x7f\r") == "\\x1b[2J\\u009b\\u007f\\r"
    assert terminal_line("a\tb\nc\r\nd\u2028e\x85") == "a\\tb\\nc\\r\\nd\\u2028e\\u0085"


def test_what_goes_elsewhere_than_to_a_terminal_is_as_it_was(evil: Place) -> None:
    exported = evil.run("export", "r", "--format", "csv").stdout.decode()
    assert EVIL.replace("\r", "") in exported.replace("\r", "")
