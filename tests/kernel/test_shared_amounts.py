"""Rates and budgets over several runs: none of them has more than all may have together."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Coroutine
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest

from fanwise import Budget, Caps, Outcomes, Rate, Usage, call, fan_out, open_run
from fanwise.core.budget import Reservation
from fanwise.core.rate import Bucket
from fanwise.core.shared_amounts import (
    DAY_S,
    BucketState,
    BudgetOffer,
    BudgetState,
    grant,
    take_block,
)
from fanwise.errors import BadCap, BudgetExceeded, JournalUnreadable, UsageError
from fanwise.journal.port import Journal
from fanwise.kernel import shared_amounts
from fanwise.testing import MemoryJournal
from fanwise.testing.memory_leases import MemoryLeaseBook

NAME = "team"
ROOT = Path(__file__).parents[2]


def run(main: Coroutine[Any, Any, Any], within_s: float = 120) -> Any:
    return asyncio.run(asyncio.wait_for(main, within_s))


# -- the book, pure ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_no_window_sees_more_than_the_rate_whoever_asks(seed: int) -> None:
    chance = random.Random(seed)
    n, per = chance.choice([1, 2, 7, 60, 500]), chance.choice([0.5, 60.0])
    whole = Bucket.of_requests(n, per)
    state: BucketState | None = None
    now, used = 0.0, list[float]()
    for _ in range(400):
        now += chance.expovariate(n / per)
        amount = chance.randint(1, max(1, int(whole.burst / 4)))
        state, wait_s = take_block(state, whole.burst, whole.refill, amount, now)
        if chance.random() < 0.1:  # nobody needs it any more
            state, _ = take_block(state, whole.burst, whole.refill, -amount, now)
        else:
            used += [now + wait_s] * amount
    used.sort()
    assert len(used) > n
    for at, begun in enumerate(used[n:]):
        assert begun - used[at] >= per - 1e-6


def test_who_asked_first_goes_first() -> None:
    state, first = take_block(None, 5, 1.0, 7, now=100.0)
    state, second = take_block(state, 5, 1.0, 1, now=100.0)
    state, third = take_block(state, 5, 1.0, 1, now=101.0)
    assert (first, second, third) == (0.0, 3.0, 3.0)


def offer(holder: str, wanted: float, spent: float = 0.0) -> BudgetOffer:
    least = {"usd": min(wanted, 1.0)}
    return BudgetOffer(
        holder, {"usd": 10.0}, {"usd": spent}, {"usd": 0.0}, least, {"usd": wanted}, lasts_s=15
    )


def test_a_budget_is_granted_until_all_of_it_is_spent_or_held() -> None:
    state, (granted, _) = grant(None, offer("a", 6), 0.0)
    assert granted == {"usd": 6.0}
    state, (granted, spent) = grant(state, offer("b", 6), 1.0)
    assert (granted, spent) == ({"usd": 4.0}, {"usd": 0.0})
    state, (granted, spent) = grant(state, offer("a", 0, spent=2), 2.0)
    assert (granted, spent) == ({"usd": 0.0}, {"usd": 2.0})
    state, (granted, _) = grant(state, offer("b", 9), 3.0)
    assert granted == {"usd": 8.0}


def test_who_can_do_nothing_with_a_part_leaves_it_to_others() -> None:
    state, _ = grant(None, offer("a", 9.5), 0.0)
    state, (granted, _) = grant(state, offer("b", 2), 1.0)
    assert granted == {"usd": 0.0}
    state, (granted, _) = grant(state, offer("a", 10), 2.0)
    assert granted == {"usd": 10.0}


def test_what_a_silent_process_held_counts_as_spent_until_the_day_ends() -> None:
    state, _ = grant(None, offer("a", 6), 0.0)
    state, (granted, spent) = grant(state, offer("b", 6), 15.0)
    assert (granted, spent) == ({"usd": 4.0}, {"usd": 6.0})
    state, (granted, spent) = grant(state, offer("b", 10), DAY_S)
    assert (granted, spent) == ({"usd": 10.0}, {"usd": 0.0})


# -- runs ----------------------------------------------------------------------------------------


async def spend(_: int) -> int:
    return await call(lambda: 1, estimate=Usage(requests=1), needs="key", name="spend")


async def one_run(journal: Any, run_id: str, items: int, **limits: Any) -> Outcomes[int]:
    async with open_run(run_id, journal=journal, **limits) as opened:
        return await fan_out(spend, range(items), cap=8, run=opened)


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_two_runs_spend_exactly_the_budget_between_them(kind: str, tmp_path: Path) -> None:
    journal: Path | Journal = tmp_path / "j.db" if kind == "file" else MemoryJournal()

    async def main() -> list[Outcomes[int]]:
        runs = [
            one_run(journal, f"r{n}", 20, budget=Budget(requests=30, shared=NAME), caps={"key": 4})
            for n in range(2)
        ]
        return [*await asyncio.gather(*runs)]

    found = run(main())
    done = [sum(each.ok for each in one) for one in found]
    assert sum(done) == 30
    refused = [each.error for one in found for each in one if not each.ok]
    assert all(isinstance(each, BudgetExceeded) for each in refused)
    assert {getattr(each, "spent", 0) for each in refused} == {30}
    third = run(one_run(journal, "r3", 1, budget={"requests": 30, "shared": NAME}, caps={"key": 4}))
    assert [each.ok for each in third] == [False], "the book remembers"
    other = run(one_run(journal, "r4", 1, budget={"requests": 30, "shared": "x"}, caps={"key": 4}))
    assert [each.ok for each in other] == [True]


def test_a_resume_does_not_pay_a_shared_budget_twice(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"budget": {"requests": 10, "shared": NAME}, "caps": {"key": 4}}
    assert run(one_run(tmp_path / "j.db", "r", 6, **limits)).values() == [1] * 6
    assert run(one_run(tmp_path / "j.db", "r", 10, **limits)).values() == [1] * 10


def test_two_runs_take_all_they_start_out_of_one_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    journal, taken = MemoryJournal(), list[float]()

    def counted(state: Any, burst: float, refill: float, amount: float, now: float) -> Any:
        taken.append(amount)
        return take_block(state, burst, refill, amount, now)

    monkeypatch.setattr(shared_amounts, "take_block", counted)

    async def main() -> list[Outcomes[int]]:
        rates = [Caps(key=Rate(requests=60_000, shared=NAME)) for _ in range(2)]
        runs = [one_run(journal, f"r{n}", 60, caps=each) for n, each in enumerate(rates)]
        return [*await asyncio.gather(*runs)]

    found = run(main())
    assert [sum(each.ok for each in one) for one in found] == [60, 60]
    assert sum(taken) == 120


@pytest.mark.parametrize(
    "limits",
    [
        {"caps": {"key": 2}, "budget": {"requests": 30, "shared": NAME}},
        {"caps": {"key": Rate(requests=6_000, shared=NAME)}},
    ],
)
def test_what_a_book_did_not_hear_is_said_again(
    limits: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, asked, update = MemoryJournal(), count(1), MemoryLeaseBook.update

    def at_times(self: Any, name: str, change: Any, *, lasting: bool) -> Any:
        if next(asked) % 2 == 0:
            raise JournalUnreadable("memory", "it is away")
        return update(self, name, change, lasting=lasting)

    monkeypatch.setattr(MemoryLeaseBook, "update", at_times)
    monkeypatch.setattr(shared_amounts, "TRY_AGAIN_S", 0.001)
    assert run(one_run(journal, "r", 30, **limits), within_s=10).values() == [1] * 30
    monkeypatch.setattr(MemoryLeaseBook, "update", update)
    if "budget" in limits:
        assert run(one_run(journal, "s", 1, **limits))[0].error is not None, "all 30 are known"


def test_a_budget_knows_nothing_of_a_day_or_a_book_that_it_was_used_with_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    budget, waits, update = Budget(requests=5, shared=NAME), Event(), MemoryLeaseBook.update
    limits: dict[str, Any] = {"caps": {"key": 4}, "budget": budget}
    assert run(one_run(MemoryJournal(), "r", 5, **limits)).values() == [1] * 5
    wait = budget.wait

    def after_it_waits(self: Any, name: str, change: Any, *, lasting: bool) -> Any:
        waits.wait(timeout=5)
        return update(self, name, change, lasting=lasting)

    monkeypatch.setattr(MemoryLeaseBook, "update", after_it_waits)

    def waited(each: Reservation) -> None:
        waits.set()
        wait(each)

    monkeypatch.setattr(budget, "wait", waited)
    assert run(one_run(MemoryJournal(), "s", 5, **limits)).values() == [1] * 5


def test_a_run_that_does_nothing_gives_back_what_it_might_have_spent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal = MemoryJournal()
    monkeypatch.setattr(shared_amounts, "SPARE", 0.5)

    async def main() -> None:
        limits: dict[str, Any] = {"budget": {"requests": 10, "shared": NAME}, "caps": {"key": 4}}
        async with open_run("r", journal=journal, **limits) as opened:
            await fan_out(spend, [1], run=opened)
            while book() != ({"requests": 1.0}, {}):
                await asyncio.sleep(0.005)
            assert (await fan_out(spend, [2], run=opened)).values() == [1]

    def book() -> Any:
        kept = journal.lease_book().update(
            f"budget:{NAME}", lambda kept, _: (kept or b"", kept or b""), lasting=True
        )
        found = msgspec.json.decode(kept, type=BudgetState)
        return {kind: n for kind, n in found.spent.items() if n}, found.grants

    run(main(), within_s=10)


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        ({"caps": {"key": Rate(requests=5, shared=NAME)}}, "the rate of 'key'"),
        ({"caps": {"key": 1}, "budget": {"usd": 1, "shared": NAME}}, "the budget"),
    ],
)
def test_without_a_journal_they_are_refused_before_anything_starts(
    limits: dict[str, Any], what: str
) -> None:
    with pytest.raises(UsageError, match=f"{what} is shared, but there is no journal"):
        run(fan_out(spend, [1], **limits))


def test_a_name_must_be_a_text() -> None:
    with pytest.raises(BadCap):
        Budget(usd=1, shared="")
    with pytest.raises(BadCap):
        Caps(key=Rate(requests=1, shared=""))


# -- in many processes ---------------------------------------------------------------------------


def test_processes_share_a_rate_and_a_budget_and_one_is_killed(tmp_path: Path) -> None:
    """Each call writes itself down, so nobody has to be believed."""
    calls, n, per, most = tmp_path / "calls", 20, 0.5, 60
    limits = {
        "calls": str(calls),
        "rate": {"requests": n, "per": per, "shared": NAME},
        "budget": {"requests": most, "shared": NAME},
    }
    program = [sys.executable, "-m", "tests.kernel.shared_amounts_program"]
    given = [str(tmp_path / "j.db"), "{}", "60", json.dumps(limits)]
    every = [
        subprocess.Popen(
            [*program, *(each.replace("{}", f"p{number}", 1) for each in given[:3]), given[3]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )
        for number in range(3)
    ]  # fmt: skip
    try:
        for each in every:
            assert each.stdout is not None and each.stdout.readline() == "ready\n"
        went = time.monotonic()
        for each in every:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        while b"p0" not in (calls.read_bytes() if calls.exists() else b""):
            time.sleep(0.005)
        every[0].kill()
        said = [each.communicate(timeout=60)[0] for each in every]
    finally:
        for each in every:
            each.kill()
            each.communicate()
    made = Counter(line.split()[0] for line in calls.read_text().splitlines())
    at = sorted(float(line.split()[1]) for line in calls.read_text().splitlines())
    assert said[1:] == [f"{made[each]} {60 - made[each]}\n" for each in ("p1", "p2")]
    # What the dead one held counts as spent: the 8 in flight, and a hundredth of the budget.
    assert most - 9 <= made.total() <= most
    for number, begun in enumerate(at):
        assert begun - went >= number // n * per, "the rate holds over all of them"
