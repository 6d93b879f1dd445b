"""Eight wide and four deep: how soon is there a valid sample, and what runs on after it?

A real server over HTTP, in a process of its own. Latencies are lognormal and three replies of ten
are valid; each trial has a seed, and all contenders meet the same replies in the same order of
requests. The ideal is when the first valid reply of the draw has come, with eight requests always
in flight: no code, no network.

The others are one request after the other, and Mellea with the same width and depth. It is not
installed with the rest (23 packages, 130 MB): bench/README.md says how.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import msgspec

from bench.draws import least_seconds
from bench.harness import Row, at_least, at_most
from bench.served import Served
from fanwise.models import connect
from fanwise.sampling import Draft, sample

WIDTH, DEPTH = 8, 4
TRIALS = 9
WARM_UP = 9
"""Another seed."""
GRACE_S = 0.1
"""A closed connection needs this long at most to reach the server."""
PROMPT = "Say yes."
MOST_OF_IDEAL, LEAST_OF_SEQUENTIAL = 1.1, 3.0
MISSING = "not installed: see bench/README.md"

Contender = Callable[[], Awaitable[bool]]
"""Samples until there is a valid one."""


class Trial(msgspec.Struct, frozen=True):
    """What one contender made of one draw."""

    seconds: float
    requests: int
    ran_on: int
    """Requests that were in flight after it had returned, a moment later."""
    tokens_after: int
    """What was generated (and would be billed) after that."""


def ours(base_url: str, width: int, depth: int) -> Contender:
    model = connect({"name": "openai:gpt-5-mini", "base_url": base_url})

    def valid(draft: Draft) -> bool:
        return draft.endswith("yes")

    async def contender() -> bool:
        budgets: Any = {"loop_budget": depth, "concurrency_budget": width}
        return (await sample(model, PROMPT, [valid], strategy="rejection", **budgets)).ok

    return contender


def mellea(base_url: str) -> Contender:
    """Imported by name: it is no dependency, and its types are not checked."""
    core, context = import_module("mellea.core"), import_module("mellea.stdlib.context")
    requirements = import_module("mellea.stdlib.requirements")
    core.MelleaLogger.get_logger().setLevel(logging.ERROR)
    backend = import_module("mellea.backends.openai").OpenAIBackend(
        "gpt-5-mini", base_url=base_url, api_key="none"
    )
    strategy = import_module("mellea.stdlib.sampling").RejectionSamplingStrategy(
        loop_budget=DEPTH, concurrency_budget=WIDTH
    )
    check = requirements.simple_validate(lambda text: text.endswith("yes"))
    wanted = [requirements.check("says yes", validation_fn=check)]

    async def contender() -> bool:
        result = await strategy.sample(
            core.CBlock(PROMPT), context.SimpleContext(), backend, wanted, show_progress=False
        )
        return bool(result.success)

    return contender


async def trials() -> dict[str, list[Trial]]:
    """All contenders over the same draws: the wide ones in turns.

    One after the other takes longer than all the rest and does nothing but wait: it goes on
    beside them, with a server of its own.
    """
    async with Served() as served, Served() as beside:
        wide = await _wide(await served.url())
        narrow = {"sequential": ours(await beside.url(), 1, WIDTH * DEPTH)}
        tracks = await asyncio.gather(_in_turns(served, wide), _in_turns(beside, narrow))
        return tracks[0] | tracks[1]


async def _wide(base_url: str) -> Mapping[str, Contender]:
    contenders = {"ours": ours(base_url, WIDTH, DEPTH)}
    if find_spec("mellea") is not None:
        contenders["mellea"] = await asyncio.to_thread(mellea, base_url)
    return contenders


async def _in_turns(served: Served, contenders: Mapping[str, Contender]) -> dict[str, list[Trial]]:
    for contender in contenders.values():  # imports, connections, caches
        await _trial(served, contender, WARM_UP)
    found: dict[str, list[Trial]] = {name: [] for name in contenders}
    for seed in range(TRIALS):
        for name, contender in contenders.items():
            found[name].append(await _trial(served, contender, seed))
    return found


async def _trial(served: Served, contender: Contender, seed: int) -> Trial:
    before = await served.trial(seed)
    began = time.perf_counter()
    success = await contender()
    seconds = time.perf_counter() - began
    assert success
    await asyncio.sleep(GRACE_S)
    after = await served.count()
    end = await served.idle()
    return Trial(
        seconds,
        end.requests - before.requests,
        after.in_flight,
        end.output_tokens - after.output_tokens,
    )


def measure() -> list[Row]:
    """Against what was possible, one after the other, and Mellea; and what ran on."""
    found = asyncio.run(trials())
    ideal = [least_seconds(seed, WIDTH) for seed in range(TRIALS)]
    mine, one_by_one, others = found["ours"], found["sequential"], found.get("mellea")
    return [
        at_most(
            "sampling: time to a valid sample, against the ideal",
            _median(mine),
            f"{statistics.median(ideal):.3f} s",
            statistics.median(
                trial.seconds / least for trial, least in zip(mine, ideal, strict=True)
            ),
            MOST_OF_IDEAL,
        ),
        at_least(
            "sampling: times as fast as one after the other",
            _median(mine),
            _median(one_by_one),
            _ratio(one_by_one, mine),
            LEAST_OF_SEQUENTIAL,
        ),
        _against_mellea(mine, others),
        _nothing("requests in flight after return", mine, others, "ran_on"),
        _nothing("tokens generated after return", mine, others, "tokens_after"),
        Row(
            f"sampling: requests for {TRIALS} valid samples",
            str(_total(mine, "requests")),
            f"one by one {_total(one_by_one, 'requests')}"
            + (f", Mellea {_total(others, 'requests')}" if others else ""),
        ),
    ]


def _against_mellea(mine: Sequence[Trial], others: Sequence[Trial] | None) -> Row:
    case = "sampling: time to a valid sample, against Mellea"
    if others is None:
        return Row(case, _median(mine), MISSING)
    return Row(case, _median(mine), _median(others), _ratio(mine, others))


def _nothing(what: str, mine: Sequence[Trial], others: Sequence[Trial] | None, field: str) -> Row:
    total = _total(mine, field)
    beside = f"Mellea {_total(others, field)}" if others else ""
    return Row(f"sampling: {what}", str(total), beside, bound="none", ok=total == 0)


def _ratio(some: Sequence[Trial], others: Sequence[Trial]) -> float:
    return statistics.median(a.seconds / b.seconds for a, b in zip(some, others, strict=True))


def _median(found: Sequence[Trial]) -> str:
    return f"{statistics.median(trial.seconds for trial in found):.3f} s"


def _total(found: Sequence[Trial], field: str) -> int:
    return sum(getattr(trial, field) for trial in found)
