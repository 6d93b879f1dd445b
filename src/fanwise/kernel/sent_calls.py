"""Calls and commands whose attempts are made by the workers of the run around.

An item of a system stays with the driver, because its code holds the system's state. What it
performs travels: model calls and commands.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from fanwise.kernel.scope import current

if TYPE_CHECKING:
    from fanwise.kernel.work import Attempter


class Spread:
    """A function that takes its arguments as one item, so that they can be sent."""

    def __init__(self, work: Callable[..., Awaitable[Any]]) -> None:
        self._work = work

    async def __call__(self, args: tuple[Any, ...]) -> Any:
        return await self._work(*args)


async def sent_to_workers(
    work: Callable[..., Awaitable[Any]], args: tuple[Any, ...], timeout: float | None
) -> Attempter | None:
    """What performs `work(*args)` on the workers of the run around; None: it has none."""
    around = current.get()
    run = None if around is None else around.fan_out.run
    if run is None or run.on is None:
        return None
    async with run.on.workers() as workers:
        # They stay until the run ends, which holds them.
        attempt = workers.attempter(Spread(work), timeout)
    return lambda _: attempt(args)
