"""Models and requirements that several tests of sampling use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from fanwise.models import Request
from fanwise.sampling import Draft, require
from fanwise.testing import ScriptedModel
from fanwise.testing.scripted_model import Answer

BAD, GOOD = "bad", "good"


def is_good(draft: Draft) -> bool:
    return GOOD in draft


good = require(is_good, "says good", check_only=True)


def by_turn(*rows: list[Answer]) -> ScriptedModel:
    """Chains in the order of their first request; each row is what one chain is told in turn.

    A chain is known by its seed, which `seeds` maps back to chain and iteration.
    """
    table = seeds(len(rows), 50)

    def answer(request: Request) -> Answer:
        assert request.seed is not None
        chain, iteration = table[request.seed]
        return rows[chain][min(iteration, len(rows[chain]) - 1)]

    return ScriptedModel(answer)


def seeds(chains: int, iterations: int, seed: int = 0) -> dict[int, tuple[int, int]]:
    """Which chain and iteration a seed belongs to."""
    from fanwise.sampling.run.work import seed_of
    from fanwise.sampling.state.loop import SampleSlot

    return {
        seed_of(seed, SampleSlot(chain, iteration, 1)): (chain, iteration)
        for chain in range(chains)
        for iteration in range(iterations)
    }


def judge_says(passed: Callable[[Request], bool]) -> Callable[[Request], str]:
    """A judge's reply."""

    def answer(request: Request) -> str:
        return verdict(passed(request))

    return answer


def verdict(passed: bool, reason: str = "because") -> str:
    return msgspec.json.encode({"reason": reason, "passed": passed}).decode()


def is_judge(body: dict[str, Any]) -> bool:
    """Whether a request that came over the wire is a judge's."""
    return "Judge whether" in str(body["messages"][-1]["content"])
