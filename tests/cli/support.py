"""The real command line: in this process by default, or in one of its own to be killed."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.in_process import run_in_process

DEADLINE_S = 300.0
COMMAND = [sys.executable, "-m", "fanwise"]


class Place:
    """A working directory in which fanwise is used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._started: list[subprocess.Popen[bytes]] = []

    def run(
        self, *args: str | bytes, given: bytes = b"", **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run it to its end: in this process, unless that would be killed or is set up already."""
        if "FANWISE_CRASH_AT" in env:
            return self.process(*args, given=given, **env)
        return run_in_process(args, cwd=self.path, env=_environment(env), given=given)

    def process(
        self, *args: str | bytes, given: bytes = b"", **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run it to its end as a process of its own."""
        return subprocess.run(
            [*COMMAND, *args],
            input=given,
            capture_output=True,
            cwd=self.path,
            env=_environment(env),
            timeout=DEADLINE_S,
            check=False,
        )

    def start(
        self,
        *args: str,
        given: bytes | None = None,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        env: dict[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start it; with `given` on stdin, or with a pipe there."""
        process = subprocess.Popen(
            [*COMMAND, *args],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            cwd=self.path,
            env=_environment({}) if env is None else env,
        )
        self._started.append(process)
        if given is not None:
            assert process.stdin is not None
            process.stdin.write(given)
            process.stdin.close()
            process.stdin = None
        return process

    def clean_up(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def lines(self, name: str) -> list[str]:
        """The complete lines of a file that commands write to."""
        file = self.path / name
        return file.read_text().rpartition("\n")[0].splitlines() if file.exists() else []

    def fifo(self, name: str) -> Path:
        os.mkfifo(self.path / name)
        return self.path / name


def on_a_terminal(
    place: Place,
    *args: str,
    given: bytes | None = b"",
    answer: bytes = b"",
    after: bytes = b"",
    **env: str,
) -> bytes:
    """What the terminal gets, with stdout and stderr on it.

    `given`: what is on stdin; None: the terminal is, and `answer` is typed into it, when
    it shows `after`.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *args],
        stdin=theirs if given is None else subprocess.PIPE,
        stdout=theirs,
        stderr=theirs,
        cwd=place.path,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", **env},
        start_new_session=True,  # the terminal of whoever runs the tests is not asked
    )
    os.close(theirs)
    if process.stdin is not None:
        process.stdin.write(given or b"")
        process.stdin.close()
    got = b""
    while True:
        if answer and after in got:
            os.write(ours, answer)
            answer = b""
        try:
            chunk = os.read(ours, 1 << 16)
        except OSError:  # Linux's end of file on a terminal
            break
        if not chunk:
            break
        got += chunk
    os.close(ours)
    process.wait(DEADLINE_S)
    return got


def end(process: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    out, err = process.communicate(timeout=DEADLINE_S)
    return process.returncode, out, err


def eventually(fact: Callable[[], bool]) -> None:
    until = time.monotonic() + DEADLINE_S
    while not fact():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.005)


def release(fifo: Path) -> None:
    """Let whoever reads the fifo go on."""
    os.close(os.open(fifo, os.O_WRONLY))


def numbers(count: int) -> bytes:
    return b"".join(b"%d\n" % number for number in range(1, count + 1))


def _environment(env: dict[str, str]) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("FANWISE_")}
    return {**kept, **env}
