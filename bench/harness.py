"""What the cases share: fresh processes, interleaved rounds, medians, and rows of the table.

A machine has good and bad seconds. Contenders are therefore measured in turns, A B C A B C …,
never one after the other, and compared within each turn; the median of these ratios counts. Only
ratios from one run mean anything.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parent.parent


class Row(msgspec.Struct, frozen=True):
    """One line of the table: two figures, how they compare, what is demanded of that."""

    case: str
    ours: str
    other: str = ""
    ratio: float | None = None
    bound: str = ""
    ok: bool | None = None
    """None: nothing is demanded, or it cannot be measured here; it is reported only."""


def at_most(case: str, ours: str, other: str, ratio: float, bound: float) -> Row:
    """A row whose ratio has to be small."""
    return Row(case, ours, other, ratio, f"<= {bound:g}", ratio <= bound)


def at_least(case: str, ours: str, other: str, ratio: float, bound: float) -> Row:
    """A row whose ratio has to be large."""
    return Row(case, ours, other, ratio, f">= {bound:g}", ratio >= bound)


class Measured(msgspec.Struct, frozen=True):
    """What one fresh process reported."""

    answer: Any
    grew_mb: float
    peak_mb: float


def fresh(module: str, function: str, *values: int | str, python: str = sys.executable) -> Measured:
    """Call a function in a process that has done nothing else. `python`: of another environment."""
    command = [python, "-m", "bench.child", module, function, *map(str, values)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Measured)


def environment() -> dict[str, str]:
    """Ours, with compiled files kept: start-up is measured as users have it."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def fanwise(*words: str) -> list[str]:
    """A command line of the fanwise that is installed beside this Python."""
    return [str(Path(sys.executable).with_name("fanwise")), *words]


def command_cpu_s(command: Sequence[str], folder: str) -> float:
    """The processor's time of a process, with that of all its threads and children."""
    with subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used.ru_utime + used.ru_stime


def interleaved(
    contenders: Mapping[str, Callable[[], Measured]], rounds: int
) -> dict[str, list[Measured]]:
    """Measure all of them, in turns."""
    found: dict[str, list[Measured]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, measure in contenders.items():
            found[name].append(measure())
    return found


def seconds(measured: Sequence[Measured]) -> float:
    """The median of what was answered."""
    return statistics.median(float(each.answer) for each in measured)


def best(measured: Sequence[Measured]) -> float:
    """The least of what was answered: for figures that stand alone, since noise only adds."""
    return min(float(each.answer) for each in measured)


def ratio(ours: Sequence[Measured], other: Sequence[Measured]) -> float:
    """The median over the turns: two that follow each other met the same machine."""
    turns = zip(ours, other, strict=True)
    return statistics.median(float(a.answer) / float(b.answer) for a, b in turns)


def megabytes(measured: Sequence[Measured]) -> float:
    """The median of what was gained in memory."""
    return statistics.median(each.grew_mb for each in measured)


def show(rows: Sequence[Row]) -> str:
    """The table."""
    head = ["case", "ours", "the other", "ratio", "bound", ""]
    lines = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(_line(line, widths) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _cells(row: Row) -> list[str]:
    ratio = "" if row.ratio is None else f"{row.ratio:.3f}"
    verdict = "" if row.ok is None else "ok" if row.ok else "NOT"
    return [row.case, row.ours, row.other, ratio, row.bound, verdict]


def save(rows: Sequence[Row], path: Path) -> None:
    """As JSON, to compare with later."""
    path.write_text(json.dumps(msgspec.to_builtins(rows), indent=1) + "\n")
