"""What pages were read lately: what takes long to read is read less often, and never too late."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

RESTS = 6
"""Reading one page again and again takes at most one part in seven of a core."""
MOST = 40


class KeptRead(NamedTuple):
    """What was read, and until when it is not read again."""

    found: Any
    read_at: float
    rests_until: float


class KeptReads:
    """By name, for the pages that somebody looks at."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, KeptRead] = OrderedDict()

    def last(self, name: str) -> Any:
        """What was read last, however old; None: nothing."""
        kept = self._kept.get(name)
        return None if kept is None else kept.found

    async def read(self, name: str, read: Callable[[], Awaitable[Any]], *, fresh: bool) -> Any:
        """Read it, or take what is known.

        `fresh`: as of now or later, so that nobody misses the last change; else as of lately.
        """
        arrived = time.monotonic()
        while (known := self._kept.get(name)) is not None:
            if known.read_at >= arrived or (not fresh and known.rests_until > arrived):
                return known.found
            if (rest := known.rests_until - time.monotonic()) <= 0:
                break
            await asyncio.sleep(rest)
        began = time.monotonic()
        found = await read()
        ended = time.monotonic()
        self._kept[name] = KeptRead(found, began, ended + RESTS * (ended - began))
        self._kept.move_to_end(name)
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)
        return found
