"""One sampling, from the first question to the sample that is chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec
from msgspec.structs import replace

from fanwise.core.caps import whole
from fanwise.core.outcome import Outcome
from fanwise.core.stats import Stats
from fanwise.errors import DeadlinePassed, FanwiseError, SamplingFailed, one_line
from fanwise.kernel.driver import Driver
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.run import Run
from fanwise.kernel.scope import current_run, failures_run_again
from fanwise.kernel.workers import HERE
from fanwise.sampling.run.hooks import LoopStart, call_hook
from fanwise.sampling.run.setup import SampleSetup, digest
from fanwise.sampling.run.work import SampleWork
from fanwise.sampling.state.result import SampleResult, total
from fanwise.sampling.state.sampling_state import SampleItem, SamplingState
from fanwise.sampling.views.progress_bar import ProgressBar

FAN_OUT = "samples"


async def run_sampling(setup: SampleSetup, run: Run | None, name: str | None) -> SampleResult:
    """In memory, or as an item of a run: its result is then recorded, and not computed again.

    Where failures run again, one without a valid sample counts as failed: all is sampled again.
    """
    if run is None and current_run() is None:
        return await _sample(setup)
    fresh: list[SampleResult] = []
    again, anew = failures_run_again(run), False

    def counts(_: int, recorded: Outcome[Any]) -> bool:
        nonlocal anew
        anew = again and recorded.ok and not recorded.unwrap()["ok"]
        return not again or (recorded.ok and not anew)

    async def work(_: int) -> dict[str, Any]:
        result = await _sample(replace(setup, anew=anew))
        fresh.append(result)
        measured = {"totals": result.totals, "stats": result.stats}
        return {**result.to_json(), **msgspec.to_builtins(measured)}

    outcomes = await fan_out(
        work,
        [0],
        run=run,
        name=name,
        key=lambda _: digest(setup),
        caps=setup.caps,
        budget=setup.budget,
        reuse=counts,
        on=HERE,
    )
    if not outcomes:
        raise FanwiseError("the run is halting, so nothing was sampled", "Resume it")
    value = outcomes[0].unwrap()
    found = fresh[0] if fresh else SampleResult.from_json(value)
    return replace(found, run_id=outcomes.run_id, type_=setup.type_)


async def _sample(setup: SampleSetup) -> SampleResult:
    try:
        result = await _result_of(setup)
    except BaseException as error:
        await call_hook(setup.hooks.end, error)
        raise
    await call_hook(setup.hooks.end, result)
    return result


async def _result_of(setup: SampleSetup) -> SampleResult:
    start = LoopStart(setup.turn.request, setup.loop_budget, setup.concurrency_budget)
    await call_hook(setup.hooks.start, start)
    whole("loop_budget", start.loop_budget)
    strategy, depth = setup.strategy.within(start.loop_budget)
    setup = replace(
        setup, strategy=strategy, loop_budget=depth, concurrency_budget=start.concurrency_budget
    )
    clock = asyncio.get_running_loop().time
    began = clock()
    state = SamplingState(
        setup.turn,
        setup.strategy,
        loop_budget=setup.loop_budget,
        concurrency_budget=setup.concurrency_budget,
        winner=setup.winner,
    )
    stats = await _drive(setup, state)
    return _result(setup, state, clock() - began, stats)


async def _drive(setup: SampleSetup, state: SamplingState) -> Stats:
    most = setup.loop_budget * setup.concurrency_budget
    with ProgressBar(most, len(setup.requirements), wanted=setup.progress) as bar:

        async def after(item: SampleItem, outcome: Outcome[Any]) -> None:
            await _tell_iteration(setup, state, item, outcome)
            bar.show(state.samples.values())

        driver = Driver(
            state,
            SampleWork(setup, state),
            after=after,
            reuse=(lambda _, __: False) if setup.anew else None,
            cap=setup.concurrency_budget,
            caps=setup.caps,
            budget=setup.budget,
            name=FAN_OUT,
        )
        try:
            async with asyncio.timeout(setup.deadline) as limit:
                await driver.run()
        except TimeoutError:
            if not limit.expired() or setup.deadline is None:
                raise
            state.fail(DeadlinePassed(setup.deadline))
    for item, outcome in driver.late:
        state.take_late(item, outcome)
        await _tell_iteration(setup, state, item, outcome)
    return driver.stats or Stats()


async def _tell_iteration(
    setup: SampleSetup, state: SamplingState, item: SampleItem, outcome: Outcome[Any]
) -> None:
    if item.kind == "check" and outcome.ok:
        await call_hook(setup.hooks.iteration, state.samples[item.slot.id])


def _result(
    setup: SampleSetup, state: SamplingState, elapsed_s: float, stats: Stats
) -> SampleResult:
    samples = tuple(state.samples[id_] for id_ in sorted(state.samples))
    if not samples:
        _raise_errors(state.errors, setup.concurrency_budget)
    chosen = state.chosen()
    work_s = sum(each.reply.ran_s + (each.checked_s or 0.0) for each in samples)
    return SampleResult(
        ok=chosen.valid,
        sample=chosen,
        samples=samples,
        errors=state.errors,
        seed=setup.seed,
        loop_budget=setup.loop_budget,
        concurrency_budget=setup.concurrency_budget,
        totals=total(state.attempts, len(samples), elapsed_s, work_s),
        stats=stats,
        type_=setup.type_,
    )


def _raise_errors(errors: Sequence[BaseException], chains: int) -> NoReturn:
    """There is no sample: of one chain its own error comes out, of several all of them."""
    if chains == 1:
        raise errors[-1] from (errors[-2] if len(errors) > 1 else None)
    reasons = [*dict.fromkeys(map(one_line, errors))]
    what = f"all {chains} chains failed, and there is no sample: {'; '.join(reasons)}"
    raise SamplingFailed(what, reasons) from BaseExceptionGroup("errors of the chains", errors)
