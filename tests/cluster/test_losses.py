"""Workers that die: their attempts go to others, and no item is blamed for it."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise import Outcomes, Ray, Retry, fan_out, open_run
from fanwise.errors import WorkerLost
from fanwise.journal.open import open_journal
from fanwise.kernel.events import Event, WorkerGone, WorkerJoined
from fanwise.view.item_rows import item_lines, item_rows
from fanwise.view.run_detail import detail_lines, run_detail
from tests.cluster import works
from tests.cluster.test_contract import lives

pytestmark = pytest.mark.slow


async def watched(work: Any, items: Any, on: Ray, **options: Any) -> tuple[Any, list[Event]]:
    seen: list[Event] = []
    async with open_run(journal=":memory:", subscribers=[seen.append], on=on) as run:
        outcomes: Outcomes[Any] = await fan_out(work, items, run=run, **options)
    return outcomes, [each for each in seen if isinstance(each, WorkerGone | WorkerJoined)]


def test_the_attempts_of_a_worker_that_dies_go_to_others(cluster: Ray, tmp_path: Path) -> None:
    """One kill: nothing has failed, and what the worker had is named."""
    work = works.Deadly(str(tmp_path), victims=1)
    outcomes, events = asyncio.run(watched(work, range(20), cluster, cap=6))
    assert outcomes.values() == [*range(20)]
    assert {len(each.attempts) for each in outcomes} == {1}
    (gone,) = [each for each in events if isinstance(each, WorkerGone)]
    twice = {each.key for each in outcomes.may_have_run_twice}
    assert "3" in twice and twice == {*gone.keys}
    assert len(twice) < 20
    joined = [each.worker for each in events if isinstance(each, WorkerJoined)]
    assert gone.worker in joined
    assert not lives(int(gone.worker.rpartition("/")[2]))
    assert outcomes[3].attempts[0].worker != gone.worker


def test_an_item_that_kills_three_workers_fails_and_the_others_do_not(
    cluster: Ray, tmp_path: Path
) -> None:
    work = works.Deadly(str(tmp_path), victims=9)
    outcomes, events = asyncio.run(
        watched(work, range(12), cluster, cap=6, retry=Retry(5, on=ValueError))
    )
    assert [each.key for each in outcomes.failures] == ["3"]
    error = outcomes[3].error
    assert isinstance(error, WorkerLost)
    assert len({*error.workers}) == 3
    assert len(list(tmp_path.iterdir())) == 3
    assert [each.value for each in outcomes if each.ok] == [n for n in range(12) if n != 3]
    gone = [each.worker for each in events if isinstance(each, WorkerGone)]
    assert [*error.workers] == gone


def test_what_a_lost_worker_says_later_is_not_heard(cluster: Ray, tmp_path: Path) -> None:
    """It is stopped, so Ray believes in it; it wakes when its attempt was made by another."""

    async def main() -> tuple[Any, list[Event]]:
        work = works.Pausing(str(tmp_path))
        outcomes, events = await watched(work, range(6), cluster, cap=6)
        pid = int((tmp_path / "paused").read_text())
        if lives(pid):
            os.kill(pid, signal.SIGCONT)
        return outcomes, events

    outcomes, events = asyncio.run(main())
    assert outcomes.values() == [*range(6)]
    assert outcomes[0].may_have_run_twice
    (gone,) = [each for each in events if isinstance(each, WorkerGone)]
    assert gone.reason.startswith("silent for")


def test_a_worker_whose_loop_is_blocked_is_not_lost(cluster: Ray) -> None:
    outcomes, events = asyncio.run(watched(works.blocks_the_loop, [2.5], cluster))
    assert outcomes.values() == [2.5]
    assert not [each for each in events if isinstance(each, WorkerGone)]


def test_the_journal_names_workers_losses_and_what_may_have_run_twice(
    cluster: Ray, tmp_path: Path
) -> None:
    async def main() -> Outcomes[int]:
        async with open_run("r", journal=tmp_path / "j.db", on=cluster) as run:
            work = works.Deadly(str(tmp_path), victims=1)
            return await fan_out(work, range(6), run=run)

    outcomes = asyncio.run(main())
    with closing(open_journal(tmp_path / "j.db", read_only=True)) as journal:
        run = journal.run("r")
        assert run is not None
        detail = run_detail(journal, run)
        rows = {row["key"]: row for row in item_rows(journal, "r")}
        lines = [*detail_lines(detail), *item_lines(journal, "r")]
    (lost,) = [each["data"] for each in detail["events"] if each["kind"] == "worker_gone"]
    twice = {each["key"] for each in detail["may_have_run_twice"]}
    assert twice == {*lost["items"]} == {each.key for each in outcomes.may_have_run_twice}
    assert "3" in twice
    assert lost["worker"] in detail["workers"]
    made = {each.key: each.attempts[0].worker for each in outcomes}
    assert {key: row["worker"] for key, row in rows.items()} == made
    assert any(line.startswith("workers   ") and line.endswith(", 1 lost") for line in lines)
    assert any(line.endswith(f"on {made['3']}") for line in lines)

    async def again() -> Outcomes[int]:
        async with open_run("r", journal=tmp_path / "j.db") as run:
            return await fan_out(works.Deadly(str(tmp_path), victims=0), range(6), run=run)

    assert {each.key: each.attempts[0].worker for each in asyncio.run(again())} == made
