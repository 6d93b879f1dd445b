"""The task of one item, from its first attempt to its last.

This is the only part of an item's life that awaits anything. Everything before and after it is in
`engine.py`, in plain functions.
"""

from __future__ import annotations

import asyncio
import contextlib
from random import random
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec.structs import replace

from fanwise.core.outcome import Attempt
from fanwise.core.retry import Retry
from fanwise.errors import BadPredicate, RateLimited
from fanwise.kernel import events
from fanwise.kernel.open_item import OpenItem
from fanwise.kernel.scope import FanOutScope, current
from fanwise.kernel.work import Attempter

if TYPE_CHECKING:
    from fanwise.kernel.engine import Engine

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")


class AttemptLoop(Generic[I, T]):
    """Makes the attempts at the items of a fan-out, each item in a task of its own."""

    def __init__(
        self, engine: Engine[I, T], scope: FanOutScope, attempt: Attempter, retry: Retry
    ) -> None:
        self._engine = engine
        self._scope = scope
        self._attempt = attempt
        self._retry = retry
        self._time = scope.time
        self._judged = bool(scope.subscribers) or scope.ledger.adapts or scope.away
        """Whether anyone has to know about attempts that succeed."""
        self._away = scope.away

    async def make(self, open_item: OpenItem[I, T]) -> None:
        """Try until an attempt succeeds or there are no more retries, then report to the engine."""
        try:
            open_item.begun = True
            time = self._time
            current.set(open_item)
            backoff_s = 0.0
            began = time()
            queued_s = began - open_item.asked_at
            while True:
                value: T | None = None
                error: BaseException | None = None
                try:
                    value = await self._attempt(open_item.item)
                except BaseException as caught:
                    error = caught
                if open_item.guests:
                    await _see_off(open_item)
                ran_s = time() - began
                if error is None and not self._judged and not open_item.attempts:
                    self._engine.finish_first_attempt(open_item, value, queued_s, ran_s)
                    return
                attempt = Attempt(queued_s, ran_s, backoff_s, error)
                if self._away:
                    attempt = _as_measured(attempt, open_item)
                    ran_s = attempt.ran_s
                open_item.attempts += (attempt,)
                delay = self._judge(open_item, attempt)
                if delay is None:
                    break
                try:
                    backoff_s, queued_s = await self._back_off(open_item, ran_s, delay)
                except asyncio.CancelledError as caught:
                    error, ran_s = caught, 0.0
                    break
                open_item.new_attempt()
                began = time()
            self._engine.finish(open_item, value, error, ran_s)
            # An error's traceback holds this frame: without this, each keeps the other alive.
            del value, error, attempt
        except BaseException as fault:
            # A bug in this file must end the fan-out with an error, never with a hang.
            self._engine.drop(open_item.index, fault)

    def _judge(self, open_item: OpenItem[I, T], attempt: Attempt) -> float | None:
        """Tell adaptive caps how it went. Returns the seconds until the next attempt, or None."""
        error = attempt.error
        ledger = self._scope.ledger
        delay = None
        if isinstance(error, RateLimited):
            ledger.refused(open_item, error.retry_after, self._time())
        elif error is None:
            ledger.accepted(open_item, self._time())
        if ledger.moves:
            self._scope.report_moves()
        made = len(open_item.attempts)
        if error is not None and self._wants_another(open_item, error):
            delay = self._retry.delay(error, made, random())
        if self._scope.subscribers:
            self._engine.emit(
                events.AttemptEnded, index=open_item.index, key=open_item.key, number=made,
                attempt=attempt, retry_in=delay,
            )  # fmt: skip
        return delay

    def _wants_another(self, open_item: OpenItem[I, T], error: BaseException) -> bool:
        if open_item.cancel_asked:
            return False
        try:
            return self._retry.wants(error, len(open_item.attempts))
        except BadPredicate as problem:
            self._engine.abort(problem)
            return False

    async def _back_off(
        self, open_item: OpenItem[I, T], ran_s: float, delay: float
    ) -> tuple[float, float]:
        """Wait without permits, then ask for them again. Returns seconds backed off and queued."""
        began = self._time()
        self._engine.schedule.pause(open_item, ran_s)
        self._engine.go_on()
        await asyncio.sleep(delay)
        asked = self._time()
        open_item.wake = self._scope.loop.create_future()
        if not self._engine.schedule.again(open_item, asked):
            self._engine.dispatcher.pump()
            await open_item.wake
        return asked - began, self._time() - asked


def _as_measured(attempt: Attempt, open_item: OpenItem[I, T]) -> Attempt:
    """With the time that its worker measured. The way there and back is not work: it is queued."""
    done, open_item.elsewhere = open_item.elsewhere, None
    if done is None:
        return attempt
    ran_s = min(done.ran_s, attempt.ran_s)
    queued_s = attempt.queued_s + attempt.ran_s - ran_s
    return replace(attempt, ran_s=ran_s, queued_s=queued_s, worker=done.worker)


async def _see_off(open_item: OpenItem[I, T]) -> None:
    """Cancel fan-outs that the item started from threads and that outlived it."""
    while open_item.guests:
        for guest in open_item.guests:
            guest.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait(open_item.guests)
