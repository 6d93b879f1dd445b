"""Recorded calls, to be made again: for benchmarks.

::

    from fanwise_child.replay import calls

    function, fresh = calls(how)        # how: {"path", "module", "file", "name", "calls"}
    for args, kwargs in fresh():        # a new copy of the arguments of each call, every time
        function(*args, **kwargs)

Arguments that a call has changed are never given to another one. What is lazy runs only when
somebody asks: `exhaust` makes a generator or a coroutine do its work.
"""

from __future__ import annotations

import inspect
import json
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .finding import find
from .kinds import Stream
from .pack import load_call

Arguments = tuple[list[Any], dict[str, Any]]


def calls(how: dict[str, Any]) -> tuple[Callable[..., Any], Callable[[], Iterator[Arguments]]]:
    """The function, and what yields fresh arguments for one round of its recorded calls."""
    found = find(how)
    rows = [json.loads(line) for line in Path(how["calls"]).read_text().splitlines()]

    def fresh() -> Iterator[Arguments]:
        for row in rows:
            args, kwargs = load_call(row)
            yield opened(args), kwargs

    return found.own, fresh


def opened(args: list[Any]) -> list[Any]:
    """The arguments with generators where streams stand for them."""
    return [each.open() if isinstance(each, Stream) else each for each in args]


def exhaust(value: Any, most: int = 1_000_000) -> Any:
    """Let what is lazy do its work; return what is not lazy as it is."""
    if inspect.iscoroutine(value):
        return _run(value)
    if inspect.isasyncgen(value):
        return _run(_collect(value, most))
    if inspect.isgenerator(value):
        deque((each for each, _ in zip(value, range(most), strict=False)), maxlen=0)
    return value


def _run(work: Any) -> Any:
    import asyncio  # most have no use for it, and it takes long

    return asyncio.run(work)


async def _collect(value: Any, most: int) -> None:
    count = 0
    async for _ in value:
        count += 1
        if count >= most:
            return
