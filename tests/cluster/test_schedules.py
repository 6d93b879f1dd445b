"""The properties of random fan-outs, with attempts on workers, some of which die."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fanwise import Caps, Ray, Retry, fan_out
from tests.profiles import NO_SHRINKING, examples
from tests.worlds import Planned, World, sequential, worlds

pytestmark = pytest.mark.slow
SECOND = 0.004


class Failure(Exception):
    pass


class Played:
    """Plays a world. Workers share no memory, so each attempt leaves a file with its times."""

    def __init__(self, folder: str, deadly: int | None = None) -> None:
        self.folder = folder
        self.deadly = deadly
        """The item whose first attempt kills its worker."""

    async def __call__(self, numbered: tuple[int, Planned]) -> int:
        index, item = numbered
        killed = Path(self.folder, "killed")
        if index == self.deadly and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        made = len(list(Path(self.folder).glob(f"{index}-*")))
        began = time.monotonic()
        trace = Path(self.folder, f"{index}-{began}")
        trace.touch()
        try:
            await asyncio.sleep(item.duration * SECOND)
        finally:
            trace.write_text(f"{began} {time.monotonic()}")
        if item.fails or made < item.bad_attempts:
            raise Failure(index)
        return item.value


def most_at_once(world: World, folder: Path, name: str | None) -> int:
    """How much of a cap was in use at once, by the workers' own clock, which is the machine's."""
    changes: list[tuple[float, int]] = []
    for trace in folder.glob("*-*"):
        item = world.items[int(trace.name.partition("-")[0])]
        amount = 1 if name is None else item.needs.get(name, 0)
        if text := trace.read_text():  # else its worker was killed
            began, ended = map(float, text.split())
            changes += [(began, amount), (ended, -amount)]
    level = most = 0
    for _, change in sorted(changes):
        level += change
        most = max(most, level)
    return most


async def play(world: World, on: Ray, folder: Path, deadly: int | None) -> bool:
    """Whether a worker was killed."""
    caps, before = Caps(world.caps), asyncio.all_tasks()
    retry = Retry(max((each.bad_attempts for each in world.items), default=0), base_s=SECOND)
    outcomes = await fan_out(
        Played(str(folder), deadly), list(enumerate(world.items)), cap=world.cap, caps=caps,
        needs=lambda numbered: numbered[1].needs, halt=world.rule, retry=retry, on=on,
    )  # fmt: skip
    killed = (folder / "killed").exists()
    assert [(o.index, o.status, o.value) for o in outcomes] == sequential(world)
    assert all(use == 0 for use in caps.in_use.values()), "permits were not returned"
    assert asyncio.all_tasks() == before, "a task was left behind"
    assert most_at_once(world, folder, None) <= world.cap
    assert all(most_at_once(world, folder, name) <= cap for name, cap in world.caps.items())
    if killed and deadly is not None and deadly < len(outcomes):
        assert outcomes[deadly].may_have_run_twice
    if not killed:
        assert outcomes.may_have_run_twice == []
    return killed


@examples(0.2, phases=NO_SHRINKING)
@given(worlds())
def test_outcomes_are_those_of_a_sequential_run(cluster: Ray, world: World) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert asyncio.run(play(world, cluster, Path(folder), None)) is False


@examples(0.03, phases=NO_SHRINKING, suppress=[HealthCheck.filter_too_much])
@given(worlds().filter(lambda world: len(world.items) > 2), st.data())
def test_also_when_a_worker_dies_in_between(
    cluster: Ray, world: World, data: st.DataObject
) -> None:
    deadly = data.draw(st.integers(0, len(sequential(world)) - 1))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(world, cluster, Path(folder), deadly))
