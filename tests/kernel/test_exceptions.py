"""Whatever raises, wherever: nothing is lost, masked or leaked."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from fanwise import Caps, Halt, Retry, fan_out, fan_out_stream, fan_out_sync
from fanwise.errors import (
    AttemptTimeout,
    BadPredicate,
    ItemsError,
    JournalDamaged,
    RunIsLive,
    RunNotFound,
)
from fanwise.kernel.events import Event, ItemEnded
from fanwise.kernel.run import open_run
from fanwise.testing import MemoryJournal, Recording, run_virtual, virtual_time


class Boom(Exception):
    pass


class Sleeper:
    """Sleeps for ever; counts who was cancelled."""

    def __init__(self) -> None:
        self.started = 0
        self.ended = 0

    async def __call__(self, item: object) -> None:
        self.started += 1
        try:
            await asyncio.sleep(1e9)
        finally:
            await asyncio.sleep(1)
            self.ended += 1


@virtual_time
async def test_one_items_exception_is_its_outcome_and_no_one_elses() -> None:
    async def work(item: int) -> int:
        if item == 1:
            raise Boom("one")
        return item

    outcomes = await fan_out(work, range(3))
    assert [o.status for o in outcomes] == ["done", "failed", "done"]
    assert isinstance(outcomes[1].error, Boom)
    assert outcomes[1].error.__traceback__ is not None
    with pytest.raises(ExceptionGroup, match="1 of 3 items failed") as caught:
        outcomes.values()
    assert caught.value.exceptions == (outcomes[1].error,)


@virtual_time
async def test_exceptions_in_all_items_are_all_there() -> None:
    async def work(item: int) -> int:
        raise Boom(item)

    outcomes = await fan_out(work, range(50), cap=7)
    assert [o.error.args for o in outcomes.failures if o.error] == [(n,) for n in range(50)]


@virtual_time
async def test_an_items_iterator_that_raises_loses_nothing_that_was_pulled() -> None:
    def items() -> Iterator[int]:
        yield 0
        yield 1
        raise Boom("items")

    async def work(item: int) -> int:
        await asyncio.sleep(5)
        return item

    with pytest.raises(ItemsError, match="raised after 2 items") as caught:
        await fan_out(work, items())
    assert isinstance(caught.value.__cause__, Boom)
    assert [o.value for o in caught.value.outcomes] == [0, 1]


@virtual_time
async def test_an_async_items_iterator_that_raises_loses_nothing_either() -> None:
    async def items() -> AsyncIterator[int]:
        yield 0
        await asyncio.sleep(1)
        raise Boom("items")

    async def work(item: int) -> int:
        await asyncio.sleep(5)
        return item

    with pytest.raises(ItemsError) as caught:
        await fan_out(work, items())
    assert isinstance(caught.value.__cause__, Boom)
    assert [o.value for o in caught.value.outcomes] == [0]


@virtual_time
async def test_a_halt_before_the_iterator_raises_is_a_halt() -> None:
    def items() -> Iterator[int]:
        yield 0
        raise Boom("items")

    async def work(item: int) -> int:
        raise Boom(item)

    outcomes = await fan_out(work, items(), halt=Halt.on_failure())
    assert outcomes.halted_by is outcomes[0]


@pytest.mark.parametrize("which", ["key", "needs"])
def test_a_function_of_the_callers_that_raises_is_named_and_everything_ends(which: str) -> None:
    sleeper = Sleeper()

    def raises(item: int) -> str:
        if item == 3:
            raise Boom(which)
        return "a" if which == "needs" else str(item)

    async def items() -> AsyncIterator[int]:
        for item in range(9):
            yield item
            await asyncio.sleep(1)

    options: Any = {which: raises}

    async def main(items: Any) -> None:
        with pytest.raises(BadPredicate, match=f"{which} raised at item 3") as caught:
            await fan_out(sleeper, items, caps=Caps(a=5), **options)
        assert isinstance(caught.value.__cause__, Boom)
        assert len(asyncio.all_tasks()) == 1

    run_virtual(main(items()))
    assert sleeper.started == sleeper.ended == 3
    run_virtual(main(range(9)))  # all in one go: the tasks are cancelled before their first step
    assert sleeper.started == sleeper.ended == 3


@virtual_time
async def test_a_subscriber_that_raises_is_reported_once_and_breaks_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def bad(event: Event) -> None:
        raise Boom("subscriber")

    good = Recording()

    async def work(item: int) -> int:
        return item

    with caplog.at_level(logging.ERROR, logger="fanwise"):
        async with open_run(journal=":memory:", subscribers=[bad, good]) as run:
            outcomes = await fan_out(work, range(3), run=run)
    assert outcomes.values() == [0, 1, 2]
    assert len(good.of(ItemEnded)) == 3
    assert len(caplog.records) == 1
    assert caplog.records[0].exc_info is not None


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_inside_an_item_ends_everything_and_comes_out(kind: type[BaseException]) -> None:
    sleeper = Sleeper()

    async def work(item: int) -> None:
        if item == 2:
            await asyncio.sleep(3)
            raise kind
        await sleeper(item)

    with pytest.raises(kind):
        run_virtual(fan_out(work, range(5), cap=5))
    assert sleeper.started == sleeper.ended == 4


def test_ctrl_c_inside_a_thread_comes_out_too() -> None:
    def work(item: int) -> None:
        if item == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fan_out_sync(work, range(3), cap=1)
    assert not [t for t in threading.enumerate() if t.name.startswith("fanwise")]


INTERRUPTED = """
import asyncio, os, signal, sys
from fanwise import fan_out
ended = []
async def work(item):
    try:
        if item == 3:
            os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(1e6)
    finally:
        ended.append(item)
try:
    asyncio.run(fan_out(work, range(4), cap=4))
except KeyboardInterrupt:
    print("interrupted", sorted(ended))
"""


def test_a_real_sigint_cancels_and_awaits_all_items() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "interrupted [0, 1, 2, 3]\n", done.stderr
    assert done.stderr == ""


@virtual_time
async def test_cancellation_from_outside_cancels_and_awaits_all_items() -> None:
    sleeper = Sleeper()
    task = asyncio.create_task(fan_out(sleeper, range(20), cap=6))
    await asyncio.sleep(10)
    task.cancel()
    await asyncio.sleep(0.5)
    task.cancel()  # a second time, while the items clean up
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sleeper.started == sleeper.ended == 6
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_a_time_limit_around_a_fan_out_works_as_everywhere() -> None:
    sleeper = Sleeper()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(7):
            await fan_out(sleeper, range(3))
    assert sleeper.started == sleeper.ended == 3


@virtual_time
async def test_work_that_swallows_its_cancellation_is_cancelled_again() -> None:
    swallowed = ended = 0

    async def work(item: int) -> str:
        nonlocal swallowed, ended
        try:
            await asyncio.sleep(1e9)
        except asyncio.CancelledError:
            swallowed += 1
        try:
            await asyncio.sleep(1e9)  # it goes on as if nothing had been
        finally:
            ended += 1
        return "never"

    task = asyncio.create_task(fan_out(work, range(3), cap=3))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert swallowed == ended == 3
    assert asyncio.get_running_loop().time() < 300, "it was left to sleep to its end"


@virtual_time
async def test_work_that_ends_well_in_spite_of_its_cancellation_is_kept() -> None:
    async def work(item: int) -> str:
        if item == 0:
            await asyncio.sleep(1)
            return "first"
        try:
            await asyncio.sleep(1e9)
        except asyncio.CancelledError:
            return "saved"
        return "never"

    outcomes = await fan_out(work, range(2), halt=Halt.on_success())
    assert [o.value for o in outcomes] == ["first"], "a later success took the place of the winner"
    assert [(o.status, o.value) for o in outcomes.discarded] == [("done", "saved")]


@virtual_time
async def test_what_an_item_raises_while_it_is_cancelled_is_not_masked() -> None:
    async def work(item: int) -> None:
        if item == 0:
            await asyncio.sleep(1)
            raise Boom("first")
        try:
            await asyncio.sleep(1e9)
        finally:
            raise Boom("cleaning up")

    outcomes = await fan_out(work, range(2), halt=Halt.on_failure())
    [other] = outcomes.discarded
    assert other.status == "cancelled"
    assert str(other.error) == "cleaning up"


@virtual_time
async def test_a_cancellation_that_nobody_asked_for_is_a_failure() -> None:
    async def work(item: int) -> None:
        raise asyncio.CancelledError

    outcomes = await fan_out(work, range(2))
    assert [o.status for o in outcomes] == ["failed", "failed"]
    assert isinstance(outcomes[0].error, asyncio.CancelledError)


@virtual_time
async def test_a_time_out_is_an_outcome_and_frees_the_permit() -> None:
    async def work(item: int) -> int:
        await asyncio.sleep(1e9 if item == 0 else 1)
        return item

    outcomes = await fan_out(work, range(3), cap=1, timeout=10)
    assert [o.status for o in outcomes] == ["failed", "done", "done"]
    assert isinstance(outcomes[0].error, AttemptTimeout)
    assert isinstance(outcomes[0].error, TimeoutError)
    assert outcomes[0].ran_s == pytest.approx(10)
    assert outcomes.stats.makespan_s == pytest.approx(12)


@virtual_time
async def test_a_time_out_of_the_works_own_is_not_taken_for_ours() -> None:
    async def work(item: int) -> None:
        raise TimeoutError("its own")

    [outcome] = await fan_out(work, [0], timeout=10)
    assert type(outcome.error) is TimeoutError


@virtual_time
async def test_permits_are_free_during_backoff_and_the_times_are_told_apart() -> None:
    tries = 0

    async def work(item: str) -> str:
        nonlocal tries
        await asyncio.sleep(2)
        if item == "flaky" and (tries := tries + 1) <= 2:
            raise Boom(tries)
        return item

    retry = Retry(2, base_s=1e-9, on=Boom)

    class Asked(Boom):
        retry_after = 10.0

    async def asked(item: str) -> str:
        try:
            return await work(item)
        except Boom as error:
            raise Asked from error

    outcomes = await fan_out(asked, ["flaky", "b", "c"], cap=1, retry=retry)
    assert outcomes.values() == ["flaky", "b", "c"]
    flaky = outcomes[0]
    assert [round(a.ran_s, 3) for a in flaky.attempts] == [2, 2, 2]
    assert [round(a.backoff_s, 3) for a in flaky.attempts] == [0, 10, 10]
    assert flaky.ran_s == pytest.approx(6)
    assert flaky.backoff_s == pytest.approx(20)
    assert outcomes.stats.makespan_s == pytest.approx(26), "the permit was held during a backoff"


@virtual_time
async def test_cleaning_up_may_take_its_time() -> None:
    cleaned = False

    async def work(item: int) -> None:
        nonlocal cleaned
        if item == 0:
            await asyncio.sleep(1)
            raise Boom
        try:
            await asyncio.sleep(1e9)
        finally:
            await asyncio.sleep(20)
            cleaned = True

    await fan_out(work, range(2), halt=Halt.on_failure())
    assert cleaned


@virtual_time
async def test_a_time_out_that_is_swallowed_is_insisted_on() -> None:
    async def work(item: int) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(1e9)
        await asyncio.sleep(1e9)

    outcomes = await fan_out(work, range(2), cap=1, timeout=1)
    assert [type(o.error) for o in outcomes] == [AttemptTimeout, AttemptTimeout]
    assert outcomes.stats.makespan_s < 100
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@virtual_time
async def test_a_subscriber_that_raises_a_cancellation_breaks_nothing_either() -> None:
    def bad(event: Event) -> None:
        raise asyncio.CancelledError

    async def work(item: int) -> int:
        return item

    async with open_run(journal=":memory:", subscribers=[bad]) as run:
        outcomes = await fan_out(work, range(3), run=run)
    assert outcomes.values() == [0, 1, 2]


@virtual_time
async def test_a_codec_that_fails_on_resume_ends_everything_before_it_comes_out() -> None:
    sleeper = Sleeper()

    class Codec:
        def encode(self, value: object) -> str:
            return "1"

        def decode(self, text: str) -> object:
            raise Boom("decode")

    async def one(item: int) -> int:
        return item

    async def later(item: int) -> None:
        await sleeper(item)

    journal = MemoryJournal()
    async with open_run("r", journal=journal, codec=Codec()) as run:
        await fan_out(one, [5], key=str, run=run)
    with pytest.raises(JournalDamaged, match="item '5'") as caught:
        async with open_run("r", journal=journal, codec=Codec()) as run:
            await fan_out(later, [1, 2, 5], key=str, run=run)
    assert isinstance(caught.value.__cause__, Boom)
    assert sleeper.started == sleeper.ended
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_a_stream_that_is_left_early_still_tells_what_the_items_raised() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise Boom("items")

    async def work(item: int) -> int:
        return item

    with pytest.raises(ItemsError) as caught:
        async with fan_out_stream(work, items()) as stream:
            async for _ in stream:
                break
    assert isinstance(caught.value.__cause__, Boom)
    with pytest.raises(KeyError) as other:
        async with fan_out_stream(work, items()) as stream:
            async for _ in stream:
                raise KeyError
    assert "ItemsError" in "".join(other.value.__notes__)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there are no eager tasks before 3.12")
def test_an_eager_task_factory_changes_nothing() -> None:
    async def work(item: int) -> int:
        return item

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(getattr(asyncio, "eager_task_factory"))  # noqa: B009
        assert (await fan_out(work, range(3_000), cap=2)).values() == list(range(3_000))

    asyncio.run(main())


@virtual_time
async def test_an_error_about_another_run_is_an_outcome_of_the_item() -> None:
    """Only a journal that cannot keep the outcome ends the fan-out."""
    journal = MemoryJournal()

    async def work(run_id: str) -> str:
        async with open_run(run_id, journal=journal, resume=True):
            return run_id

    async with open_run("outer", journal=journal) as run:
        outcomes = await fan_out(work, ["missing", "outer"], run=run)
    assert [type(outcome.error) for outcome in outcomes] == [RunNotFound, RunIsLive]
    assert [outcome.status for outcome in outcomes] == ["failed", "failed"]


def test_a_predicate_that_did_not_raise_has_no_error_to_look_at() -> None:
    async def main(halt: Halt) -> None:
        await fan_out(asyncio.sleep, [0], halt=halt)

    with pytest.raises(BadPredicate, match=r"Fix the function$"):
        run_virtual(main(Halt.when(lambda _: None)))  # type: ignore[arg-type,return-value]
    with pytest.raises(BadPredicate, match="its error is the cause"):
        run_virtual(main(Halt.when(lambda _: bool(1 / 0))))
