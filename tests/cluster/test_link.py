"""The talk between the driver and one worker, with a worker whose answers the test gives."""

from __future__ import annotations

import asyncio
import pickle
from concurrent.futures import Future

from fanwise.cluster.link import SILENT_S, AttemptEnd, AttemptStart, Link, WorkerBatch
from fanwise.testing import run_virtual


class ScriptedWorker:
    """Stands for a Ray actor: `exchange.remote(…)` gives a future that the test answers."""

    def __init__(self) -> None:
        self.exchange = self
        self.asked: list[tuple[WorkerBatch, Future[bytes]]] = []

    def remote(self, packed: bytes) -> ScriptedWorker:
        self.asked.append((pickle.loads(packed), Future()))
        return self

    def future(self) -> Future[bytes]:
        return self.asked[-1][1]

    def answer(self, call: int, *numbers: int) -> None:
        ends = [AttemptEnd(number, b"", None, 0.0, None, None) for number in numbers]
        self.asked[call][1].set_result(pickle.dumps(ends))


class Harness:
    def __init__(self) -> None:
        self.worker = ScriptedWorker()
        self.ended: list[int] = []
        self.lost: list[str] = []
        self.link = Link(
            self.worker, "node", False, asyncio.get_running_loop(),
            lambda _, end: self.ended.append(end.number),
            lambda _, reason: self.lost.append(reason),
        )  # fmt: skip

    def start(self, number: int) -> None:
        self.link.start(AttemptStart(number, b"w", b"item"), b"packed")


async def turns() -> None:
    for _ in range(4):
        await asyncio.sleep(0)


def test_all_that_is_decided_in_one_turn_travels_together_and_a_work_travels_once() -> None:
    async def main() -> None:
        one = Harness()
        one.start(1)
        one.start(2)
        one.link.cancel(1)
        await turns()
        ((batch, _),) = one.worker.asked
        assert [each.number for each in batch.starts] == [1, 2]
        assert batch.cancels == (1,)
        assert batch.works == ((b"w", b"packed"),)
        one.start(3)
        await turns()
        assert one.worker.asked[1][0].works == ()

    run_virtual(main())


def test_two_calls_are_open_at_most_and_what_waits_goes_with_the_next() -> None:
    async def main() -> None:
        one = Harness()
        one.link.listen()
        await turns()
        for number in range(3):
            one.start(number)
            await turns()
        assert len(one.worker.asked) == 2
        one.worker.answer(0)
        await turns()
        assert [each.number for each in one.worker.asked[2][0].starts] == [1, 2]
        assert [batch.sequence for batch, _ in one.worker.asked] == [0, 1, 2]

    run_virtual(main())


def test_ends_are_passed_on_and_a_call_stays_open() -> None:
    async def main() -> None:
        one = Harness()
        one.start(7)
        await turns()
        assert one.link.in_flight == {7}
        one.worker.answer(0, 7)
        await turns()
        assert one.ended == [7]
        assert one.link.in_flight == set()
        assert len(one.worker.asked) == 2

    run_virtual(main())


def test_what_a_fenced_worker_says_is_not_heard() -> None:
    async def main() -> None:
        one = Harness()
        one.start(7)
        await turns()
        one.link.fence()
        one.worker.answer(0, 7)
        await turns()
        one.start(8)
        await turns()
        assert (one.ended, one.lost, len(one.worker.asked)) == ([], [], 1)

    run_virtual(main())


def test_a_call_that_fails_is_a_loss() -> None:
    async def main() -> None:
        one = Harness()
        one.start(7)
        await turns()
        one.worker.asked[0][1].set_exception(RuntimeError("the actor died\nmore"))
        await turns()
        assert one.lost == ["RuntimeError: the actor died"]

    run_virtual(main())


def test_silence_is_measured_by_what_was_usual() -> None:
    async def main() -> None:
        one, loop = Harness(), asyncio.get_running_loop()
        one.link.listen()
        await turns()
        assert one.link.silent(loop.time() + SILENT_S - 0.1) is None
        assert one.link.silent(loop.time() + SILENT_S + 0.1) == f"silent for {SILENT_S + 0.1:.1f} s"
        await asyncio.sleep(1.2)  # a slow machine: it answers, but late
        one.worker.answer(0)
        await turns()
        assert one.link.silent(loop.time() + SILENT_S + 0.1) is None
        assert one.link.silent(loop.time() + 3.7) is not None

    run_virtual(main())
