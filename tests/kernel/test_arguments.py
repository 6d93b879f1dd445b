"""Bad arguments are errors of our own, at once: nothing runs, nothing is written."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fanwise import Caps, FanwiseError, Retry, fan_out_stream, fan_out_sync, open_run
from fanwise.errors import BadCap, UnknownCap, UsageError


async def never(item: int) -> None:
    pytest.fail("it ran")


@pytest.mark.parametrize("cap", [0, -1, "x", 1.5, None, True])
def test_a_cap_that_is_not_a_positive_number(cap: Any) -> None:
    with pytest.raises(BadCap, match="at least 1") as caught:
        fan_out_sync(never, [1], cap=cap)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, FanwiseError)


@pytest.mark.parametrize(
    "bad",
    [
        {"caps": 5}, {"caps": {"caps": 0}}, {"caps": {5: 1}}, {"halt": "failure"}, {"retry": "3"},
        {"retry": -1}, {"retry": True}, {"retry": None}, {"timeout": 0}, {"timeout": -1},
        {"timeout": "5"}, {"timeout": True}, {"run": 5}, {"run": "not a run's id"}, {"name": 5},
        {"run": open_run("never-entered")}, {"budget": 5}, {"budget": {"eur": 5}},
        {"budget": {"usd": "5"}}, {"budget": {}},
    ],
)  # fmt: skip
def test_an_argument_of_the_wrong_kind_is_named(bad: dict[str, Any]) -> None:
    [name] = bad
    with pytest.raises(UsageError, match="cap" if name == "caps" else name) as caught:
        fan_out_sync(never, [1], **bad)
    assert caught.value.next_step


@pytest.mark.parametrize("work", [None, 5, "echo {}"])
def test_work_that_cannot_be_called(work: Any) -> None:
    with pytest.raises(UsageError, match="Give a function"):
        fan_out_sync(work, [1])


def test_an_unknown_cap_in_needs() -> None:
    with pytest.raises(UnknownCap, match="Did you mean 'gpu'"):
        fan_out_sync(never, [1], caps=Caps(gpu=1), needs=lambda _: "gpv")
    with pytest.raises(UnknownCap, match="pass caps="):
        fan_out_sync(never, [1], needs=lambda _: "gpu")


def test_needs_and_keys_of_the_wrong_type() -> None:
    bad: Any = lambda _: 5  # noqa: E731
    with pytest.raises(UsageError, match="needs gave 5"):
        fan_out_sync(never, [1], caps=Caps(gpu=1), needs=bad)
    with pytest.raises(UsageError, match="key gave int, not a str"):
        fan_out_sync(never, [1], key=bad)


def test_the_sync_form_inside_a_loop_says_what_to_use() -> None:
    async def main() -> None:
        with pytest.raises(UsageError, match="without `_sync`"):
            fan_out_sync(never, [1])

    asyncio.run(main())


def test_a_stream_is_opened_once_and_read_while_it_is_open() -> None:
    async def main() -> None:
        stream = fan_out_stream(lambda n: 2 * n, [1], ordered=True)
        with pytest.raises(UsageError, match="async with"):
            await anext(stream)
        async with stream:
            assert [outcome.value async for outcome in stream] == [2]
        with pytest.raises(UsageError, match="used before"):
            await stream.__aenter__()

    asyncio.run(main())


def test_a_stream_refuses_the_same_arguments() -> None:
    async def main() -> None:
        with pytest.raises(BadCap):
            async with fan_out_stream(never, [1], cap=0):
                pytest.fail("it began")

    asyncio.run(main())


def test_no_items_is_no_error() -> None:
    outcomes = fan_out_sync(never, [])
    assert list(outcomes) == []
    assert outcomes.values() == []
    assert outcomes.stats.efficiency == 1.0


def test_items_that_are_none_subscribers_that_are_none_and_other_slips() -> None:
    five: Any = 5
    with pytest.raises(UsageError, match="items is a int"):
        fan_out_sync(never, five)
    with pytest.raises(UsageError, match="subscribers"):
        open_run(subscribers=five)
    wrong: Any
    for wrong in (five, never):
        with pytest.raises(UsageError, match="not async"):
            open_run(subscribers=[wrong])
    with pytest.raises(UsageError, match="on of Retry"):
        Retry(2, on=[ValueError])  # type: ignore[arg-type]


def test_work_that_yields_is_an_error_and_not_a_value_that_nobody_reads() -> None:
    async def asynchronous(item: int) -> Any:
        yield item

    def synchronous(item: int) -> Any:
        yield item

    for work in (asynchronous, synchronous):
        with pytest.raises(UsageError, match="work is a generator"):
            fan_out_sync(work, [1])
