"""A program: makes the calls of a plan and prints what it saw, a line of JSON for each.

This process imports nothing of what is checked. It forks a worker for each group of entries,
which does; a worker that dies, hangs or hogs is replaced, and the next entry goes on. Workers
answer over a pipe of their own, each line with a word that only the two know; what they print
goes elsewhere. So no call can hide the others, and none answers for another by printing.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .call_scripts import SCRIPTS
from .capture import OutputCapture
from .find_function import find
from .outcome import Observer

_FILE = 64 << 20
_PRINTED = 4 << 20
_TOO_MUCH = 77
_LINE = 32 << 20
_FAREWELL = 1.0
_PATIENT = 5
_SHORT = 0.2
Row = dict[str, Any]


def main() -> None:
    how = json.loads(sys.stdin.read())
    rows = [json.loads(line) for line in Path(how["plan"]).read_text().splitlines()]
    wanted = how.get("only")
    rows = rows if wanted is None else [row for row in rows if row["id"] in set(wanted)]
    Supervisor(how, rows).run()


class Supervisor:
    """Sees to it that every entry gets an answer, or a word on why it has none."""

    def __init__(self, how: dict[str, Any], rows: list[Row]) -> None:
        self._how = how
        self._rows = rows
        self._ends = 0
        self._slow: set[str] = set()
        self._until = time.monotonic() + how["budget"]

    def run(self) -> None:
        for group in _groups(self._rows):
            rest = self._without_slow(group)
            while rest and self._ends <= self._how["ends"] and time.monotonic() < self._until:
                rest = self._with_worker(rest)
        self._say({"over": True})

    def _without_slow(self, rows: list[Row]) -> list[Row]:
        """A variation that did not end on one call is not tried on the next ones."""
        for row in rows:
            if _sort(row) in self._slow:
                self._say({"id": row["id"], "ended": "failed in another call of this kind"})
        return [row for row in rows if _sort(row) not in self._slow]

    def _with_worker(self, rows: list[Row]) -> list[Row]:
        """Let a worker do as many as it can; return those that are left."""
        worker = Worker(self._how, rows)
        ready = worker.answer(0, self._how["import_s"])
        if ready is None or "broken" in ready:
            why = worker.end()
            self._ends = 1 << 30  # without the function nothing else can be seen
            self._say(ready or {"broken": f"its import failed: {why}"})
            return []
        self._say(ready)
        for number, row in enumerate(rows):
            if time.monotonic() > self._until:
                break
            answer = worker.answer(row["id"], self._allowed(row))
            if answer is None:
                why = worker.end()
                self._ends += 1
                self._slow |= {_sort(row)} if row["label"].startswith("[") else set()
                self._say({"id": row["id"], "ended": why})
                return self._without_slow(rows[number + 1 :])
            self._say({"id": row["id"], **answer})
        worker.end()
        return []

    def _allowed(self, row: Row) -> float:
        """What an entry may take; where many take too long, those of no fixed time get less."""
        each: float = self._how["seconds_each"]
        usual = each if self._ends < _PATIENT else min(each, _SHORT)
        found: float = self._how["seconds"].get(str(row["id"]), usual)
        return found

    def _say(self, answer: dict[str, Any]) -> None:
        line = json.dumps({"word": self._how["word"], **answer})
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class Worker:
    def __init__(self, how: dict[str, Any], rows: list[Row]) -> None:
        self._word = os.urandom(8).hex().encode()
        self._read, write = os.pipe()
        self._buffer = b""
        self._late = False
        self._pid = os.fork()
        if self._pid == 0:
            os.setsid()
            os.close(self._read)
            code = 1
            try:
                how.pop("word")
                _work(how, rows, write, self._word)
                code = 0
            finally:
                os._exit(code)
        os.close(write)

    def answer(self, number: int, allowed: float) -> dict[str, Any] | None:
        """What it says of an entry; None if it says nothing in time, or something else."""
        start = time.monotonic()
        while b"\n" not in self._buffer and len(self._buffer) < _LINE:
            left = start + allowed - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                self._late = True
                return None
            data = os.read(self._read, 1 << 16)
            if not data:
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        word, _, text = line.partition(b" ")
        return _parsed(text, number) if word == self._word else None

    def end(self) -> str:
        """Kill the worker and its session, and say how it ended."""
        status = None if self._late else self._wait(_FAREWELL)
        _kill(self._pid)
        if status is None:
            status = os.waitpid(self._pid, 0)[1]
        os.close(self._read)
        if self._late:
            return "took too long"
        return _ending(os.waitstatus_to_exitcode(status))

    def _wait(self, seconds: float) -> int | None:
        """Its status if it ends by itself within some seconds, as one does that says no more."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            done, status = os.waitpid(self._pid, os.WNOHANG)
            if done:
                return status
            time.sleep(0.002)
        return None


def _ending(code: int) -> str:
    if code == -signal.SIGKILL:
        return "gave an invalid answer, or was killed"
    if code == _TOO_MUCH:
        return f"printed more than {_PRINTED >> 20} MB"
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended the process with code {code}"


def _parsed(text: bytes, number: int) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, dict) or found.pop("id", None) != number:
        return None
    return found


def _kill(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        return  # gone already


def _work(how: dict[str, Any], rows: list[Row], pipe: int, word: bytes) -> None:
    capture = OutputCapture()
    _bound()
    try:
        observer = Observer(find(how), how["root"], capture, how["names"])
    except BaseException as error:
        text = f"{type(error).__name__}: {error}"
        _tell(pipe, word, {"id": 0, "broken": text[:2000]})
        return
    _bound_memory(how["memory"])
    _tell(pipe, word, {"id": 0, "names": observer.names()})
    for row in rows:
        observer.probes = "follow" not in row
        try:
            steps = SCRIPTS[row["script"]](observer, row)
        except Exception as error:  # its object could not be made, by its own constructor
            steps = [observer.failed(error)]
        if capture.size > _PRINTED:
            os._exit(_TOO_MUCH)
        _tell(pipe, word, {"id": row["id"], "steps": steps})
        gc.collect(0)


def _tell(pipe: int, word: bytes, answer: dict[str, Any]) -> None:
    data = word + b" " + json.dumps(answer).encode() + b"\n"
    while data:
        data = data[os.write(pipe, data) :]


def _bound() -> None:
    _lower(resource.RLIMIT_FSIZE, _FILE)
    _lower(resource.RLIMIT_CORE, 0)


def _bound_memory(more: int) -> None:
    """So much more than the imports took. Beyond it there is a MemoryError, and no killing."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError):
        return
    _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + more)


def _lower(which: int, wanted: int) -> None:
    soft, hard = resource.getrlimit(which)
    if soft == resource.RLIM_INFINITY or wanted < soft:
        resource.setrlimit(which, (wanted, hard))


def _sort(row: Row) -> str:
    """What kind of variation it is: those of one kind tend to end alike."""
    label: str = row["label"]
    return label.partition(",")[0]


def _groups(rows: list[Row]) -> Iterator[list[Row]]:
    for number in dict.fromkeys(row["group"] for row in rows):
        yield [row for row in rows if row["group"] == number]


if __name__ == "__main__":
    main()
