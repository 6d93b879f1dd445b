"""What other runners of matrices get wrong, by number as in the list that this was built from.

Each is a measured fault of a pool with semaphores, of Inspect AI, promptfoo or lm-eval; each test
fails with an implementation that has the fault.
"""

from __future__ import annotations

import asyncio
import sqlite3
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fanwise import Rate, Retry
from fanwise.errors import ModelOverloaded, ModelRateLimited
from fanwise.matrix import Matrix, MatrixResult, Subject, run_matrix, run_matrix_sync
from fanwise.models import ask
from fanwise.models.names import Price
from fanwise.testing import Answer, ScriptedModel, ScriptedServer, virtual_time
from tests.cli.support import Place
from tests.cli.test_sample import command, serving
from tests.models.support import model_of, run

SAY = {"say": "{{ input.id }}"}
Script = Callable[[str], Awaitable[Any]]


def scripted(script: Script, name: str = "p:m", price: Price | None = None) -> ScriptedModel:
    """A model that is given the last message's text."""
    return ScriptedModel(
        lambda request: script(request.messages[-1].content), name=name, price=price
    )


def inputs(count: int) -> list[dict[str, str]]:
    return [{"id": f"i{number}"} for number in range(count)]


def matrix(*models: Any, count: int = 4, **fields: Any) -> Matrix:
    return Matrix(models=models, inputs=inputs(count), **{"prompts": SAY, **fields})


def rows(journal: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(journal)) as connection:
        return connection.execute(sql).fetchall()


def by_input(result: MatrixResult) -> dict[str, Any]:
    return {each.cell.input: each for each in result.cells}


@virtual_time
async def test_1_cells_grouped_by_provider_take_what_the_caps_allow_and_no_more() -> None:
    """A pool that takes cells in their order works on one provider at a time: 4.68 x the bound."""
    cap, count = 4, 200
    seconds: dict[str, float] = dict.fromkeys((f"p{number}:m" for number in range(5)), 0.0)

    def slow(name: str) -> ScriptedModel:
        chance = Random(name)

        async def script(_: str) -> str:
            latency = chance.lognormvariate(0, 0.5)
            seconds[name] += latency
            await asyncio.sleep(latency)
            return "yes"

        return scripted(script, name)

    made = matrix(*map(slow, seconds), count=count, caps={f"p{n}": cap for n in range(5)})
    assert [cell.provider for cell in made.cells][:count] == ["p0"] * count
    began = asyncio.get_running_loop().time()
    result = await run_matrix(made)
    took = asyncio.get_running_loop().time() - began
    assert len(result.cells) == 5 * count
    assert took <= 1.05 * max(seconds.values()) / cap


def test_2_a_cancel_ends_what_is_in_flight_and_all_that_was_made_is_recorded(
    tmp_path: Path,
) -> None:
    """Ctrl-C that does not cancel: 2,000 calls made, 180 recorded."""
    journal = tmp_path / "j.db"

    async def main() -> None:
        async def script(_: str) -> str:
            if len(model.requests) > 180:
                model.gate.close()
            return "yes"

        model = scripted(script)
        made = matrix(model, count=2_000, caps={"p": 8})
        running = asyncio.create_task(run_matrix(made, run="r", journal=journal))
        await model.gate.held(8)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (model.in_flight, model.cancelled) == (0, 8)
        calls = len(model.requests)
        assert calls < 200
        done = "FROM cells WHERE run = 'r' AND status = 'done'"
        assert rows(journal, f"SELECT count(*) {done}") == [(calls - 8,)]
        assert rows(journal, "SELECT count(*) FROM calls") == [(calls,)]
        assert rows(journal, "SELECT count(*) FROM calls WHERE error IS NOT NULL") == [(8,)]

    run(main())


@virtual_time
async def test_3_the_time_of_a_call_has_no_backoff_in_it_and_no_permit_is_held_meanwhile() -> None:
    tries: Counter[str] = Counter()

    async def script(text: str) -> Any:
        tries[text] += 1
        await asyncio.sleep(tries[text])  # 1 s, then 2 s
        return "yes" if tries[text] > 1 else ModelRateLimited("busy", retry_after=30)

    began = asyncio.get_running_loop().time()
    result = await run_matrix(matrix(scripted(script), count=2, caps={"p": 1}))
    took = asyncio.get_running_loop().time() - began
    for cell in result.cells:
        assert (cell.calls, cell.ran_s) == (2, 3.0)
        assert cell.backoff_s == pytest.approx(30, rel=0.5) and cell.backoff_s >= 30
    # Both back off at once; with the permit held it would be twice 33 s.
    assert took < 60


def test_3_an_sdk_makes_no_attempts_of_its_own() -> None:
    async def main() -> None:
        script: list[Answer | str] = [Answer(status=500), Answer(status=429, retry_after=0), "yes"]
        async with ScriptedServer(script) as server:
            made = matrix(model_of(server), count=1, retry=Retry(2, 0.001))
            (cell,) = (await run_matrix(made)).cells
            assert cell.status == "done"
            assert cell.calls == len(server.requests) == 3

    run(main())


@virtual_time
async def test_4_a_permit_covers_a_call_and_not_a_cell() -> None:
    """The first cell waits between its two calls until the others are through, with one permit."""
    others = asyncio.Event()
    order: list[str] = []

    async def script(text: str) -> str:
        order.append(text)
        await asyncio.sleep(1)
        return "yes"

    async def twice(subject: Subject) -> str:
        assert subject.model is not None
        await ask(subject.model, f"{subject.cell.input} one")
        if subject.cell.input == "i0":
            await asyncio.wait_for(others.wait(), 100)
        await ask(subject.model, f"{subject.cell.input} two")
        if order.count("i1 two"):
            others.set()
        return "done"

    made = matrix(scripted(script), count=2, prompts={"twice": twice}, caps={"p": 1})
    result = await run_matrix(made)
    assert result.failures == []
    assert order[-1] == "i0 two"


@virtual_time
async def test_4_another_cell_goes_ahead_between_two_steps() -> None:
    order: list[str] = []

    async def script(text: str) -> str:
        order.append(text)
        await asyncio.sleep(1)
        return "yes"

    steps = [
        {"name": "one", "prompt": "{{ input.id }} one"},
        {"name": "two", "prompt": "{{ input.id }} two"},
    ]
    made = matrix(scripted(script), prompts={"both": {"steps": steps}}, caps={"p": 1})
    result = await run_matrix(made)
    assert result.failures == []
    first = order[0].split()[0]
    assert order[1].split()[0] != first  # not the second step of the same cell
    assert all(order.index(f"i{n} one") < order.index(f"i{n} two") for n in range(4))


def test_5_a_crash_between_a_call_and_its_row_leaves_a_row_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    (place.path / "m.yaml").write_text(
        "matrix:\n"
        "  models: openai:gpt-5-mini\n  inputs: [{id: a}, {id: b}]\n"
        "  prompts: {say: {prompt: '{{ input.id }}'}}\n"
        "  caps: {openai: 1}\n"
    )
    journal = place.path / ".fanwise" / "journal.db"

    async def main(server: ScriptedServer) -> None:
        crashed = await asyncio.to_thread(
            place.run, "run", "m.yaml", "--run", "r", FANWISE_CRASH_AT="item.worked"
        )
        assert crashed.returncode == -9
        assert len(server.requests) >= 1
        begun = rows(journal, "SELECT count(*) FROM items WHERE status = 'started'")[0][0]
        assert begun >= len(server.requests)
        shown = await command(place, "resume", "r", "--json")
        assert shown.returncode == 0, shown.stderr
        assert rows(journal, "SELECT input, status FROM cells ORDER BY input") == [
            ("a", "done"),
            ("b", "done"),
        ]
        again = rows(journal, "SELECT count(*) FROM items WHERE starts > 1")[0][0]
        assert again == begun  # which of them may have run twice is known

    serving(lambda _: "yes", main, monkeypatch)


def test_6_an_edited_prompt_is_another_cell_and_results_do_not_mix(tmp_path: Path) -> None:
    async def echo(text: str) -> str:
        return text

    model = scripted(echo)
    old = {"one": "A {{ input.id }}", "two": "B {{ input.id }}"}
    new = {**old, "one": "C {{ input.id }}"}
    before, after = (matrix(model, prompts=each) for each in (old, new))
    keys = [{c.key for c in made.cells if c.strategy == "one"} for made in (before, after)]
    assert not keys[0] & keys[1]
    same = [{c.key for c in made.cells if c.strategy == "two"} for made in (before, after)]
    assert same[0] == same[1] and len(same[0]) == 4
    assert len({cell.key for cell in before.cells}) == len(before.cells)
    run_matrix_sync(before, run="r", journal=tmp_path / "j.db")
    found = run_matrix_sync(after, run="r", journal=tmp_path / "j.db")
    assert len(model.requests) == 12
    assert {each.answer["text"][0] for each in found.cells if each.answer} == {"B", "C"}


def test_7_a_failed_call_has_its_tokens_and_its_cost(tmp_path: Path) -> None:
    async def wrong(_: str) -> str:
        return "may be so"

    model = scripted(wrong, price=Price(1_000_000, 2_000_000))
    strategies = {"say": {"prompt": "Is it {{ input.id }} ?", "schema": {"enum": ["yes", "no"]}}}
    made = matrix(model, count=2, prompts=strategies)
    result = run_matrix_sync(made, run="r", journal=tmp_path / "j.db")
    assert len(result.failures) == 2
    for cell in result.cells:
        assert (cell.input_tokens, cell.output_tokens, cell.usd) == (4, 3, 4 * 1 + 3 * 2)
    found = "SELECT status, input_tokens, output_tokens, usd FROM cells"
    assert rows(tmp_path / "j.db", found) == [("failed", 4, 3, 10.0)] * 2


@virtual_time
async def test_8_each_provider_has_its_own_cap() -> None:
    async def script(_: str) -> str:
        await asyncio.sleep(1)
        return "yes"

    models = [scripted(script, "p:m"), scripted(script, "q:m"), scripted(script, "r:m")]
    await run_matrix(matrix(*models, count=40, caps={"p": 2, "q": 5}))
    assert [model.most_in_flight for model in models] == [2, 5, 40]


@virtual_time
async def test_8_no_minute_has_more_requests_than_the_rate_allows() -> None:
    asked = await _asked_at(count=150, words=1, rate=Rate(requests=60))
    assert _most_in_a_minute(asked) <= 60
    assert asked[-1] - asked[0] < 180  # and not much slower either


@virtual_time
async def test_8_no_minute_has_more_tokens_than_the_rate_allows() -> None:
    asked = await _asked_at(count=90, words=99, rate=Rate(tokens=3_000))
    assert _most_in_a_minute(asked) * 100 <= 3_000
    assert asked[-1] - asked[0] < 240


async def _asked_at(count: int, words: int, rate: Rate) -> list[float]:
    """When each of so many calls was made. A prompt is a token, and each word of an answer."""
    asked: list[float] = []

    async def script(_: str) -> str:
        asked.append(asyncio.get_running_loop().time())
        return " ".join(["yes"] * words)

    limits: dict[str, Any] = {"caps": {"p": rate}, "options": {"max_tokens": words}}
    await run_matrix(matrix(scripted(script), count=count, **limits))
    assert len(asked) == count
    return asked


def _most_in_a_minute(times: list[float]) -> int:
    return max(bisect_left(times, time + 60) - index for index, time in enumerate(times))


@virtual_time
async def test_8_a_provider_that_says_when_is_asked_then() -> None:
    loop = asyncio.get_running_loop()
    asked: list[float] = []

    async def script(_: str) -> Any:
        asked.append(loop.time())
        return "yes" if loop.time() >= began + 120 else ModelRateLimited("no", retry_after=120)

    began = loop.time()
    await run_matrix(matrix(scripted(script), count=1))
    assert len(asked) == 2 and asked[1] - began >= 120


def test_8_a_budget_holds_for_the_whole_run(tmp_path: Path) -> None:
    """Over models, strategies and executions; what it does not allow is a row with the reason."""

    async def yes(_: str) -> str:
        return "yes"

    models = [scripted(yes, name, Price(0, 1_000_000)) for name in ("p:m", "q:m")]
    strategies = {"one": "{{ input.id }} 1", "two": "{{ input.id }} 2"}
    limits: dict[str, Any] = {"budget": {"usd": 5}, "options": {"max_tokens": 1}}
    made = matrix(*models, prompts=strategies, **limits)
    for _ in range(2):
        result = run_matrix_sync(made, run="r", journal=tmp_path / "j.db", rerun="failed")
        assert sum(len(model.requests) for model in models) == 5
        assert len(result.cells) - len(result.failures) == 5
        assert all("budget" in str(each.error).lower() for each in result.failures)


@virtual_time
async def test_9_a_cap_is_of_a_provider_over_its_models_and_strategies_and_waiting_is_kept(
) -> None:  # fmt: skip
    in_flight = most = 0

    async def script(_: str) -> str:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        try:
            await asyncio.sleep(1)
        finally:  # a vote that is decided cancels the rest
            in_flight -= 1
        return "yes"

    strategies = {
        "one": "{{ input.id }} 1",
        "two": "{{ input.id }} 2",
        "vote": {
            "prompt": "{{ input.id }}",
            "sample": {"loop_budget": 1, "concurrency_budget": 3, "strategy": "majority"},
        },
    }
    models = [scripted(script, "p:a"), scripted(script, "p:b")]
    result = await run_matrix(matrix(*models, prompts=strategies, caps={"p": 2}))
    assert result.failures == []
    assert most == 2
    assert any(cell.queued_s >= 1.0 for cell in result.cells)


@virtual_time
async def test_10_latency_is_of_the_call_alone_and_one_exhausted_request_fails_its_cell_alone(
) -> None:  # fmt: skip
    async def script(text: str) -> Any:
        await asyncio.sleep(2)
        return ModelOverloaded("always") if text == "i2" else "yes"

    made = matrix(scripted(script), count=10, caps={"p": 1})
    result = await run_matrix(made)
    cells = by_input(result)
    assert [each.cell.input for each in result.failures] == ["i2"]
    assert cells["i2"].calls == 5  # four retries, then no more
    assert cells["i2"].backoff_s > 0
    for name, cell in cells.items():
        if name != "i2":
            assert (cell.status, cell.ran_s) == ("done", 2.0)
    (group,) = result.summary(by=[["model"]]).groups
    assert group.ran_s.p50 == 2.0
