"""Pulling items lazily, one by one, when something could run them.

Plain iterables and feeds are read directly. An async iterable is read by a task of its own, which
ends when enough is pulled and is made again when more is needed.

A generator that was not read to its end is closed, because its caller has no other way to free what
it holds. Other iterators (files, cursors, streams) belong to the caller, who may want to read on.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterator,
)
from typing import Any, Generic, Protocol, TypeVar, cast

from fanwise.core.caps import Needs, parse_needs
from fanwise.core.schedule import Schedule
from fanwise.errors import BadPredicate, DuplicateKey
from fanwise.kernel.feed import Feed
from fanwise.kernel.scope import HeldCaps
from fanwise.kernel.tasks import new_task

I = TypeVar("I")  # noqa: E741
I_contra = TypeVar("I_contra", contravariant=True)


IN_ONE_TURN = 500
"""Recorded items that are pulled before the event loop gets its turn. A resume may have a million,
and Ctrl-C, time-outs and the caller's other tasks cannot wait that long."""


class ItemConsumer(Protocol[I_contra]):
    """Takes the items: the engine."""

    def admit(
        self, item: I_contra, index: int, key: str | None, needs: dict[str, int] | None
    ) -> bool:
        """Take an item. True: its outcome was on disk, so it takes no permit and no time."""

    def abort(self, error: BaseException) -> None:
        """Cancel everything, then raise this."""

    def check_over(self) -> None: ...


class Intake(Generic[I]):
    """Reads items, calls `key` and `needs` for each, and passes it on."""

    def __init__(
        self,
        source: Iterator[I] | AsyncIterator[I] | Feed[I],
        schedule: Schedule[Any],
        consumer: ItemConsumer[I],
        *,
        ahead: bool,
        needs: Callable[[I], Needs] | None,
        key: Callable[[I], str] | None,
        held: HeldCaps,
    ) -> None:
        self.pulled = 0
        self.error: BaseException | None = None
        """What the source raised. There are no more items; those pulled before go on."""
        self.close_error: BaseException | None = None
        """What a generator raised when it was closed."""
        self.held_back = False
        """Pull nothing for now, because the reader of the outcomes is slow."""
        self._source = source
        self._is_async = isinstance(source, AsyncIterator)  # slow to check each time
        self._feed = source if isinstance(source, Feed) else None
        self._begun = False
        self._closed = False
        self._soon = False
        """Whether `pump` is scheduled to go on after the event loop's turn."""
        self._schedule = schedule
        self._consumer = consumer
        self._ahead = ahead
        self._needs = needs
        self._key = key
        self._keys: set[str] = set()
        self._held = held
        self._context = contextvars.copy_context()
        self._puller: asyncio.Task[None] | None = None
        if self._feed is not None:
            self._feed.join(self.pump)

    @property
    def is_listed(self) -> bool:
        """Whether the items were given, and not fed by a system that decides what follows."""
        return self._feed is None

    @property
    def problem(self) -> BaseException | None:
        """The error to report to the caller; errors of items beyond a halt do not count."""
        halted = self._schedule.halted_by is not None
        return self.close_error if halted or self.error is None else self.error

    def begin(self) -> None:
        """Pull the first items. A feed is not read before this."""
        self._begun = True
        self.pump()

    def pump(self) -> None:
        """Pull items while they can run or, with `ahead`, may wait."""
        if self._is_async:
            self._pump_async()
            return
        if self._feed is not None:
            self._pump_feed(self._feed)
            return
        source = cast("Iterator[I]", self._source)
        wants = self._schedule.wants_items
        recorded = 0
        while not self.held_back and wants(self._ahead):
            if recorded == IN_ONE_TURN:
                self._pump_soon()
                return
            try:
                item = next(source)
            except StopIteration:
                self._no_more(None)
            except BaseException as error:
                self._no_more(error)
            else:
                if not self._schedule.halted:  # the source itself may have halted it
                    recorded += self._admit(item)

    def _pump_feed(self, feed: Feed[I]) -> None:
        if not self._begun:
            return
        wants = self._schedule.wants_items
        recorded = 0
        while feed and not self.held_back and wants(self._ahead):
            if recorded == IN_ONE_TURN:
                self._pump_soon()
                return
            recorded += self._admit(feed.take())
        if feed.over and not self._schedule.exhausted:
            self._no_more(None)

    def _pump_soon(self) -> None:
        """Go on after the event loop had its turn."""
        if not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_soon(self._pump_again)

    def _pump_again(self) -> None:
        self._soon = False
        self.pump()

    def stop(self) -> None:
        """Stop pulling."""
        if self._puller is not None:
            self._puller.cancel()

    def closed(self) -> bool:
        """Close the source. False: that takes time, and `check_over` is called afterwards."""
        if self._puller is None and not self._closed:
            self._close()
        return self._closed and self._puller is None

    def _close(self) -> None:
        source = self._source
        if getattr(source, "gi_running", False):  # the generator itself caused the halt
            asyncio.get_running_loop().call_soon(self._consumer.check_over)
            return
        self._closed = True
        if self._schedule.exhausted:
            return
        if isinstance(source, AsyncGenerator):
            self._read(self._aclose(source))
        elif isinstance(source, Generator):
            try:
                source.close()
            except BaseException as error:
                self._not_closed(error)

    async def _aclose(self, source: AsyncGenerator[I, None]) -> None:
        try:
            await source.aclose()
        except BaseException as error:
            task = asyncio.current_task()
            if not isinstance(error, asyncio.CancelledError) or not (task and task.cancelling()):
                self._not_closed(error)

    def _not_closed(self, error: BaseException) -> None:
        self.close_error = error
        if not isinstance(error, Exception | asyncio.CancelledError):
            self._consumer.abort(error)

    def _pump_async(self) -> None:
        if self._puller is None and not self.held_back and self._schedule.wants_items():
            self._read(self._pull())

    def _read(self, reading: Coroutine[Any, Any, None]) -> None:
        self._puller = new_task(reading, asyncio.get_running_loop(), self._context.copy())
        self._puller.add_done_callback(self._pulled_enough)

    async def _pull(self) -> None:
        source = cast("AsyncIterator[I]", self._source)
        recorded = 0
        while not self.held_back and self._schedule.wants_items():
            if recorded == IN_ONE_TURN:
                recorded = 0
                await asyncio.sleep(0)
                continue
            try:
                item = await anext(source)
            except StopAsyncIteration:
                self._no_more(None)
            except asyncio.CancelledError:
                if self._schedule.halted:
                    raise
                self._no_more(RuntimeError("the items were cancelled by something else"))
            except BaseException as error:
                if self._schedule.halted:
                    self._not_closed(error)
                else:
                    self._no_more(error)
            else:
                # A source that swallows its cancellation may still return an item.
                if not self._schedule.halted:
                    recorded += self._admit(item)

    def _pulled_enough(self, task: asyncio.Task[None]) -> None:
        self._puller = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._consumer.abort(error)
        elif not self._schedule.halted:
            self.pump()
        self._consumer.check_over()

    def _no_more(self, error: BaseException | None) -> None:
        self._schedule.exhausted = True
        if error is not None and not isinstance(error, Exception):
            self._consumer.abort(error)
        self.error = error
        self._consumer.check_over()

    def _admit(self, item: I) -> bool:
        index = self.pulled
        try:
            key = None if self._key is None else self._key_of(self._key, item, index)
            needs = None if self._needs is None else self._needs_of(self._needs, item, index)
            self.pulled += 1
            return self._consumer.admit(item, index, key, needs)
        except BaseException as error:
            # No error, whatever its source, may leave this loop while items are in flight.
            self._consumer.abort(error)
            return False

    def _key_of(self, key_of: Callable[[I], str], item: I, index: int) -> str:
        try:
            key = key_of(item)
        except Exception as error:
            raise BadPredicate("key", index, "raised") from error
        if not isinstance(key, str):
            raise BadPredicate("key", index, f"gave {type(key).__name__}, not a str,")
        if not key.isascii():
            _check_unicode(key, index)
        if key in self._keys:
            raise DuplicateKey(key, index)
        self._keys.add(key)
        return key

    def _needs_of(self, needs_of: Callable[[I], Needs], item: I, index: int) -> dict[str, int]:
        try:
            wanted = needs_of(item)
        except Exception as error:
            raise BadPredicate("needs", index, "raised") from error
        ledger = self._schedule.ledger
        needs = parse_needs(wanted, ledger.resources, index)
        if self._held:
            ledger.check_nesting(needs, self._held)
        return needs


def _check_unicode(key: str, index: int) -> None:
    """A journal cannot store lone surrogates, which stand for bytes that are not UTF-8."""
    try:
        key.encode()
    except UnicodeEncodeError as error:
        raise BadPredicate("key", index, "gave text that is not Unicode") from error
