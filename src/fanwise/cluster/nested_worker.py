"""Calls and fan-outs inside an item, on its worker: they ask the driver."""

from __future__ import annotations

import asyncio
import itertools
import pickle
from collections.abc import AsyncIterable, Callable
from typing import Any

from fanwise.cluster.link import DriverAnswer, WorkerQuestion
from fanwise.cluster.shipping import pack, pack_error, unpack, unpack_error
from fanwise.core.outcome import Outcomes
from fanwise.errors import UsageError
from fanwise.kernel.home import CallEnd, CallRequest
from fanwise.kernel.patient_future import PatientFuture
from fanwise.kernel.work import Attempter

Say = Callable[[WorkerQuestion], None]


class NestedWork:
    """The fan-outs that items of this worker have begun, and the questions that are open."""

    def __init__(self, say: Say, attempter: Callable[[Any, float | None], Attempter]) -> None:
        self._say = say
        self._attempter = attempter
        self._numbers = itertools.count()
        self._answers: dict[int, asyncio.Future[bytes | None]] = {}
        self._fan_outs: dict[int, tuple[Attempter, list[Any]]] = {}

    def answered(self, answer: DriverAnswer) -> None:
        waiting = self._answers.pop(answer.question, None)
        if waiting is None or waiting.done():
            return  # it was withdrawn meanwhile
        if answer.error is None:
            waiting.set_result(answer.value)
        else:
            waiting.set_exception(unpack_error(answer.error))

    def attempt_at(self, fan_out: int, index: int) -> tuple[Attempter, Any]:
        """What performs an item of a fan-out, and the item."""
        attempt, items = self._fan_outs[fan_out]
        return attempt, items[index]

    async def permit(self, attempt: int, request: CallRequest) -> Callable[[CallEnd], None]:
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._say(WorkerQuestion(number, attempt, "call", pack(request, "the needs of a call")))
        try:
            await answer
        except asyncio.CancelledError:
            self._answers.pop(number, None)
            self._say(WorkerQuestion(number, attempt, "withdraw", b""))
            raise

        def ended(end: CallEnd) -> None:
            error = None if end.error is None else pack_error(end.error)
            data = pickle.dumps((error, end._replace(error=None)), protocol=5)
            self._say(WorkerQuestion(number, attempt, "ended", data))

        return ended

    async def fetch(self, attempt: int, name: str) -> bytes:
        number = next(self._numbers)
        answer: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._say(WorkerQuestion(number, attempt, "fetch", name.encode()))
        return await answer or b""

    async def fan_out(
        self, attempt: int, work: Any, items: Any, options: dict[str, Any]
    ) -> Outcomes[Any]:
        if options.pop("run") is not None:
            raise UsageError("run is given inside an item on a worker", "Leave it out")
        listed = [item async for item in items] if isinstance(items, AsyncIterable) else [*items]
        key, needs = options.pop("key"), options.pop("needs")
        keys = None if key is None else [key(item) for item in listed]
        wanted = None if needs is None else [needs(item) for item in listed]
        number = next(self._numbers)
        self._fan_outs[number] = (self._attempter(work, options.pop("timeout")), listed)
        data = pack((len(listed), keys, wanted, options), "an argument of a fan-out")
        answer = _FanOutAnswer(lambda: self._say(WorkerQuestion(number, attempt, "withdraw", b"")))
        self._answers[number] = answer
        self._say(WorkerQuestion(number, attempt, "fan_out", data))
        try:
            packed = await answer
        finally:
            del self._fan_outs[number]
        assert packed is not None
        outcomes: Outcomes[Any] = unpack(packed, "the outcomes")
        return outcomes


class _FanOutAnswer(PatientFuture[bytes | None]):
    """A cancellation goes to the driver, which ends the items here before it answers."""

    def __init__(self, withdraw: Callable[[], None]) -> None:
        super().__init__(loop=asyncio.get_running_loop())
        self._withdraw = withdraw

    def interrupted(self, error: asyncio.CancelledError) -> None:
        self._withdraw()


class ItemHome:
    """The driver, for one item: see `kernel/home.py`."""

    def __init__(self, nested: NestedWork, attempt: int) -> None:
        self._nested = nested
        self._attempt = attempt

    async def permit(self, request: CallRequest) -> Callable[[CallEnd], None]:
        return await self._nested.permit(self._attempt, request)

    async def fan_out(self, work: Any, items: Any, options: dict[str, Any]) -> Outcomes[Any]:
        return await self._nested.fan_out(self._attempt, work, items, options)

    async def fetch(self, name: str) -> bytes:
        return await self._nested.fetch(self._attempt, name)
