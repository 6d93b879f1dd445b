"""What the sampling layer costs for each model call: four wide and five deep, nothing is valid.

The model is scripted and answers at once: no SDK, no HTTP. So all of it is the layer, the kernel
and the journal, but for the model itself, which is measured alone beside it. CPU time of the
whole process, threads included.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from bench.harness import Row, best, fresh, interleaved
from fanwise import Run, open_run
from fanwise.models import Message, Request
from fanwise.sampling import Draft, Requirement, require, sample
from fanwise.testing import ScriptedModel

WIDTH, DEPTH = 4, 5
CALLS = WIDTH * DEPTH
SAMPLES = 50
ROUNDS = 5
BOUND_S = 1e-3


async def never(draft: Draft) -> bool:
    return False


def never_sync(draft: Draft) -> bool:
    return False


def in_memory() -> float:
    return _cpu_s(_samples(require(never, "never")))


def in_a_thread() -> float:
    return _cpu_s(_samples(require(never_sync, "never")))


def durable() -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.db")
        with open_run(journal=path):  # creating the tables is not what is measured here
            pass
        return _cpu_s(_durably(path))


def model_alone() -> float:
    async def main() -> None:
        model = _model()
        request = Request((Message("user", "Say yes."),))
        for _ in range(SAMPLES * CALLS):
            await model.reply(request)

    return _cpu_s(main())


async def _samples(requirement: Requirement, run: Run | None = None) -> None:
    for _ in range(SAMPLES):
        model = _model()
        result = await sample(
            model,
            "Say yes.",
            [requirement],
            loop_budget=DEPTH,
            concurrency_budget=WIDTH,
            run=run,
        )
        assert len(result.samples) == len(model.requests) == CALLS
        assert not result.ok


async def _durably(path: Path) -> None:
    async with open_run(journal=path) as run:
        await _samples(require(never, "never"), run)


def _model() -> ScriptedModel:
    """No two replies are the same, or one verdict would do for all."""
    return ScriptedModel(lambda request: f"no {request.seed}")


def _cpu_s(main: Coroutine[Any, Any, None]) -> float:
    """Of one call."""
    began = time.process_time()
    asyncio.run(main)
    return (time.process_time() - began) / (SAMPLES * CALLS)


def measure() -> list[Row]:
    """The promise is for memory. Durable is reported: that is two commits for each call."""
    names = ("in_memory", "in_a_thread", "durable", "model_alone")
    found = interleaved({name: partial(fresh, __name__, name) for name in names}, rounds=ROUNDS)
    alone = f"the model alone {_ms(best(found['model_alone']))}"
    return [
        _row("async check", best(found["in_memory"]), alone, bounded=True),
        _row("sync check, in a thread", best(found["in_a_thread"]), alone, bounded=True),
        _row("async check, durable", best(found["durable"]), alone, bounded=False),
    ]


def _row(what: str, cpu_s: float, alone: str, *, bounded: bool) -> Row:
    case = f"sampling: CPU time of a call, {what} (best of {ROUNDS})"
    if not bounded:
        return Row(case, _ms(cpu_s), alone)
    return Row(case, _ms(cpu_s), alone, bound=f"<= {_ms(BOUND_S)}", ok=cpu_s <= BOUND_S)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms"
