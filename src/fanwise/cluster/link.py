"""One worker as its driver sees it: what to tell it, and what it says.

A Ray call for each attempt would give 800 attempts a second. So up to two calls of `exchange` are
open to a worker at any time: one that waits for news, and one that brings some, upon which the
worker answers the older one. All that is decided in one turn of the loop travels together. An
answer comes at least every `BEAT_S`, so silence means that the worker is gone.
"""

from __future__ import annotations

import asyncio
import pickle
import platform
from collections.abc import Callable
from concurrent.futures import Future
from importlib.metadata import version
from typing import Any, Literal, NamedTuple

from fanwise.core.outcome import Usage

MOST_OPEN = 2
FORGET = 0.98
SILENT_S = 1.5
"""A worker that is silent for so long is lost, and for three times its longest silence so far: on
a machine that has far too much to do, everybody is late."""


class AttemptStart(NamedTuple):
    """Perform an attempt."""

    number: int
    work: bytes
    item: bytes


class WorkerBatch(NamedTuple):
    """From the driver to a worker."""

    sequence: int
    """Batches may overtake each other on the way."""
    works: tuple[tuple[bytes, bytes], ...]
    starts: tuple[AttemptStart, ...]
    cancels: tuple[int, ...]
    answers: tuple[DriverAnswer, ...]


class NestedItem(NamedTuple):
    """An item of a fan-out that an item on the worker began: the worker has it."""

    fan_out: int
    position: int


class AttemptEnd(NamedTuple):
    """How an attempt ended on the worker."""

    number: int
    value: bytes | None
    error: bytes | None
    ran_s: float
    first_token_s: float | None
    usage: Usage | None
    lag_s: float = 0.0
    in_flight: int = 0


class WorkerQuestion(NamedTuple):
    """From an item on a worker to its driver."""

    number: int
    attempt: int
    kind: Literal["call", "ended", "fan_out", "fetch", "withdraw"]
    """May a call begin; it has ended; run this fan-out; send this parcel; never mind."""
    data: bytes


class DriverAnswer(NamedTuple):
    """From the driver to an item on a worker."""

    question: int
    value: bytes | None
    error: bytes | None


class WorkerInfo(NamedTuple):
    """What a worker says of itself when it is ready."""

    node: str
    pid: int
    versions: dict[str, str]


def versions() -> dict[str, str]:
    """What driver and worker must have in common."""
    return {"fanwise": version("fanwise"), "Python": ".".join(platform.python_version_tuple()[:2])}


class Link:
    """Sends batches to one worker, and passes on what it answers.

    `said` is called for each end and question, `lost` once, when a call fails; neither is called
    after `fence`.
    """

    def __init__(
        self,
        actor: Any,
        node_id: str,
        alone: bool,
        loop: asyncio.AbstractEventLoop,
        said: Callable[[Link, AttemptEnd | WorkerQuestion], None],
        lost: Callable[[Link, str], None],
    ) -> None:
        self.actor = actor
        self.node_id = node_id
        self.alone = alone
        """Whether it performs one attempt at a time."""
        self.name = ""
        self.in_flight: set[int] = set()
        """The numbers of the attempts that it has."""
        self.heard_at = loop.time()
        self.longest_s = 0.0
        """The longest silence of late, which the next one is compared with."""
        self.fenced = False
        """Whatever it says from now on is not heard."""
        self._loop = loop
        self._said = said
        self._lost = lost
        self._sequence = 0
        self._known: set[bytes] = set()
        self._works: list[tuple[bytes, bytes]] = []
        self._starts: list[AttemptStart] = []
        self._cancels: list[int] = []
        self._answers: list[DriverAnswer] = []
        self._open = 0
        self._soon = False

    def start(self, start: AttemptStart, work: bytes) -> None:
        self.in_flight.add(start.number)
        if start.work not in self._known:
            self._known.add(start.work)
            self._works.append((start.work, work))
        self._starts.append(start)
        self._exchange_soon()

    def cancel(self, number: int) -> None:
        self._cancels.append(number)
        self._exchange_soon()

    def answer(self, answer: DriverAnswer) -> None:
        self._answers.append(answer)
        self._exchange_soon()

    def fence(self) -> None:
        self.fenced = True

    def silent(self, now: float) -> str | None:
        """Why it is to be given up; None: it was heard not long ago."""
        seconds = now - self.heard_at
        return (
            f"silent for {seconds:.1f} s" if seconds > max(SILENT_S, 3 * self.longest_s) else None
        )

    def move(
        self,
        loop: asyncio.AbstractEventLoop,
        said: Callable[[Link, AttemptEnd | WorkerQuestion], None],
        lost: Callable[[Link, str], None],
    ) -> None:
        """Go on with this worker on another loop. Nothing is in flight."""
        self._loop, self._said, self._lost = loop, said, lost
        self._open, self._soon = 0, False
        self.listen()

    def listen(self) -> None:
        """Keep a call open, from now on."""
        self.heard_at = self._loop.time()
        self._exchange_soon()

    def _exchange_soon(self) -> None:
        if not self._soon:
            self._soon = True
            self._loop.call_soon(self._exchange)

    def _exchange(self) -> None:
        self._soon = False
        news = self._starts or self._cancels or self._answers
        if self.fenced or self._open >= (MOST_OPEN if news else 1):
            return
        batch = WorkerBatch(
            self._sequence,
            tuple(self._works),
            tuple(self._starts),
            tuple(self._cancels),
            tuple(self._answers),
        )
        self._sequence += 1
        self._works, self._starts, self._cancels, self._answers = [], [], [], []
        self._open += 1
        try:
            answer = self.actor.exchange.remote(pickle.dumps(batch, protocol=5)).future()
        except Exception as error:
            self._loop.call_soon(self._lost, self, str(error))
            return
        answer.add_done_callback(self._answered_elsewhere)

    def _answered_elsewhere(self, answer: Future[bytes]) -> None:
        """In a thread of Ray's."""
        try:
            self._loop.call_soon_threadsafe(self._answered, answer)
        except RuntimeError:
            return  # the loop is closed: nobody waits for this

    def _answered(self, answer: Future[bytes]) -> None:
        self._open -= 1
        if self.fenced:
            return
        try:
            messages: list[AttemptEnd | WorkerQuestion] = pickle.loads(answer.result())
        except Exception as error:
            self._lost(self, f"{type(error).__name__}: {str(error).splitlines()[0]}")
            return
        now = self._loop.time()
        self.longest_s = max(now - self.heard_at, FORGET * self.longest_s)
        self.heard_at = now
        for message in messages:
            if isinstance(message, AttemptEnd):
                self.in_flight.discard(message.number)
            self._said(self, message)
        self._exchange_soon()
