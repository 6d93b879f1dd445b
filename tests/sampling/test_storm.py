"""429 storm: forty samples are wanted at once of a server that allows five requests a second.

Real time and a real server, for only it can count what it was sent; nothing is asserted about how
long anything took, only about shares of what the server counted by its own clock.
"""

from __future__ import annotations

import asyncio
import math
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from fanwise import Adaptive, Caps, Outcomes, fan_out, open_run
from fanwise.journal.open import open_journal
from fanwise.sampling import sample
from fanwise.testing import ScriptedServer
from fanwise.testing.scripted_server import Answer
from tests.models.support import model_of
from tests.sampling.support import GOOD, good

WANTED = 40
RATE = 5
START = 16
LEARNING_S = 2.0
MOST_REFUSED = 0.1
HANG_S = 300  # ten seconds where nothing else runs


class Limited:
    """A token bucket by the server's own clock, and when each request was let through or not."""

    def __init__(self) -> None:
        self.log: list[tuple[float, bool]] = []
        self._level = float(RATE)
        self._at = time.monotonic()

    def __call__(self, body: dict[str, Any]) -> Answer:
        now = time.monotonic()
        self._level = min(RATE, self._level + (now - self._at) * RATE)
        self._at = now
        allowed = self._level >= 1
        self.log.append((now, allowed))
        if not allowed:
            # In whole seconds, as HTTP has it.
            return Answer(status=429, retry_after=math.ceil((1 - self._level) / RATE))
        self._level -= 1
        return Answer(text=GOOD, first_byte_s=0.2)

    def late(self) -> list[bool]:
        """Those that came after the first two seconds."""
        began = self.log[0][0]
        return [allowed for at, allowed in self.log if at > began + LEARNING_S]


async def storm(limited: Limited, journal: Path) -> Outcomes[str]:
    async with ScriptedServer(limited) as server:
        model = model_of(server)

        async def one(number: int) -> str:
            budgets: Any = {"loop_budget": 1, "concurrency_budget": 1}
            return (await sample(model, f"sample {number}", [good], **budgets)).text

        async with open_run("storm", journal=journal) as durable:
            caps = Caps(openai=Adaptive(start=START))
            outcomes = await fan_out(one, range(WANTED), cap=WANTED, caps=caps, run=durable)
        assert server.statuses == {200: WANTED, 429: len(limited.log) - WANTED}
        return outcomes


def cap_moves(journal: Path) -> list[dict[str, Any]]:
    opened = open_journal(journal)
    try:
        events = opened.events("storm")
        return [msgspec.json.decode(each.data) for each in events if each.kind == "cap"]
    finally:
        opened.close()


def test_in_a_429_storm_all_samples_are_made_and_few_requests_are_refused(tmp_path: Path) -> None:
    limited = Limited()
    outcomes = asyncio.run(asyncio.wait_for(storm(limited, tmp_path / "journal.db"), HANG_S))
    assert outcomes.values() == [GOOD] * WANTED
    assert len(limited.log) > WANTED, "it was no storm"
    late = limited.late()
    assert len(late) > WANTED / 2
    assert late.count(False) <= MOST_REFUSED * len(late)

    moves = cap_moves(tmp_path / "journal.db")
    assert {move["name"] for move in moves} == {"openai"}
    assert moves[0] == {"name": "openai", "before": START, "after": START // 2, "reason": "refused"}
    assert all(after["before"] == before["after"] for before, after in pairwise(moves))
