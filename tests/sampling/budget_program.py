"""A durable loop to be killed: `python -m tests.sampling.budget_program JOURNAL BASE_URL WHERE`.

WHERE says to whom the budget is given: to the "run", or to the "sample".
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from fanwise import Budget, open_run
from fanwise.models import Options, connect
from fanwise.sampling import SampleResult, sample
from tests.sampling.support import good

USD = 0.01
PRICE = {"input": 1.0, "output": 2.0}
PROMPT = " ".join("a" * 100)
"""A token for every two bytes: the estimate is hardly more than what the server counts."""
WIDTH, DEPTH, MOST_TOKENS = 8, 100, 5


async def main(journal: str, base_url: str, where: str) -> SampleResult:
    model = connect({"name": "openai:gpt-5-mini", "base_url": base_url, "price": PRICE})
    budget = Budget(usd=USD)
    of_run, of_sample = (budget, None) if where == "run" else (None, budget)
    wide: Any = {"loop_budget": DEPTH, "concurrency_budget": WIDTH, "strategy": "rejection"}
    async with open_run("budget", journal=journal, budget=of_run) as run:
        return await sample(
            model, PROMPT, [good], options=Options(max_tokens=MOST_TOKENS), run=run,
            budget=of_sample, **wide,
        )  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
