"""What has ended is gone: without waiting for a garbage collection."""

from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path

import pytest

from fanwise import fan_out_stream, open_run


class Thing:
    """An item that can be watched."""


@pytest.mark.parametrize("durable", [False, True])
def test_an_item_whose_outcome_was_read_is_freed_at_once(tmp_path: Path, durable: bool) -> None:
    alive: weakref.WeakSet[Thing] = weakref.WeakSet()
    most = 0

    def things() -> list[Thing]:
        made = [Thing() for _ in range(50)]
        alive.update(made)
        return made

    async def work(thing: Thing) -> int:
        await asyncio.sleep(0)
        return 1

    async def main() -> None:
        nonlocal most
        journal = tmp_path / "journal.db" if durable else ":memory:"
        async with open_run(journal=journal) as run:
            source = things()
            items = (source.pop() for _ in range(50))
            async with fan_out_stream(work, items, cap=1, run=run) as stream:
                async for outcome in stream:
                    most = max(most, len(alive) - len(source))
                    assert outcome.ok

    gc.collect()
    gc.disable()
    try:
        asyncio.run(main())
    finally:
        gc.enable()
    assert most <= 5
