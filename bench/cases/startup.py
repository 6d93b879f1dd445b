"""How long until `fanwise --help` has answered, and until all of `fanwise` is imported.

Fresh processes with compiled files, the best of several: what disturbs a start makes it longer,
never shorter. The whole process is timed for the command, the statement alone for the import.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from bench.harness import ROOT, Row, environment

TRIES = 20
HELP_BOUND_S = 0.3
IMPORT_BOUND_S = 0.15
IMPORT = (
    "import time; t = time.perf_counter(); from fanwise import *; print(time.perf_counter() - t)"
)


def measure() -> list[Row]:
    """Each against a bare `python -c pass`."""
    bare = _best_start([sys.executable, "-c", "pass"])
    imported = min(float(_run([sys.executable, "-c", IMPORT])) for _ in range(TRIES))
    return [_help(bare), _row("from fanwise import *", imported, bare, IMPORT_BOUND_S)]


def _help(bare: float) -> Row:
    command = [str(Path(sys.executable).with_name("fanwise")), "--help"]
    if not _works(command):
        return Row(
            f"startup: fanwise --help (best of {TRIES})",
            "fails",
            bound=f"< {HELP_BOUND_S} s",
            ok=False,
        )
    return _row("fanwise --help", _best_start(command), bare, HELP_BOUND_S)


def _row(what: str, took: float, bare: float, bound: float) -> Row:
    return Row(
        f"startup: {what} (best of {TRIES})",
        f"{took:.3f} s",
        f"python -c pass {bare:.3f} s",
        bound=f"< {bound} s",
        ok=took < bound,
    )


def _best_start(command: list[str]) -> float:
    _run(command)  # compiles, and warms the file cache
    return min(_timed(command) for _ in range(TRIES))


def _timed(command: list[str]) -> float:
    began = time.perf_counter()
    _run(command)
    return time.perf_counter() - began


def _run(command: list[str]) -> str:
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    )
    return done.stdout


def _works(command: list[str]) -> bool:
    try:
        _run(command)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True
