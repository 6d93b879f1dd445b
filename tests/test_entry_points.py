"""The same argument means the same in every entry point, in whichever form it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanwise import Budget, Caps, Halt, Retry, Usage, call, fan_out, fan_out_stream, open_run
from fanwise.errors import ModelRejected, NotOk, UsageError
from fanwise.models import ask
from fanwise.testing import ScriptedModel


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FANWISE_JOURNAL", raising=False)


class Flaky:
    """Fails so many times, and then answers."""

    def __init__(self, times: int, error: Callable[[], Exception] = ValueError) -> None:
        self.left = times
        self.error = error

    async def __call__(self, item: Any = None) -> str:
        await asyncio.sleep(0)
        if self.left:
            self.left -= 1
            raise self.error()
        return "good"


# -- run -----------------------------------------------------------------------------------------


def recorded(run_id: str) -> list[str]:
    with open_run(run_id, resume=True) as run:
        assert run.journal is not None
        return [fan_out.path for fan_out in run.journal.fan_outs(run_id)]


def test_a_run_by_its_id_is_opened_for_the_fan_out_and_gone_on_with() -> None:
    work = Flaky(0)
    first = asyncio.run(fan_out(work, [1, 2], run="monday", name="all"))
    again = asyncio.run(fan_out(work, [1, 2], run="monday", name="all"))

    assert [o.recorded for o in first] == [False, False]
    assert [o.recorded for o in again] == [True, True]
    assert recorded("monday") == ["all"]


def test_a_stream_opens_a_run_by_its_id_too_and_closes_it() -> None:
    async def main(fail: bool) -> list[bool]:
        seen = []
        async with fan_out_stream(Flaky(0), [1, 2], run="monday", name="all") as stream:
            async for outcome in stream:
                seen.append(outcome.recorded)
            if fail:
                raise KeyError("of the caller")
        return seen

    with pytest.raises(KeyError):
        asyncio.run(main(True))
    with open_run("monday", resume=True) as run:
        assert run.journal is not None
        assert run.record is not None
    assert asyncio.run(main(False)) == [True, True]


def test_a_run_that_was_never_entered_is_an_error_and_not_a_fan_out_in_memory() -> None:
    run = open_run("monday")
    with pytest.raises(UsageError, match="'monday' is not open"):
        asyncio.run(fan_out(Flaky(0), [1], run=run))
    with run:
        pass
    with pytest.raises(UsageError, match="'monday' is not open"):
        asyncio.run(fan_out(Flaky(0), [1], run=run))


# -- retry ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("retry", [Retry(1, 0.0), 1])
def test_retry_is_a_retry_or_a_number(retry: Retry | int) -> None:
    async def main() -> list[str]:
        fanned = (await fan_out(Flaky(1), [0], retry=retry)).values()
        called = await call(Flaky(1), retry=retry)
        return [*fanned, called]

    assert asyncio.run(main()) == ["good", "good"]


def test_a_number_of_retries_of_a_model_is_made_where_it_may_help() -> None:
    model = ScriptedModel([ModelRejected("no", provider="acme", model="acme:tiny", status=400)])
    with pytest.raises(ModelRejected):
        asyncio.run(ask(model, "?", retry=3))
    assert len(model.requests) == 1


# -- caps and budget -----------------------------------------------------------------------------


@pytest.mark.parametrize("caps", [Caps(api=2), {"api": 2}])
def test_caps_are_caps_or_a_mapping(caps: Any) -> None:
    outcomes = asyncio.run(fan_out(Flaky(0), range(5), caps=caps, needs=lambda _: "api"))
    assert outcomes.stats.peak["api"] == 2


@pytest.mark.parametrize("budget", [Budget(tokens=25), {"tokens": 25}])
def test_a_budget_is_a_budget_or_a_mapping(budget: Any) -> None:
    async def work(_: int) -> str:
        return await call(Flaky(0), estimate=Usage(tokens=10))

    outcomes = asyncio.run(fan_out(work, range(5), budget=budget))
    assert [o.status for o in outcomes].count("done") == 2


@pytest.mark.parametrize("plain", [True, False])
def test_those_of_a_run_as_well(plain: bool) -> None:
    caps: Any = {"api": 2} if plain else Caps(api=2)
    budget: Any = {"tokens": 25} if plain else Budget(tokens=25)

    async def work(_: int) -> str:
        return await call(Flaky(0), estimate=Usage(tokens=10), needs="api")

    async def main() -> Any:
        async with open_run(journal=":memory:", caps=caps, budget=budget) as run:
            return await fan_out(work, range(5), run=run)

    outcomes = asyncio.run(main())
    assert [o.status for o in outcomes].count("done") == 2
    assert outcomes.stats.peak["api"] == 2


# -- model ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["sim:a?median_s=0.001", {"name": "sim:a?median_s=0.001"}])
def test_a_model_is_a_name_or_a_mapping_and_on_one_loop_the_same_model(model: Any) -> None:
    async def main() -> list[float]:
        return [(await ask(model, "?")).ran_s for _ in range(3)]

    assert len(set(asyncio.run(main()))) == 3, "each time it was another model, asked for the first"


def test_a_model_that_is_none_is_an_error_at_once() -> None:
    nothing: Any = None
    with pytest.raises(UsageError, match="a model is None"):
        asyncio.run(ask(nothing, "?"))
    with pytest.raises(UsageError, match="a model cannot be read"):
        asyncio.run(ask({"nme": "sim:a"}, "?"))


# -- results -------------------------------------------------------------------------------------


async def odd_ones_fail(item: int) -> int:
    if item % 2:
        raise ValueError(f"{item} is odd")
    return item


def test_outcomes_are_ok_if_all_items_are_done() -> None:
    outcomes = asyncio.run(fan_out(odd_ones_fail, [0, 2], run="monday"))
    assert (outcomes.ok, outcomes.run_id, outcomes.failures) == (True, "monday", [])
    assert outcomes.require() is outcomes


def test_outcomes_that_are_not_ok_say_so_and_why() -> None:
    outcomes = asyncio.run(fan_out(odd_ones_fail, range(4)))
    assert (outcomes.ok, outcomes.run_id) == (False, None)
    assert [outcome.index for outcome in outcomes.failures] == [1, 3]
    with pytest.raises(NotOk, match="2 of 4 items failed; the first: 1: ValueError: 1 is odd") as e:
        outcomes.require()
    assert e.value.result is outcomes
    assert isinstance(e.value.__cause__, ValueError)


def test_a_halt_that_was_asked_for_is_ok_and_one_from_outside_is_not() -> None:
    async def main() -> tuple[bool, bool]:
        when = await fan_out(odd_ones_fail, [0, 2, 4], halt=Halt.when(lambda o: o.value == 2))
        async with open_run(journal=":memory:") as run:
            run.halt()
            return when.ok, (await fan_out(odd_ones_fail, [0], run=run)).ok

    assert asyncio.run(main()) == (True, False)


@pytest.mark.parametrize(("items", "ok"), [([1, 2, 3], True), ([1, 3], False), ([], False)])
def test_where_one_success_is_wanted_it_decides(items: list[int], ok: bool) -> None:
    outcomes = asyncio.run(fan_out(odd_ones_fail, items, halt=Halt.on_success()))
    assert outcomes.ok is ok
