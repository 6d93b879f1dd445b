"""The worker: a Ray actor with many attempts in flight.

`exchange` runs on Ray's loop, the attempts on the loop of a `Performer` in another thread. So a
worker answers even while the user's code blocks its loop, and silence means that it is gone.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
from collections import deque
from contextlib import suppress
from typing import Any

from fanwise.cluster.link import (
    AttemptEnd,
    AttemptStart,
    DriverAnswer,
    NestedItem,
    WorkerBatch,
    WorkerInfo,
    WorkerQuestion,
    versions,
)
from fanwise.cluster.nested_worker import ItemHome, NestedWork
from fanwise.cluster.shipping import pack, pack_error, unpack
from fanwise.cluster.sync_processes import SyncProcesses
from fanwise.errors import NotShippable
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.performer import Performed, Performer
from fanwise.kernel.sent_workspaces import close_workspaces
from fanwise.kernel.threads import Threads
from fanwise.kernel.work import Attempter, attempter, check_work, is_async
from fanwise.processes import Command

BEAT_S = 0.3
"""A worker with nothing to say answers this often."""


class RayWorker:
    """Made by Ray, on a node."""

    def __init__(self, folder: str | None = None) -> None:
        """`folder`: the driver's, where commands and functions expect to be."""
        if folder is not None:
            with suppress(OSError):  # on another machine it may not be there
                os.chdir(folder)
        self._performer = Performer(self._ended)
        self._threads = Threads("fanwise")
        self._processes = SyncProcesses()
        self._nested = NestedWork(self._say, self._attempter)
        self._works: dict[bytes, tuple[Attempter | BaseException, frozenset[str]]] = {}
        """What was sent, and the caps that are declared around it."""
        self._next = 0
        self._early: dict[int, WorkerBatch] = {}
        self._said: deque[AttemptEnd | WorkerQuestion] = deque()
        """Filled by one thread and emptied by another."""
        self._woken = False
        self._poll: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def hello(self) -> WorkerInfo:
        return WorkerInfo(socket.gethostname(), os.getpid(), versions())

    async def close(self) -> None:
        """End the processes of sync functions, and remove workspaces."""
        self._performer.post(self._processes.close)
        await in_thread(close_workspaces)

    async def deliver(self, question: int, data: bytes) -> None:
        """A parcel that was asked for: too big to travel with an exchange."""
        self._performer.post(self._nested.answered, DriverAnswer(question, data, None))

    async def exchange(self, packed: bytes) -> bytes:
        """Take a batch; answer when there is something to say, or something newer was asked."""
        self._loop = asyncio.get_running_loop()
        self._take(pickle.loads(packed))
        if self._poll is not None:
            self._poll.set()
        poll = self._poll = asyncio.Event()
        if not self._said:
            timer = self._loop.call_later(BEAT_S, poll.set)
            await poll.wait()
            timer.cancel()
        said = [self._said.popleft() for _ in range(len(self._said))]
        return pickle.dumps(said, protocol=5)

    # -- on Ray's loop --------------------------------------------------------------------------

    def _take(self, batch: WorkerBatch) -> None:
        """Pass batches on in the order in which they were sent."""
        self._early[batch.sequence] = batch
        while (found := self._early.pop(self._next, None)) is not None:
            self._next += 1
            if found.starts or found.cancels or found.answers:
                self._performer.post(self._begin, found)

    def _speak(self) -> None:
        self._woken = False
        if self._poll is not None:
            self._poll.set()

    # -- on the loop of the attempts ------------------------------------------------------------

    def _begin(self, batch: WorkerBatch) -> None:
        for digest, packed in batch.works:
            self._works[digest] = self._work(packed)
        for start in batch.starts:
            self._start(start)
        for number in batch.cancels:
            self._performer.cancel(number)
        for answer in batch.answers:
            self._nested.answered(answer)

    def _work(self, packed: bytes) -> tuple[Attempter | BaseException, frozenset[str]]:
        work, caps = pickle.loads(packed)
        try:
            function, timeout = unpack(work, "the work")
            return self._attempter(function, timeout), caps
        except Exception as error:
            return error, caps

    def _attempter(self, function: Any, timeout: float | None) -> Attempter:
        check_work(function, timeout)
        if not isinstance(function, Command) and not is_async(function):
            function = self._processes.performer(function)
        return attempter(function, self._threads, timeout)

    def _start(self, start: AttemptStart) -> None:
        work, caps = self._works[start.work]
        try:
            item = unpack(start.item, "the item")
            if isinstance(item, NestedItem):
                work, item = self._nested.attempt_at(*item)
            if isinstance(work, BaseException):
                raise work
        except Exception as error:
            self._ended(Performed(start.number, None, error, 0.0))
            return
        driver = ItemHome(self._nested, start.number)
        self._performer.begin(start.number, work, item, driver, caps)

    def _ended(self, done: Performed) -> None:
        value: bytes | None = None
        error = done.error
        if error is None:
            try:
                value = pack(done.value, "the value")
            except NotShippable as problem:
                error = problem
        packed = None if error is None else pack_error(error)
        self._say(
            AttemptEnd(
                done.number, value, packed, done.ran_s, done.first_token_s, done.usage,
                done.lag_s, done.in_flight,
            )
        )  # fmt: skip

    def _say(self, message: AttemptEnd | WorkerQuestion) -> None:
        self._said.append(message)
        if not self._woken and self._loop is not None:
            self._woken = True
            self._loop.call_soon_threadsafe(self._speak)
