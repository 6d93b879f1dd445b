"""A program: has a function timed in a fork of its own, and keeps what that must not have.

The fork shares its process with code that nobody has read, so its figures are claims. This one
imports nothing of the project. It has a clock, the processor time that the system counts for the
fork, and the word that the answer begins with. It tells how long the import took and how long all
that was timed, both seen from here: whoever compares processes can see whether a claimed gain is
one. The calls wait in the pipe until the import is over, so nobody can prepare for them in it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from typing import Any

from .timing import IMPORTED, work

HEAD = 12
"""The bytes in front of the instructions, with their length; after them come the calls."""
_PR_SET_DUMPABLE = 4
_CHUNK = 1 << 20


def main() -> None:
    how = json.loads(_exactly(int(_exactly(HEAD))))
    word = how.pop("word")
    _let_others_look(False)
    told, asks = os.pipe()
    calls, gives = os.pipe()
    begun = time.perf_counter()
    worker = os.fork()
    if worker == 0:
        _become_worker(how, asks, calls, (told, gives))
    os.close(asks)
    os.close(calls)
    answer = _keep_time(worker, told, gives, begun)
    sys.stdout.write(word + json.dumps(answer) + "\n")
    sys.stdout.flush()
    os._exit(0)


def _become_worker(how: dict[str, Any], asks: int, calls: int, others: tuple[int, ...]) -> None:
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for each in (0, 1, 2):
            os.dup2(nowhere, each)
        for each in others:
            os.close(each)
        _let_others_look(True)
        work(how, asks, calls)
    finally:
        os._exit(1)


def _keep_time(worker: int, told: int, gives: int, begun: float) -> dict[str, Any]:
    """What the worker tells, with what was seen of it from here."""
    lines = os.fdopen(told, "rb")
    line = lines.readline()
    imported, used = time.perf_counter(), _used_by(worker)
    if line == IMPORTED:
        _hand_over(gives)
        line = lines.readline()
    ended = time.perf_counter()
    if not line:
        _leave_as(worker)
    os.waitpid(worker, 0)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer: dict[str, Any] = json.loads(line)
    return {
        **answer,
        "import_s": imported - begun,
        "import_cpu_s": used,
        "wall_s": ended - imported,
        "cpu_s": usage.ru_utime + usage.ru_stime - used,
    }


def _hand_over(gives: int) -> None:
    """The calls, from the pipe that they wait in."""
    try:
        while data := os.read(0, _CHUNK):
            while data:
                data = data[os.write(gives, data) :]
    except BrokenPipeError:
        pass  # it has ended, and that is seen at once
    os.close(gives)


def _used_by(worker: int) -> float:
    """Its processor time so far, in seconds; 0 where the system does not tell."""
    try:
        return time.clock_gettime((~worker << 3) | 2)
    except (AttributeError, OSError):
        return 0.0


def _leave_as(worker: int) -> None:
    """End as the worker did, without an answer."""
    _, status = os.waitpid(worker, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _exactly(size: int) -> bytes:
    """So many bytes of stdin and no more: what is read here, the fork would have too."""
    found = b""
    while len(found) < size:
        data = os.read(0, size - len(found))
        if not data:
            raise EOFError("the instructions are incomplete")
        found += data
    return found


def _let_others_look(may: bool) -> None:
    """Whether processes of the same user may look at this one's memory and files."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, int(may), 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # another system, or a Python without it: the clock here is out of reach all the same


if __name__ == "__main__":
    main()
