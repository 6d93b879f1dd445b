"""Workers that die: their attempts go to others, and no item is blamed for it."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from fanwise import Outcomes, Ray, Retry, fan_out, open_run
from fanwise.errors import WorkerLost
from fanwise.kernel.events import Event, WorkerGone, WorkerJoined
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


def test_lost_workers_are_in_the_journal(cluster: Ray, tmp_path: Path) -> None:
    async def main() -> list[str]:
        async with open_run("r", journal=tmp_path / "j.db", on=cluster) as run:
            work = works.Deadly(str(tmp_path), victims=1)
            await fan_out(work, range(6), run=run)
            assert run.journal is not None
            await run.note_on_disk("end", {})
            return [each.data for each in run.journal.events("r") if each.kind == "worker_gone"]

    (note,) = asyncio.run(main())
    assert '"3"' in note
