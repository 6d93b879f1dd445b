"""What workers promise, wherever they are: in this process, or on Ray."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanwise import Command, Halt, Outcome, Retry, fan_out, fan_out_stream, open_run
from fanwise.errors import AttemptTimeout, CommandFailed, NotShippable, ProcessDied, UsageError
from fanwise.kernel.workers import On
from tests.cluster import works


async def appears(folder: Path, pattern: str, count: int = 1) -> list[Path]:
    async with asyncio.timeout(30):
        while len(found := sorted(folder.glob(pattern))) < count:
            await asyncio.sleep(0.01)
    return found


@pytest.mark.parametrize("work", [works.double, works.double_sync])
def test_values_come_back_in_item_order(on: On | None, work: Callable[[int], Any]) -> None:
    outcomes = asyncio.run(fan_out(work, range(40), cap=7, on=on))
    assert outcomes.values() == [2 * number for number in range(40)]
    assert outcomes.stats.peak == {"total": 7}


def test_a_lambda_a_closure_and_a_command_can_be_sent(on: On | None) -> None:
    factor = 3
    assert asyncio.run(fan_out(lambda n: factor * n, [1, 2], on=on)).values() == [3, 6]

    async def times(number: int) -> int:
        return factor * number

    assert asyncio.run(fan_out(times, [1, 2], on=on)).values() == [3, 6]
    said = asyncio.run(fan_out(Command("echo", "{}"), ["a b", "$c"], on=on)).values()
    assert [each.stdout.data for each in said] == [b"a b\n", b"$c\n"]


@pytest.mark.parametrize("work", [works.fail, works.fail_sync])
def test_errors_come_back_as_themselves(on: On | None, work: Callable[[int], Any]) -> None:
    (outcome,) = asyncio.run(fan_out(work, [5], on=on))
    assert outcome.status == "failed"
    assert isinstance(outcome.error, works.Broken)
    assert outcome.error.code == 5
    assert str(outcome.error) == "broken with 5"


def test_the_cause_of_an_error_comes_back(on: On | None) -> None:
    (outcome,) = asyncio.run(fan_out(works.with_cause, [0], on=on))
    assert isinstance(outcome.error, ValueError)
    assert isinstance(outcome.error.__cause__, KeyError)


def test_the_result_of_a_command_that_failed_is_kept(on: On | None) -> None:
    (outcome,) = asyncio.run(fan_out(Command("sh", "-c", "echo why >&2; exit 3"), [""], on=on))
    assert isinstance(outcome.error, CommandFailed)
    assert outcome.value is not None and outcome.value.exit_code == 3
    assert outcome.value.stderr.data == b"why\n"


@pytest.mark.parametrize("work", [works.until_cancelled, works.polite, works.stubborn])
def test_a_time_out_ends_the_attempt(
    on: On | None, work: Callable[[str], Any], tmp_path: Path
) -> None:
    if on is None and work is works.stubborn:
        pytest.skip("a thread cannot be ended")
    (outcome,) = asyncio.run(fan_out(work, [str(tmp_path)], timeout=1.0, on=on))
    assert isinstance(outcome.error, AttemptTimeout)
    assert outcome.error.seconds == 1.0


def test_retries_are_made_and_recorded(on: On | None, tmp_path: Path) -> None:
    work = works.Flaky(str(tmp_path), failures=2)
    retry = Retry(3, base_s=0.01)
    outcomes = asyncio.run(fan_out(work, range(5), retry=retry, on=on))
    assert outcomes.values() == [0, 1, 2, 3, 4]
    for outcome in outcomes:
        assert [type(each.error) for each in outcome.attempts] == [
            works.Broken, works.Broken, type(None)
        ]  # fmt: skip


def test_a_halt_returns_what_a_sequential_run_would(on: On | None) -> None:
    outcomes = asyncio.run(fan_out(fails_at_four, range(50), cap=8, halt=Halt.on_failure(), on=on))
    assert [each.status for each in outcomes] == ["done"] * 4 + ["failed"]


async def fails_at_four(number: int) -> int:
    if number == 4:
        raise works.Broken(number)
    await asyncio.sleep(0.001 * (number % 3))
    return number


def test_cancelled_attempts_are_awaited(on: On | None, tmp_path: Path) -> None:
    """Their clean-up is over when the fan-out returns."""

    async def main() -> None:
        task = asyncio.create_task(
            fan_out(works.until_cancelled, [str(tmp_path)] * 3, cap=3, on=on)
        )
        await appears(tmp_path, "*.begun", 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(list(tmp_path.glob("*.cleaned"))) == 3

    asyncio.run(main())


def test_work_that_finishes_in_spite_of_a_cancellation_keeps_its_value(
    on: On | None, tmp_path: Path
) -> None:
    async def main() -> list[Outcome[str]]:
        async with fan_out_stream(works.swallow, [str(tmp_path)], on=on) as stream:
            await appears(tmp_path, "begun")
        return stream.unread

    (outcome,) = asyncio.run(main())
    assert (outcome.status, outcome.value) == ("done", "kept")


def test_a_sync_function_is_asked_to_end(on: On | None, tmp_path: Path) -> None:
    async def main() -> list[Outcome[str]]:
        async with fan_out_stream(works.polite, [str(tmp_path)], on=on) as stream:
            await appears(tmp_path, "begun")
        return stream.unread

    (outcome,) = asyncio.run(main())
    assert outcome.status == "cancelled"
    assert (tmp_path / "told").exists()


def test_a_durable_run_is_resumed(on: On | None, tmp_path: Path) -> None:
    """The driver journals: on a resume nothing runs that had ended."""
    folder = tmp_path / "tries"
    folder.mkdir()
    work = works.Flaky(str(folder), failures=0)

    async def main(items: int) -> list[Outcome[int]]:
        with open_run("r", journal=tmp_path / "j.db") as run:
            return [*await fan_out(work, range(items), run=run, name="all", on=on)]

    assert [each.value for each in asyncio.run(main(3))] == [0, 1, 2]
    again = asyncio.run(main(5))
    assert [each.value for each in again] == [0, 1, 2, 3, 4]
    assert [each.recorded for each in again] == [True] * 3 + [False] * 2
    assert len(list(folder.iterdir())) == 5


def test_seconds_are_those_of_the_work(on: On | None) -> None:
    (outcome,) = asyncio.run(fan_out(works.sleep_for, [0.2], on=on))
    assert outcome.ran_s > 0.19
    assert outcome.attempts[0].ran_s == outcome.ran_s


def test_a_run_says_where_its_fan_outs_run(on: On | None, tmp_path: Path) -> None:
    async def main() -> tuple[list[int], Any]:
        async with open_run("r", journal=tmp_path / "j.db", on=on) as run:  # type: ignore[arg-type]
            outcomes = await fan_out(works.process_of, range(8), run=run)
            return outcomes.values(), outcomes[0].attempts[0].worker

    pids, worker = asyncio.run(main())
    assert (os.getpid() in pids) == (on is None)
    assert (worker is None) == (on is None)


# -- on Ray alone ------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_cannot_be_sent_is_refused_before_anything_starts(cluster: Any) -> None:
    lock = threading.Lock()
    pulled: list[int] = []

    async def work(number: int) -> None:
        with lock:
            pass

    def items() -> Any:
        pulled.append(1)
        yield 1

    with pytest.raises(NotShippable, match=r"the work cannot travel .*lock"):
        asyncio.run(fan_out(work, items(), on=cluster))
    assert pulled == []


@pytest.mark.slow
def test_an_item_or_a_value_that_cannot_be_sent_is_the_error_of_that_item(cluster: Any) -> None:
    items: list[Any] = [1, threading.Lock(), 3]
    outcomes = asyncio.run(fan_out(works.double, items, on=cluster))
    assert [each.status for each in outcomes] == ["done", "failed", "done"]
    assert isinstance(outcomes[1].error, NotShippable)
    (outcome,) = asyncio.run(fan_out(works.returns_a_lock, [0], on=cluster))
    assert isinstance(outcome.error, NotShippable)
    assert "the value" in str(outcome.error)


@pytest.mark.slow
def test_an_error_that_cannot_be_sent_keeps_its_text_and_its_name(cluster: Any) -> None:
    (outcome,) = asyncio.run(fan_out(works.fail_unpackable, [0], on=cluster))
    assert "holds a lock" in str(outcome.error)
    assert "Unpackable" in str(getattr(outcome.error, "type_name", ""))


@pytest.mark.slow
def test_attempts_are_spread_over_the_workers(cluster: Any) -> None:
    pids = asyncio.run(fan_out(works.process_of, range(20), cap=10, on=cluster)).values()
    assert len({*pids}) == 2


@pytest.mark.slow
def test_sync_functions_run_in_processes_of_their_own(cluster: Any) -> None:
    workers = {*asyncio.run(fan_out(works.process_of, range(8), on=cluster)).values()}
    outcomes = asyncio.run(fan_out(works.sync_process_of, range(8), on=cluster)).values()
    assert not workers & {pid for pid, _ in outcomes}
    assert {parent for _, parent in outcomes} <= workers


@pytest.mark.slow
def test_a_function_that_ends_its_process_fails_alone(cluster: Any) -> None:
    (outcome,) = asyncio.run(fan_out(works.die, [0], on=cluster))
    assert isinstance(outcome.error, ProcessDied)
    assert outcome.error.exit_code == 7


@pytest.mark.slow
def test_a_sync_function_that_does_not_end_is_killed_with_its_children(
    cluster: Any, tmp_path: Path
) -> None:
    async def main() -> None:
        async with fan_out_stream(works.stubborn, [str(tmp_path)], on=cluster):
            await appears(tmp_path, "pids")

    asyncio.run(main())
    for pid in (tmp_path / "pids").read_text().split():
        assert not lives(int(pid))


def lives(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_something_that_is_no_place_is_refused() -> None:
    no_place: Any = "ray"
    with pytest.raises(UsageError, match="on is 'ray'"):
        asyncio.run(fan_out(works.double, [1], on=no_place))
    with pytest.raises(UsageError, match="on is 'ray'"):
        open_run(on=no_place)
