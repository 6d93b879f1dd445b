"""A limit of one cent is never exceeded: not by our own count, but by the server's.

What was served is what a provider would bill, whether anybody read it or not. A loop that stops
at once would keep any limit, so each test also wants a good part of it to be used.
"""

from __future__ import annotations

import asyncio
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from fanwise import Budget
from fanwise.errors import BudgetExceeded, SamplingFailed
from fanwise.models import Model, Options
from fanwise.sampling import SampleResult, judge, sample
from fanwise.testing import ScriptedServer
from fanwise.testing.scripted_server import Answer
from tests.marks import slow
from tests.models.support import model_of, run
from tests.sampling import budget_program
from tests.sampling.support import BAD, GOOD, good, is_judge, verdict

USD = 0.01
PRICE = {"input": 1.0, "output": 4.0}
LEAST_USED = 0.5
MOST_TOKENS = 50
WIDTH = 8
KILLS, EACH = 2, 16
HANG_S = 300  # ten seconds where nothing else runs
ROOT = Path(__file__).parents[2]


def billed(server: ScriptedServer, price: dict[str, float] = PRICE) -> float:
    served = server.input_tokens * price["input"] + server.output_tokens * price["output"]
    return served / 1_000_000


def check(server: ScriptedServer, price: dict[str, float] = PRICE) -> None:
    assert billed(server, price) <= USD
    assert billed(server, price) >= LEAST_USED * USD


async def wide(model: Model, text: str, requirements: Any, budget: Budget) -> SampleResult:
    return await sample(
        model, text, requirements, strategy="rejection", loop_budget=1_000,
        concurrency_budget=WIDTH, options=Options(max_tokens=MOST_TOKENS), budget=budget,
    )  # fmt: skip


def test_samples_and_judges_at_once_cost_no_more_than_the_budget() -> None:
    """Most drafts are shorter than they might be, and half of the requests are judges'."""

    def answer(body: dict[str, Any]) -> Answer:
        if is_judge(body):
            return Answer(text=verdict(False, "it is too short"))
        words = 10 + body["seed"] % (2 * MOST_TOKENS)  # some are cut off
        return Answer(text=f"{body['seed']}" + " word" * words, chunk_s=0.0005)

    async def main() -> None:
        async with ScriptedServer(answer) as server:
            budget = Budget(usd=USD)
            model = model_of(server, price=PRICE)
            result = await wide(model, "write", [judge("is long", model=model)], budget)
            check(server)
            assert server.most_in_flight == WIDTH
            assert sum(map(is_judge, server.bodies)) >= len(server.bodies) / 3
            assert not result.ok
            assert {type(error) for error in result.errors} == {BudgetExceeded}
            assert budget.spent["usd"] == pytest.approx(billed(server))

    run(main())


async def won(model: Model, text: str, budget: Budget) -> bool:
    """Whether there was a winner; if not, it was for want of budget."""
    result: SampleResult | None = None
    try:
        result = await wide(model, text, [good], budget)
    except SamplingFailed as failed:  # not one sample could be paid for
        if {type(error) for error in failed.errors} != {BudgetExceeded}:
            raise
    if result is None:
        return False
    assert result.ok or {type(error) for error in result.errors} == {BudgetExceeded}
    return result.ok


def test_what_cancelled_losers_were_served_is_within_the_budget() -> None:
    """In every round one sample wins while the others are being written."""
    rounds: set[str] = set()

    def answer(body: dict[str, Any]) -> Answer:
        text = body["messages"][-1]["content"]
        wins = text not in rounds
        rounds.add(text)
        # As fast as the others, and a little shorter: they have most of theirs when it wins.
        words = [GOOD] * (MOST_TOKENS - 12) if wins else [BAD] * MOST_TOKENS
        return Answer(text=" ".join(words), chunk_s=0.02)

    async def main() -> None:
        async with ScriptedServer(answer) as server:
            budget = Budget(usd=USD)
            model = model_of(server, price=PRICE)
            for number in count():
                if not await won(model, f"round {number}", budget):
                    break
            await server.idle()
            assert len(rounds) > 3
            assert server.disconnects > WIDTH
            check(server)

    run(main())


@slow
@pytest.mark.parametrize("where", ["run", "sample"])
def test_a_run_that_is_killed_again_and_again_stays_within_its_budget(
    tmp_path: Path, where: str
) -> None:
    """Each time with eight requests in flight that were paid for, and of which nobody knows."""
    journal = str(tmp_path / "journal.db")
    hold_from = EACH

    def answer(body: dict[str, Any]) -> Answer:
        if len(server.requests) >= hold_from:
            server.midway.close()
        return Answer(text=f"{BAD} {body['seed']}")

    async def start() -> asyncio.subprocess.Process:
        argv = ["-m", budget_program.__name__, journal, server.base_url, where]
        return await asyncio.create_subprocess_exec(sys.executable, *argv, cwd=ROOT)

    async def main() -> None:
        nonlocal hold_from
        async with server:
            for _ in range(KILLS):
                process = await start()
                await server.midway.held(WIDTH)
                process.kill()
                await process.wait()
                server.midway.open()
                await server.idle()
                hold_from = len(server.requests) + EACH
            hold_from = sys.maxsize
            process = await start()
            assert await process.wait() == 0
            check(server, budget_program.PRICE)

    server = ScriptedServer(answer)
    asyncio.run(asyncio.wait_for(main(), HANG_S))
