"""What has ended is gone: read outcomes at once, errors and all when the outcomes are dropped."""

from __future__ import annotations

import asyncio
import gc
import importlib
import weakref
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest

import fanwise
from fanwise import Halt, Retry, call, fan_out, fan_out_stream, open_run
from fanwise.kernel.run import Run
from fanwise.kernel.scope import current
from fanwise.testing import run_virtual


class Thing:
    """An item that can be watched."""


class Alive:
    """Who has not been freed: items, and the engines that worked on them."""

    def __init__(self) -> None:
        self.things: weakref.WeakSet[Thing] = weakref.WeakSet()
        self.engines: weakref.WeakSet[Any] = weakref.WeakSet()

    def make(self, count: int) -> Iterator[Thing]:
        for _ in range(count):
            thing = Thing()
            self.things.add(thing)
            yield thing

    def inside(self) -> None:
        """To be called in the work: keep an eye on whoever runs it."""
        entry = current.get()
        assert entry is not None
        self.engines.add(entry.engine)

    @property
    def count(self) -> tuple[int, int]:
        return len(self.things), len(self.engines)


class Boom(Exception):
    pass


Case = Callable[[Alive, Run], Awaitable[Any]]


async def failed(alive: Alive, run: Run) -> Any:
    async def work(thing: Thing) -> None:
        alive.inside()
        raise Boom

    outcomes = await fan_out(work, alive.make(20), run=run)
    assert len(outcomes.failures) == 20


async def failed_in_threads(alive: Alive, run: Run) -> Any:
    def work(thing: Thing) -> None:
        alive.inside()
        raise Boom

    outcomes = await fan_out(work, alive.make(20), run=run)
    assert len(outcomes.failures) == 20


async def retried(alive: Alive, run: Run) -> Any:
    tried: set[int] = set()

    async def work(thing: Thing) -> None:
        alive.inside()
        if id(thing) not in tried:
            tried.add(id(thing))
            raise Boom

    things = list(alive.make(20))  # all at once: an id is not used twice
    outcomes = await fan_out(work, things, run=run, retry=Retry(2, base_s=1.0))
    assert [len(o.attempts) for o in outcomes] == [2] * 20


async def timed_out(alive: Alive, run: Run) -> Any:
    async def work(thing: Thing) -> None:
        alive.inside()
        await asyncio.sleep(1_000)

    outcomes = await fan_out(work, alive.make(20), run=run, timeout=1.0, retry=Retry(2))
    assert len(outcomes.failures) == 20


async def cancelled(alive: Alive, run: Run) -> Any:
    async def work(thing: Thing) -> None:
        alive.inside()
        await asyncio.sleep(1_000 - len(alive.things))
        raise Boom

    outcomes = await fan_out(work, alive.make(20), cap=20, run=run, halt=Halt.on_failure())
    assert outcomes.discarded


async def cancelled_from_outside(alive: Alive, run: Run) -> Any:
    async def work(thing: Thing) -> None:
        alive.inside()
        await asyncio.sleep(1_000)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await fan_out(work, alive.make(20), run=run)


async def nested(alive: Alive, run: Run) -> Any:
    async def leaf(thing: Thing) -> None:
        alive.inside()
        raise Boom

    async def work(thing: Thing) -> None:
        alive.inside()
        (await fan_out(leaf, alive.make(3))).values()

    outcomes = await fan_out(work, alive.make(5), run=run, retry=Retry(2))
    assert len(outcomes.failures) == 5


async def failing_calls(alive: Alive, run: Run) -> Any:
    async def ask(thing: Thing) -> None:
        raise Boom

    async def work(thing: Thing) -> None:
        alive.inside()
        await call(ask, thing, retry=Retry(2))

    outcomes = await fan_out(work, alive.make(20), run=run)
    assert len(outcomes.failures) == 20


CASES: list[Case] = [
    failed, failed_in_threads, retried, timed_out, cancelled, cancelled_from_outside, nested,
    failing_calls,
]  # fmt: skip


@pytest.mark.parametrize("durable", [False, True], ids=["in memory", "durable"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_what_failed_is_freed_with_its_outcomes(tmp_path: Path, case: Case, durable: bool) -> None:
    alive = Alive()

    async def main() -> None:
        journal = tmp_path / "journal.db" if durable else ":memory:"
        async with open_run("r", journal=journal) as run:
            await case(alive, run)
            assert alive.engines, "nobody was watched"
        # Not before: the journal's thread tells of a write a moment before it lets go of it.
        gc.collect()
        assert alive.count == (0, 0)

    run_virtual(main())


PLAIN = (str, int, float, bool, bytes, type(None))


def test_only_what_can_hold_no_cycle_is_hidden_from_the_garbage_collector() -> None:
    """A struct with `gc=False` that holds an error, or anything, keeps it for ever."""
    hidden = list(_hidden_structs(Path(fanwise.__file__).parent))
    assert hidden
    for cls in hidden:
        for name, kind in get_type_hints(cls).items():
            assert _is_plain(kind), f"{cls.__name__}.{name} is {kind}: it may hold a cycle"


def _hidden_structs(package: Path) -> Iterator[type[msgspec.Struct]]:
    for path in package.rglob("*.py"):
        if "gc=False" in path.read_text():
            parts = path.relative_to(package.parent).with_suffix("").parts
            module = importlib.import_module(".".join(parts))
            structs = [cls for cls in vars(module).values() if _is_struct(cls)]
            yield from (cls for cls in structs if not cls.__struct_config__.gc)


def _is_struct(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, msgspec.Struct)


def _is_plain(kind: Any) -> bool:
    if kind in PLAIN or get_origin(kind) is Literal:
        return True
    if _is_struct(kind):
        return not kind.__struct_config__.gc
    members = [arg for arg in get_args(kind) if arg is not ...]
    if hasattr(kind, "_fields"):  # a named tuple
        members = list(get_type_hints(kind).values())
    return bool(members) and all(map(_is_plain, members))


async def succeed(thing: Thing) -> int:
    await asyncio.sleep(0)
    return 1


async def fail(thing: Thing) -> int:
    await asyncio.sleep(0)
    raise Boom


@pytest.mark.parametrize("timeout", [None, 60.0])
@pytest.mark.parametrize("work", [succeed, fail])
@pytest.mark.parametrize("durable", [False, True])
def test_an_item_whose_outcome_was_read_is_freed_at_once(
    tmp_path: Path, durable: bool, work: Callable[[Thing], Awaitable[int]], timeout: float | None
) -> None:
    alive: weakref.WeakSet[Thing] = weakref.WeakSet()
    most = 0

    def things() -> list[Thing]:
        made = [Thing() for _ in range(50)]
        alive.update(made)
        return made

    async def main() -> None:
        nonlocal most
        journal = tmp_path / "journal.db" if durable else ":memory:"
        async with open_run(journal=journal) as run:
            source = things()
            items = (source.pop() for _ in range(50))
            retry = Retry(2, base_s=0.0)
            async with fan_out_stream(
                work, items, cap=1, run=run, retry=retry, timeout=timeout
            ) as stream:
                async for outcome in stream:
                    most = max(most, len(alive) - len(source))
                    assert outcome.ok == (work is succeed)

    gc.collect()
    gc.disable()
    try:
        asyncio.run(main())
    finally:
        gc.enable()
    assert most <= 5
