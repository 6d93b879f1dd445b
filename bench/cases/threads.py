"""10,000 sync functions that return at once, 20 at a time: overhead of an item in a thread."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from bench.harness import Row, fresh, interleaved, ratio, seconds
from fanwise import fan_out_sync

ITEMS, CAP, ROUNDS = 10_000, 20, 3


def trivial(item: int) -> int:
    return item


def ours() -> float:
    began = time.perf_counter()
    values = fan_out_sync(trivial, range(ITEMS), cap=CAP).values()
    took = time.perf_counter() - began
    assert values == list(range(ITEMS))
    return took


def executor() -> float:
    began = time.perf_counter()
    with ThreadPoolExecutor(CAP) as pool:
        values = list(pool.map(trivial, range(ITEMS)))
    took = time.perf_counter() - began
    assert values == list(range(ITEMS))
    return took


def measure() -> list[Row]:
    """Reported only."""
    found = interleaved(
        {"ours": lambda: fresh(__name__, "ours"), "theirs": lambda: fresh(__name__, "executor")},
        rounds=ROUNDS,
    )
    mine, theirs = seconds(found["ours"]), seconds(found["theirs"])
    case = "threads: overhead of an item, against ThreadPoolExecutor"
    return [Row(case, _each(mine), _each(theirs), ratio(found["ours"], found["theirs"]))]


def _each(took: float) -> str:
    return f"{took / ITEMS * 1e6:.1f} µs"
