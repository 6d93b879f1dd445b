"""Making one attempt at an item: an async function, a sync one in a thread, or a command."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import GeneratorType
from typing import Any, TypeVar

from fanwise.errors import AttemptTimeout, UsageError
from fanwise.journal.codec import JSON, Codec
from fanwise.kernel.sent_calls import anywhere
from fanwise.kernel.threads import EndedAnyway, Threads
from fanwise.kernel.virtual_time import outside
from fanwise.processes import Command, CommandResult, require_success, run_command

INSIST_AFTER_S = 30.0
"""Work that was cancelled may clean up for this long. Then it is cancelled again, because it may
have swallowed the first cancellation; then again after twice as long, and so on."""

T = TypeVar("T")
Attempter = Callable[[Any], Awaitable[Any]]


def attempter(work: Any, threads: Threads, timeout: float | None) -> Attempter:
    """Return an async function that makes one attempt, within the time-out."""
    check_work(work, timeout)
    if isinstance(work, Command):
        return _command(work, timeout)
    function: Attempter = work if is_async(work) else _in_thread(work, threads)
    return function if timeout is None else _within(function, timeout)


def call_attempter(
    work: Callable[..., Any], args: tuple[Any, ...], threads: Threads, timeout: float | None
) -> Attempter:
    """The same for one call with these arguments, with as few looks at the function as possible."""
    _check_timeout(timeout)

    async def attempt(_: Any) -> Any:
        return await work(*args)

    function = attempt if is_async(work) else _in_thread(lambda _: work(*args), threads)
    return function if timeout is None else _within(function, timeout)


def check_work(work: Any, timeout: float | None) -> None:
    """Refuse what no attempt could be made of."""
    _check_timeout(timeout)
    if isinstance(work, Command):
        return
    if not callable(work):
        kind = type(work).__name__
        raise UsageError(f"work is a {kind}", "Give a function, an async function or a Command")
    if inspect.isasyncgenfunction(work) or inspect.isgeneratorfunction(work):
        raise UsageError("work is a generator", "Return the value; `yield` gives none")


def is_async(work: Any) -> bool:
    """Whether calling it returns an awaitable, as far as can be seen without calling it."""
    while isinstance(work, functools.partial):
        work = work.func
    if inspect.iscoroutinefunction(work):
        return True
    return inspect.iscoroutinefunction(getattr(work, "__call__", None))  # noqa: B004


def _in_thread(work: Callable[..., Any], threads: Threads) -> Attempter:
    async def attempt(item: Any) -> Any:
        try:
            value = await threads.call(work, item)
        except EndedAnyway as late:
            if inspect.iscoroutine(late.value):
                late.value.close()  # it never began
            elif not late.was_told:
                return late.value  # the work is done, so keep its value
            raise asyncio.CancelledError from None
        # A lambda that calls an async function looks sync until it is called.
        return await value if is_awaitable(value) else value

    return attempt


def is_awaitable(value: Any) -> bool:
    """As `inspect.isawaitable`, but quick for values that are not."""
    maybe = hasattr(type(value), "__await__") or isinstance(value, GeneratorType)
    return maybe and inspect.isawaitable(value)


def _within(function: Attempter, seconds: float) -> Attempter:
    async def attempt(item: Any) -> Any:
        insistence = _Insistence(seconds + INSIST_AFTER_S)
        try:
            async with asyncio.timeout(seconds) as limit:
                value = await function(item)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise AttemptTimeout(seconds) from error.__cause__
        except asyncio.CancelledError:
            if not insistence.settled():
                raise
            raise AttemptTimeout(seconds) from None
        finally:
            insistence.end()
        # A thread, or work that swallows the cancellation, may return too late.
        if limit.expired():
            raise AttemptTimeout(seconds)
        return value

    return attempt


class _Insistence:
    """Cancels work again that swallowed the cancellation of its time-out."""

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._asked = 0
        self._timer = asyncio.get_running_loop().call_later(seconds, self._ask, INSIST_AFTER_S)

    def _ask(self, seconds: float) -> None:
        self._asked += 1
        self._task.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._ask, 2 * seconds)

    def settled(self) -> bool:
        """Whether the cancellation was ours; if so, it is taken back."""
        ours = self._asked > 0
        while self._asked > 0:
            self._asked -= 1
            self._task.uncancel()
        return ours

    def end(self) -> None:
        self._timer.cancel()


def _command(command: Command, timeout: float | None) -> Attempter:
    async def attempt(item: Any) -> CommandResult:
        return await perform_command(command.for_item(_text(item)), timeout)

    return attempt


async def perform_command(command: Command, timeout: float | None) -> CommandResult:
    """Make one attempt with a command whose placeholders are filled in, here or on a worker."""
    return await anywhere(perform_command_here, command, timeout)


async def perform_command_here(command: Command, timeout: float | None) -> CommandResult:
    loop = asyncio.get_running_loop()
    spill = None if command.spill is None else Path(command.spill)
    outside(loop, +1)
    try:
        result = await run_command(command, timeout=timeout, spill=spill)
    finally:
        outside(loop, -1)
    if result.timed_out and timeout is not None:
        raise AttemptTimeout(timeout, result)
    return require_success(result) if command.check else result


def _text(item: Any) -> str | bytes:
    """What replaces `{}`: text and bytes unchanged, other values as `str`."""
    return item if isinstance(item, str | bytes) else str(item)


class CommandCodec:
    """Stores the result of a command in the journal."""

    def encode(self, value: CommandResult) -> str:
        return JSON.encode(value.to_json())

    def decode(self, text: str) -> CommandResult:
        return CommandResult.from_json(JSON.decode(text))


def codec_for(work: Any, codec: Codec) -> Codec:
    """The run's codec, unless the work is a command or has a codec of its own."""
    own: Codec | None = getattr(work, "journal_codec", None)
    return CommandCodec() if isinstance(work, Command) else own or codec


def _check_timeout(timeout: float | None) -> None:
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise UsageError(f"timeout is {timeout!r}", "Give a number of seconds above 0, or None")
