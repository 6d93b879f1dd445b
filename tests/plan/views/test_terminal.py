"""The live tree on a real terminal: drawn while the run goes on, gone when it has ended."""

from __future__ import annotations

import codecs
import errno
import os
import pty
import re
import select
import struct
import subprocess
import termios
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path

from tests.cli.support import COMMAND, DEADLINE_S
from tests.workspaces.support import git, write

ROWS, COLUMNS = 7, 70
UNENDED = re.compile(r"(\x1b(\[[?0-9;]*)?)?\Z")
CONTROL = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|(.)", re.DOTALL)


class Terminal:
    """As much of one as the drawing needs. What it is told to do and cannot is an error."""

    def __init__(self) -> None:
        self.lines = [""]
        self.row = self.column = 0
        self.most_colours = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._rest = ""

    def feed(self, data: bytes) -> None:
        """What was read at once may end inside of a letter, or of a command."""
        text = self._rest + self._decoder.decode(data)
        self._rest = text[UNENDED.search(text).start() :]  # type: ignore[union-attr]
        text = text[: len(text) - len(self._rest)].replace("\r\n", "\n\r")
        for number, letter, character in CONTROL.findall(text):
            if character:
                self._put(character)
            elif letter == "A":
                self.row -= int(number or 1)
                assert self.row >= max(0, len(self.lines) - ROWS), "above the top of the screen"
            elif letter == "K":
                assert number == "2"
                self.lines[self.row] = ""
            elif letter == "J":
                self.lines[self.row] = self.lines[self.row][: self.column]
                del self.lines[self.row + 1 :]
            else:
                assert letter == "m", (number, letter)
                self.most_colours += bool(re.search(r"(^|;)3[0-9]", number))

    def _put(self, character: str) -> None:
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self._down()
        else:
            if self.column == COLUMNS:
                self._down()
                self.column = 0
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
            self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")

    @property
    def shown(self) -> list[str]:
        return [line.rstrip() for line in self.lines[-ROWS:]]


class Running:
    """A `fanwise run` in a terminal."""

    def __init__(self, place: Path, **env: str) -> None:
        self.screen = Terminal()
        self._ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            [*COMMAND, "run", "plan.yaml", "--yes"],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            cwd=place,
            # Variables that say otherwise are of another terminal.
            env={**os.environ, "TERM": "xterm", "LINES": "50", "COLUMNS": "200", **env},
        )
        os.close(theirs)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever has gone wrong: nothing stays behind."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(DEADLINE_S)
        os.close(self._ours)

    def until(self, fact: Callable[[str], bool]) -> list[str]:
        """Read until the screen shows it."""
        while not fact("\n".join(self.screen.shown)):
            assert self._read(), self.screen.shown
        return self.screen.shown

    def release(self, gate: Path) -> None:
        """As soon as somebody waits there; what is drawn meanwhile is read."""
        while True:
            try:
                os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            else:
                return
            if select.select([self._ours], [], [], 0.01)[0]:
                assert self._read()

    def to_the_end(self) -> list[str]:
        while self._read():
            pass
        assert self._process.wait(DEADLINE_S) == 0
        return self.screen.shown

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(DEADLINE_S)

    def _read(self) -> bool:
        try:
            data = os.read(self._ours, 1 << 16)
        except OSError:  # Linux's end of file on a terminal
            return False
        self.screen.feed(data)
        return bool(data)


def said(place: Path) -> str:
    """What `fanwise show` says, from another terminal."""
    command = [*COMMAND, "show", "plan"]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=True).stdout


def make_plan(place: Path, folders: int) -> Path:
    """A folder is a sub-plan, and each waits for somebody to open its gate."""
    git(place, "init", "-q", "-b", "main")
    gates = place / "gates"
    gates.mkdir()
    for number in range(folders):
        os.mkfifo(gates / f"part{number:02}")
        write(place / f"src/part{number:02}/a.py", f"A = {number}\n")
        write(place / f"src/part{number:02}/b.py", f"B = {number}\n")
    write(
        place / "plan.yaml",
        f"""
plan:
  goal: A line for each
  files: ["src/**"]
  split: {{mode: directory, max_files: 2}}
  each: {{command: "set -- {{files}}; read word < {gates}/$(basename $(dirname $1)); echo >> $1"}}
  max_parallel: 3
""",
    )
    write(place / ".gitignore", "gates\n.fanwise\n")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "one")
    return gates


def test_the_tree_is_drawn_while_the_run_goes_on_and_gone_at_the_end(tmp_path: Path) -> None:
    place = tmp_path / "repo"
    place.mkdir()
    gates = make_plan(place, 7)
    with Running(place) as running:
        shown = running.until(lambda text: text.count("  running, ") == 3 and "4 queued" in text)
        assert any(re.match(r"[├└]─ ▸ src/part\d\d +running, \d+ s$", line) for line in shown)
        assert any("4 queued" in line for line in shown)
        assert "in flight" in shown[-1]
        seen = said(place)
        assert "status    running" in seen
        assert "7 sub-plans: 3 running, 4 queued" in seen
        running.release(gates / "part00")
        running.until(lambda text: "1 done" in text and "3 queued" in text)
        for number in range(1, 7):
            running.release(gates / f"part{number:02}")
        running.to_the_end()
    last = "\n".join(running.screen.lines)
    assert not any(mark in last for mark in ("├─", "running", "in flight"))
    assert "7 sub-plans: 7" in last
    assert running.screen.most_colours > 0


def test_a_run_that_was_killed_says_what_it_was_at(tmp_path: Path) -> None:
    place = tmp_path / "repo"
    place.mkdir()
    gates = make_plan(place, 4)
    with Running(place) as running:
        running.release(gates / "part01")
        running.until(lambda text: "1 done" in text and text.count("  running, ") == 3)
        running.kill()
    seen = said(place)
    assert "status    interrupted" in seen
    assert "4 sub-plans: 1 done, 3 queued" in seen
    assert "src/part00: it was being worked on when the run ended" in seen
    assert "to continue: fanwise resume plan" in seen


def test_the_terminal_of_these_tests_understands_what_comes_in_pieces() -> None:
    whole = "a\r\nb─\x1b[1mc\x1b[2A\r\x1b[2Kd".encode().replace(b"[2A", b"[1A")
    seen = []
    for size in (1, 2, 3, len(whole)):
        screen = Terminal()
        for start in range(0, len(whole), size):
            screen.feed(whole[start : start + size])
        seen.append(screen.lines)
    assert seen == [["d", "b─c"]] * 4
