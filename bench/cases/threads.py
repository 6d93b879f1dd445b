"""20,000 sync functions that return at once, 20 at a time: what an item in a thread costs.

The time is the processor's, of all threads together: that of the wall clock depends on who gets
the interpreter's lock, and on who else uses the machine.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from bench.harness import Row, at_most, fresh, interleaved, ratio, seconds
from fanwise import fan_out_sync

ITEMS, CAP, ROUNDS = 20_000, 20, 5
MOST_RATIO = 1.5


def trivial(item: int) -> int:
    return item


def ours() -> float:
    began = time.process_time()
    values = fan_out_sync(trivial, range(ITEMS), cap=CAP).values()
    took = time.process_time() - began
    assert values == list(range(ITEMS))
    return took


def executor() -> float:
    began = time.process_time()
    with ThreadPoolExecutor(CAP) as pool:
        values = list(pool.map(trivial, range(ITEMS)))
    took = time.process_time() - began
    assert values == list(range(ITEMS))
    return took


def measure() -> list[Row]:
    """Against the executor of the standard library."""
    found = interleaved(
        {"ours": lambda: fresh(__name__, "ours"), "theirs": lambda: fresh(__name__, "executor")},
        rounds=ROUNDS,
    )
    mine, theirs = _each(seconds(found["ours"])), _each(seconds(found["theirs"]))
    case = "threads: CPU time of an item, against ThreadPoolExecutor"
    return [at_most(case, mine, theirs, ratio(found["ours"], found["theirs"]), MOST_RATIO)]


def _each(took: float) -> str:
    return f"{took / ITEMS * 1e6:.1f} µs"
