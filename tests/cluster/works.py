"""Work that the tests send to workers: importable by name, as a user's functions are."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import fanwise


class Broken(Exception):
    """An error of the user's own, with a field."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"broken with {code}")


class Unpackable(Exception):
    """An error that cannot be sent."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        super().__init__("holds a lock")


async def double(number: int) -> int:
    return 2 * number


def double_sync(number: int) -> int:
    return 2 * number


async def process_of(_: object) -> int:
    await asyncio.sleep(0.01)
    return os.getpid()


def sync_process_of(_: object) -> tuple[int, int]:
    return os.getpid(), os.getppid()


async def fail(number: int) -> int:
    raise Broken(number)


def fail_sync(number: int) -> int:
    raise Broken(number)


async def fail_unpackable(_: object) -> None:
    raise Unpackable


async def returns_a_lock(_: object) -> Any:
    return threading.Lock()


async def with_cause(_: object) -> None:
    try:
        raise KeyError("inner")
    except KeyError as error:
        raise ValueError("outer") from error


async def until_cancelled(folder: str) -> None:
    """Mark the start, and the end of the clean-up after a cancellation."""
    Path(folder, f"{os.getpid()}-{time.monotonic_ns()}.begun").touch()
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(0.1)
        Path(folder, f"{time.monotonic_ns()}.cleaned").touch()


async def swallow(folder: str) -> str:
    """Finish in spite of a cancellation: what was paid for is kept."""
    Path(folder, "begun").touch()
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        return "kept"
    return "slept"


def stubborn(folder: str) -> None:
    """Ignore every request to end, with a child in a session of its own."""
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True
    )
    Path(folder, "pids.tmp").write_text(f"{os.getpid()} {child.pid}")
    Path(folder, "pids.tmp").rename(Path(folder, "pids"))
    while True:
        time.sleep(0.05)


def polite(folder: str) -> str:
    """End when asked to."""
    Path(folder, "begun").touch()
    while not fanwise.cancelled():
        time.sleep(0.01)
    Path(folder, "told").touch()
    return "ended"


def die(_: object) -> None:
    os._exit(7)


async def sleep_for(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds


class Flaky:
    """Fails until it was tried often enough: counts in a folder, as workers share no memory."""

    def __init__(self, folder: str, failures: int) -> None:
        self.folder = folder
        self.failures = failures

    async def __call__(self, number: int) -> int:
        tries = len(list(Path(self.folder).glob(f"{number}-*")))
        Path(self.folder, f"{number}-{tries}").touch()
        if tries < self.failures:
            raise Broken(tries)
        return number


class Deadly:
    """Kills its worker, until it was tried often enough."""

    def __init__(self, folder: str, victims: int, deadly: int = 3) -> None:
        self.folder = folder
        self.victims = victims
        self.deadly = deadly

    async def __call__(self, number: int) -> int:
        if number == self.deadly:
            tries = len(list(Path(self.folder).glob("try-*")))
            Path(self.folder, f"try-{tries}").touch()
            if tries < self.victims:
                os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.sleep(0.05)
        return number


class Pausing:
    """The first item stops its worker, which comes back when the others have long ended."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    async def __call__(self, number: int) -> int:
        first = Path(self.folder, "paused")
        if number == 0 and not first.exists():
            first.write_text(str(os.getpid()))
            # To this thread: it would go on until another one is stopped with the process.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
            await asyncio.sleep(0)
            return -1
        await asyncio.sleep(0.01)
        return number


async def blocks_the_loop(seconds: float) -> float:
    """What a user should not do: the worker must not be taken for dead."""
    time.sleep(seconds)
    return seconds


async def noted(number: int) -> int:
    await asyncio.sleep(0.01)
    return number


async def three_calls(number: int) -> list[int]:
    """Calls inside an item, bounded by a cap of the driver's."""
    made = [
        fanwise.call(noted, 10 * number + each, needs="api", estimate=fanwise.Usage(tokens=5))
        for each in range(3)
    ]
    return [*await asyncio.gather(*made)]


class FlakyCall:
    """A call that fails at first, and is retried inside the item."""

    def __init__(self, folder: str) -> None:
        self.flaky = Flaky(folder, failures=1)

    async def __call__(self, number: int) -> int:
        retry = fanwise.Retry(2, base_s=0.01)
        return await fanwise.call(self.flaky, number, needs="api", retry=retry, name="flaky")


async def nested(number: int) -> list[int]:
    inside = await fanwise.fan_out(
        lambda each: each + 1, [10 * number, 10 * number + 1], name="inside", needs=lambda _: "api"
    )
    return inside.values()


class NestedHere:
    """A fan-out inside an item, with async work that leaves a trace for each attempt."""

    def __init__(self, folder: str, deadly: bool = False) -> None:
        self.folder = folder
        self.deadly = deadly

    async def __call__(self, number: int) -> list[int]:
        found = await fanwise.fan_out(self.inner, range(4), cap=1, key=str, name="inside")
        return found.values()

    async def inner(self, number: int) -> int:
        tries = len(list(Path(self.folder).glob(f"{number}-*")))
        Path(self.folder, f"{number}-{tries}").touch()
        if self.deadly and number == 2 and tries == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.sleep(0.02)
        return number


async def long_call(folder: str) -> None:
    await fanwise.call(until_cancelled, folder, needs="api")


def sync_that_fans_out(_: object) -> Any:
    return fanwise.fan_out_sync(double, [1])


async def streams(_: object) -> None:
    async with fanwise.fan_out_stream(double, [1]):
        pass


class Traced:
    """Leaves a file for each attempt, with the process that made it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    async def __call__(self, number: int) -> int:
        Path(self.folder, f"{number}-{time.monotonic_ns()}").write_text(str(os.getpid()))
        await asyncio.sleep(0.05)
        return 2 * number
