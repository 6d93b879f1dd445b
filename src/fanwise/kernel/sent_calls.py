"""Calls and commands whose attempts are made by the workers of the run around.

An item of a system stays with the driver, because its code holds the system's state. What it
performs travels: model calls, commands, and the functions of users that can be sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from fanwise.kernel.scope import current

if TYPE_CHECKING:
    from fanwise.kernel.work import Attempter

T = TypeVar("T")


beside_files: list[ModuleType] = []
"""Modules that were found beside a document: workers get them by value, as they may lack the file.
Whoever sends takes them out."""


class Spread:
    """A function that takes its arguments as one item, so that they can be sent."""

    def __init__(self, work: Callable[..., Awaitable[Any]]) -> None:
        self._work = work

    async def __call__(self, args: tuple[Any, ...]) -> Any:
        return await self._work(*args)


class SpreadSync:
    """The same for a sync function, which a worker calls in a process of its own."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work = work

    def __call__(self, args: tuple[Any, ...]) -> Any:
        return self._work(*args)


async def anywhere(work: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Await `work(*args)` on the workers of the run around, or here if it has none."""
    sent = await sent_to_workers(work, args, None)
    found: T = await (work(*args) if sent is None else sent(None))
    return found


async def sent_to_workers(
    work: Callable[..., Any], args: tuple[Any, ...], timeout: float | None, *, sync: bool = False
) -> Attempter | None:
    """What performs `work(*args)` on the workers of the run around; None: it has none."""
    around = current.get()
    run = None if around is None else around.fan_out.run
    place = None if run is None else run.place_of_calls
    if place is None:
        return None
    async with place.workers() as workers:
        # They stay until the run ends, which holds them.
        attempt = workers.attempter((SpreadSync if sync else Spread)(work), timeout)
    return lambda _: attempt(args)
