"""`fan_out` and `fan_out_sync`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Any, TypeVar, Unpack, overload

from fanwise.core.budget import BudgetLike
from fanwise.core.caps import CapsLike, Needs
from fanwise.core.halt import Halt
from fanwise.core.outcome import Outcome, Outcomes
from fanwise.core.retry import Retry, RetryLike
from fanwise.core.stats import Stats
from fanwise.errors import ItemsError
from fanwise.kernel.home import home
from fanwise.kernel.run import RunLike, run_of
from fanwise.kernel.setup import FanOut, FanOutOptions, Items, Work
from fanwise.kernel.sync import sync_twin
from fanwise.kernel.workers import On, workers_of
from fanwise.processes import Command, CommandResult

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")


@overload
async def fan_out(
    work: Command, items: Items[I], **options: Unpack[FanOutOptions[I]]
) -> Outcomes[CommandResult]: ...
@overload
async def fan_out(
    work: Callable[[I], Awaitable[T]], items: Items[I], **options: Unpack[FanOutOptions[I]]
) -> Outcomes[T]: ...
@overload
async def fan_out(
    work: Callable[[I], T], items: Items[I], **options: Unpack[FanOutOptions[I]]
) -> Outcomes[T]: ...
async def fan_out(
    work: Work[I, Any],
    items: Items[I],
    *,
    cap: int = 10,
    caps: CapsLike | None = None,
    needs: Callable[[I], Needs] | None = None,
    halt: Halt = Halt.never(),  # noqa: B008 - frozen
    retry: RetryLike = Retry.none(),  # noqa: B008
    timeout: float | None = None,
    key: Callable[[I], str] | None = None,
    run: RunLike | None = None,
    name: str | None = None,
    budget: BudgetLike | None = None,
    reuse: Callable[[I, Outcome[Any]], bool] | None = None,
    record: bool = True,
    on: On | None = None,
) -> Outcomes[Any]:
    """Work on every item, at most `cap` at once, and return all outcomes in item order.

    `work`: an async function, a sync one (it runs in a thread) or a `Command`. `items`: any
    iterable or async iterable, pulled lazily. `caps` (a `Caps` or a mapping) and `needs`: named
    caps, in addition to those around, and which of them an item needs. `halt`: when to start
    nothing more. `retry` (a `Retry` or a number of extra attempts) and `timeout`: for each item and
    attempt. `key`: an item's identity across resumes; default: its index. `run`: a durable run from
    `open_run`, or an id, which is opened in the default journal; default: the run of the item
    around, or none. `name`: its name in the run. `budget` (a `Budget` or a mapping): for the calls
    inside, in addition to the budgets around it and the run's. In a durable run it includes what
    earlier executions of this fan-out spent. `reuse`: whether the recorded outcome of an item is
    still valid; if not, the item runs again, and so does what had failed inside it. Default: all
    recorded outcomes are valid, except failures of an earlier attempt of the item around.
    `record=False`: do not record the items of a durable run, only what they fan out themselves;
    such items run again on a resume. `on`: where attempts run, such as `Ray()`; default: where the
    run's do, or in this process.
    """
    if (driver := home.get()) is not None and on is None:
        options = {
            "cap": cap, "caps": caps, "needs": needs, "halt": halt, "retry": retry,
            "timeout": timeout, "key": key, "run": run, "name": name, "budget": budget,
            "reuse": reuse, "record": record,
        }  # fmt: skip
        return await driver.fan_out(work, items, options)
    got: list[Outcome[Any]] = []
    async with run_of(run) as found, workers_of(on, found) as workers:
        one: FanOut[I, Any] = FanOut(
            got.append, work, items, cap=cap, caps=caps, needs=needs, halt=halt, retry=retry,
            timeout=timeout, key=key, run=found, name=name, budget=budget, reuse=reuse,
            record=record, workers=workers,
        )  # fmt: skip
        one.begin()
        try:
            await one.engine.run()
        finally:
            stats = one.end()
        return _assemble(one, got, stats)


def _assemble(one: FanOut[Any, T], got: list[Outcome[T]], stats: Stats) -> Outcomes[T]:
    engine, schedule = one.engine, one.engine.schedule
    by = schedule.halted_by
    kind = schedule.halt.kind
    got.sort(key=attrgetter("index"))
    halting = None if by is None else next((each for each in got if each.index == by), None)
    cut = len(got) if by is None or kind == "fastest" else by + 1
    discarded = [outcome for outcome in got[cut:] if outcome.status != "skipped"]
    del got[cut:]
    outcomes = Outcomes(
        got,
        stats,
        halted_by=halting,
        halt_reason=engine.halt_reason,
        winner=halting if kind in ("success", "fastest") else None,
        discarded=discarded,
        one_wins=kind in ("success", "fastest"),
        run_id=None if one.run is None else one.run.durable_id,
    )
    if (problem := engine.intake.problem) is not None:
        raise ItemsError(engine.intake.pulled, outcomes) from problem
    return outcomes


fan_out_sync = sync_twin(fan_out)
