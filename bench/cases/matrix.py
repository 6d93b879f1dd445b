"""10,000 trivial cells: what a matrix costs for each, recorded.

The model is scripted and answers at once, so all of it is the layer, the kernel and the journal:
two models by two prompts by 2,500 inputs, each answer scored, every start and outcome on disk
(SQLite, synchronous=FULL). It is the whole of `run_matrix` and its summary: cells are laid out,
run, recorded, summed up.

The other is Inspect AI with its mock model and its log on: the same prompts, models, answers and
scores (`inspect_eval.py`). It is not installed with the rest: bench/README.md says how. Beside the
time, the bytes of its logs are compared with those of the journal.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import msgspec

from bench.harness import (
    ROOT,
    Measured,
    Row,
    at_least,
    at_most,
    best,
    fresh,
    interleaved,
    ratio,
    seconds,
)  # fmt: skip
from fanwise import open_run
from fanwise.matrix import Matrix, run_matrix
from fanwise.models import Request
from fanwise.testing import ScriptedModel

FEW, MANY = 1_000, 10_000
SAMPLES = 300
"""Of Inspect, which is slower."""
SIZED = 2_000
"""Cells whose bytes on disk are compared."""
ROUNDS = 5
LEAST_RATE = 4_000
MOST_MIB = 200
MOST_GROWTH = 1.2
"""Of the time for a cell, from few to many."""
LEAST_OF_INSPECT = 50.0
MOST_BYTES = 2.0
"""Of the journal, against Inspect's logs."""
MISSING = "not installed: see bench/README.md"

CELLS_OF_AN_INPUT = 4


def ours(cells: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        journal = Path(name, "journal.db")
        with open_run(journal=journal):  # creating the tables is not what is measured here
            pass
        began, cpu = time.perf_counter(), time.process_time()
        asyncio.run(_run(journal, cells))
        return {"s": time.perf_counter() - began, "cpu_s": time.process_time() - cpu}


async def _run(journal: Path, cells: int) -> None:
    models = [ScriptedModel(_answer, name=name) for name in ("scripted:a", "scripted:b")]
    matrix = Matrix(
        models=models,
        inputs=_inputs(cells // CELLS_OF_AN_INPUT),
        prompts={
            "short": "Say {{ input.word }}",
            "long": {"prompt": "Be brief, please. Say {{ input.word }}"},
        },
        score=[{"exact": "input.word"}],
        caps={"scripted": 128},
    )
    result = await run_matrix(matrix, journal=journal)
    assert result.table()
    assert len(result.cells) == cells
    assert all(cell.scores["exact"].score == 1.0 for cell in result.cells)
    assert sum(len(model.requests) for model in models) == cells


def _inputs(count: int) -> list[dict[str, str]]:
    return [{"id": str(number), "word": f"word {number}"} for number in range(count)]


def _answer(request: Request) -> str:
    return request.messages[-1].content.rpartition("Say ")[2]


def size(cells: int) -> float:
    """The bytes of a journal with these cells."""
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(_run(Path(name, "journal.db"), cells))
        return sum(each.stat().st_size for each in Path(name).iterdir())


def inspect_python() -> str | None:
    """A Python that has Inspect AI: of an environment of its own, or ours."""
    own = ROOT / ".venv-inspect" / "bin" / "python"
    if own.exists():
        return str(own)
    return sys.executable if find_spec("inspect_ai") is not None else None


def measure() -> list[Row]:
    """As a rate, in memory, from few to many; and against Inspect AI, cell for sample."""
    contenders = {
        "many": lambda: fresh(__name__, "ours", MANY),
        "few": lambda: fresh(__name__, "ours", FEW),
    }
    other = inspect_python()
    if other is not None:
        contenders["inspect"] = partial(_inspect, SAMPLES, other)
    found = interleaved(contenders, rounds=ROUNDS)
    many = _in(found["many"], "s")
    rate, memory = MANY / best(many), max(each.peak_mb for each in many)
    cpu, few_cpu = _in(found["many"], "cpu_s"), _in(found["few"], "cpu_s")
    return [
        Row(
            f"matrix: {MANY:,} cells, recorded (best of {ROUNDS})",
            _rate(rate),
            bound=f">= {LEAST_RATE:,}/s",
            ok=rate >= LEAST_RATE,
        ),
        Row(
            f"matrix: peak memory of the process, {MANY:,} cells",
            f"{memory:.0f} MiB",
            bound=f"< {MOST_MIB} MiB",
            ok=memory < MOST_MIB,
        ),
        at_most(
            f"matrix: {FEW:,} -> {MANY:,} cells, CPU time",
            f"{seconds(cpu):.2f} s",
            f"{seconds(few_cpu):.2f} s",
            ratio(cpu, few_cpu),
            MOST_GROWTH * MANY / FEW,
        ),
        _against_inspect(many, _in(found.get("inspect", ()), "s")),
        _bytes(other),
    ]


def _inspect(cells: int, python: str) -> Measured:
    return fresh("bench.inspect_eval", "run", cells // CELLS_OF_AN_INPUT, python=python)


def _bytes(other: str | None) -> Row:
    case = f"matrix: bytes of the journal of {SIZED:,} cells, against Inspect AI's logs"
    ours = fresh(__name__, "size", SIZED).answer
    if other is None:
        return Row(case, f"{ours:,.0f}", MISSING)
    theirs = _inspect(SIZED, other).answer["bytes"]
    return at_most(case, f"{ours:,.0f}", f"{theirs:,.0f}", ours / theirs, MOST_BYTES)


def _in(found: Sequence[Measured], unit: str) -> list[Measured]:
    """One of the two times that were measured: the clock's, or the processor's."""
    return [msgspec.structs.replace(each, answer=each.answer[unit]) for each in found]


def _against_inspect(many: Sequence[Measured], other: Sequence[Measured]) -> Row:
    case = "matrix: rate, against Inspect AI (medians)"
    mine = _rate(MANY / seconds(many))
    if not other:
        return Row(case, mine, MISSING)
    # Both as times of one cell: what takes turns is compared turn by turn.
    times = ratio(other, many) * MANY / SAMPLES
    return at_least(case, mine, _rate(SAMPLES / seconds(other)), times, LEAST_OF_INSPECT)


def _rate(cells_a_second: float) -> str:
    return f"{cells_a_second:,.0f}/s"
