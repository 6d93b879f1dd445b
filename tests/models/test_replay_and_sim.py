"""Recordings play back exactly; simulations say that they are, and are the same on each run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fanwise import Attempt, Caps, Halt, Outcomes, Retry, Usage, fan_out
from fanwise.errors import ModelError, ModelOverloaded, ModelRateLimited, NotRecorded, UsageError
from fanwise.models import (
    MODEL_RETRY,
    Message,
    Model,
    Options,
    Price,
    Reply,
    Request,
    ask,
    connect,
    record,
    tape,
)
from fanwise.models.ask import spent
from fanwise.testing import Answer, ScriptedModel, ScriptedServer, run_virtual, virtual_time

from .support import model_of, prompt, run

LIMITED = ModelRateLimited("busy", retry_after=0.0, status=429, provider="acme")


def _requests() -> list[Request]:
    return [prompt(f"question {n % 4}", seed=n % 4) for n in range(12)]


async def _fan(model: Model) -> Outcomes[dict[str, object]]:
    async def item(request: Request) -> dict[str, object]:
        return (await ask(model, request)).to_json()

    return await fan_out(item, _requests(), caps=Caps({model.provider: 3}))


def test_a_recorded_fan_out_plays_back_to_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    answers: list[Answer | str] = [
        Answer(status=429, retry_after=0) if n % 5 == 1 else f"answer {n}" for n in range(15)
    ]

    async def recorded() -> str:
        async with ScriptedServer(answers) as server:
            with record(model_of(server), path) as model:
                return repr((await _fan(model)).values())

    async def replayed() -> str:
        return repr(_sorted((await _fan(connect(f"replay:{path}"))).values()))

    run(recorded())
    first = run(replayed())
    assert first == run(replayed())
    texts = {line.split('"text":"')[1].split('"')[0] for line in _replies(path)}
    assert all(text in first for text in texts)
    assert len(_replies(path)) == 12


def _sorted(values: list[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(values, key=str)


def _replies(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if '"reply":' in line]


def test_distinct_requests_play_back_to_equal_replies_in_their_places(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    requests = [prompt(f"question {n}") for n in range(9)]

    async def main() -> None:
        async with ScriptedServer(lambda body: f"re {body['messages'][0]['content']}") as server:
            with record(model_of(server), path) as recording:
                before = await fan_out(recording.reply, requests)
        after = await fan_out(connect(f"replay:{path}").reply, requests)
        encoded = [repr([value.to_json() for value in o.values()]) for o in (before, after)]
        assert encoded[0] == encoded[1]

    run(main())


@virtual_time
async def test_equal_requests_get_their_answers_in_the_order_in_which_they_began() -> None:
    path = Path(_tmp()) / "calls.jsonl"
    delays = iter([5, 1, 3])

    async def answer(_: Request) -> str:
        delay = next(delays)
        await asyncio.sleep(delay)
        return f"took {delay}"

    with record(ScriptedModel(answer), path) as recording:
        await asyncio.gather(*(recording.reply(prompt()) for _ in range(3)))
    replay = connect(f"replay:{path}")
    assert [(await replay.reply(prompt())).text for _ in range(3)] == ["took 5", "took 1", "took 3"]


def _tmp() -> str:
    import tempfile

    return tempfile.mkdtemp()


def test_a_replay_is_at_once_or_at_the_recorded_speed(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"

    async def answer(_: Request) -> str:
        await asyncio.sleep(8)
        return "slow"

    async def recorded() -> None:
        with record(ScriptedModel(answer), path) as recording:
            await recording.reply(prompt())

    async def took(name: str) -> float:
        clock = asyncio.get_running_loop().time
        began = clock()
        assert (await connect(name).reply(prompt())).ran_s == 8.0
        return clock() - began

    run_virtual(recorded())
    seconds = [run_virtual(took(f"replay:{path}{speed}")) for speed in ("", "?speed=1", "?speed=4")]
    assert seconds == [0.0, 8.0, 2.0]


def test_errors_play_back_as_they_were_and_cancelled_calls_wait_to_be_cancelled(
    tmp_path: Path,
) -> None:
    path = tmp_path / "calls.jsonl"

    async def answer(request: Request) -> str:
        if request.seed == 1:
            raise LIMITED
        await asyncio.sleep(0 if request.seed == 0 else 1e6)
        return "won"

    async def race(model: Model) -> list[str]:
        fastest = Halt.on_success(fastest=True)
        outcomes = await fan_out(lambda n: model.reply(prompt(seed=n)), [2, 1, 0], halt=fastest)
        return [f"{o.status} {o.value} {o.error!r} {vars(o.error or LIMITED)}" for o in outcomes]

    async def recorded() -> list[str]:
        with record(ScriptedModel(answer), path) as recording:
            return await race(recording)

    async def replayed() -> list[str]:
        return await race(connect(f"replay:{path}"))

    before = run_virtual(recorded())
    assert before == run_virtual(replayed())
    assert "ModelRateLimited" in before[1]


@pytest.mark.parametrize(
    ("request_", "difference"),
    [
        (prompt("hello", seed=1), "call 1, where seed is missing and not 1"),
        (prompt("hallo"), "messages[0].content is 'hello' and not 'hallo'"),
        (Request((Message("user", "hello"),), Options(0.5)), "temperature is missing and not 0.5"),
    ],
)
def test_what_was_not_recorded_is_an_error_that_names_the_nearest_difference(
    request_: Request, difference: str, tmp_path: Path
) -> None:
    async def main() -> None:
        with record(ScriptedModel(["hi"]), tmp_path / "calls.jsonl") as recording:
            await recording.reply(prompt("hello"))
        replay = connect(f"replay:{tmp_path / 'calls.jsonl'}")
        with pytest.raises(NotRecorded) as caught:
            await replay.reply(request_)
        assert difference in str(caught.value)

    run(main())


def test_asking_more_often_than_recorded_is_said(tmp_path: Path) -> None:
    async def main() -> None:
        with record(ScriptedModel(["hi"]), tmp_path / "calls.jsonl") as recording:
            await recording.reply(prompt())
        replay = connect(f"replay:{tmp_path / 'calls.jsonl'}")
        await replay.reply(prompt())
        with pytest.raises(NotRecorded, match="recorded 1 times, and all of them have been played"):
            await replay.reply(prompt())

    run(main())


def test_a_recording_goes_on_where_it_was_and_a_torn_last_line_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"

    async def main() -> None:
        for text in ("one", "two"):
            with record(ScriptedModel([text]), path) as recording:
                await recording.reply(prompt())
        with path.open("ab") as file:
            file.write(b'{"number": 2, "mod')
        replay = connect(f"replay:{path}")
        assert [(await replay.reply(prompt())).text for _ in range(2)] == ["one", "two"]

    run(main())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("replay:{}", None),
        ("replay:{}", ""),
        ("replay:{}", "no JSON\n"),
        ("replay:{}?speed=no", ""),
        ("replay:{}?sped=1", ""),
        ("replay:", None),
        ("sim:x?medain_s=1", None),
        ("sim:x?median_s=0", None),
    ],
)
def test_a_name_or_a_file_that_cannot_be_read_is_said(
    name: str, content: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "calls.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError):
        connect(name.format(path))


# -- sim -----------------------------------------------------------------------------------------

STORMY = "sim:stormy?median_s=2&sigma=0.4&tokens=50&errors=0.1&rate_limited=0.2&seed=5"


async def _simulated(cap: int) -> list[object]:
    model = connect({"name": STORMY, "price": {"input": 1, "output": 2}})
    outcomes = await fan_out(lambda n: model.reply(prompt(f"{n}")), range(200), cap=cap)
    return [o.value or str(o.error) for o in outcomes]


def test_a_simulation_is_the_same_on_every_run_and_in_every_order() -> None:
    assert run_virtual(_simulated(1)) == run_virtual(_simulated(50))


def test_every_simulated_output_says_so_and_the_rates_are_those_of_the_profile() -> None:
    results = run_virtual(_simulated(50))
    replies = [r for r in results if isinstance(r, Reply)]
    assert all(r.finish_reason == "simulated" and "[simulated]" in r.text for r in replies)
    assert all(r.model == STORMY and r.usd for r in replies)
    assert all("simulated" in str(r) for r in results if not isinstance(r, Reply))
    assert 0.6 < len(replies) / 200 < 0.8
    median = sorted(r.ran_s for r in replies)[len(replies) // 2]
    assert 1.7 < median < 2.3


def test_a_simulated_storm_passes_in_virtual_time() -> None:
    async def main() -> float:
        model, clock = connect(STORMY), asyncio.get_running_loop().time
        began, patient = clock(), Retry(20, on=MODEL_RETRY.on)
        outcomes = await fan_out(
            lambda n: ask(model, f"{n}", retry=patient), range(100), caps=Caps(sim=10)
        )
        assert len(outcomes.values()) == 100
        return clock() - began

    assert run_virtual(main()) > 20


def test_simulated_errors_are_those_of_a_real_provider() -> None:
    async def main() -> set[type]:
        model, kinds = connect("sim:?errors=0.5&rate_limited=0.5&retry_after=9"), set()
        for n in range(20):
            with pytest.raises(ModelError) as caught:
                await model.reply(prompt(f"{n}"))
            kinds.add(type(caught.value))
            assert getattr(caught.value, "retry_after", None) in (9.0, None)
        return kinds

    assert run_virtual(main()) == {ModelOverloaded, ModelRateLimited}


@pytest.mark.parametrize(("timeout", "told"), [(0.2, False), (0.9, True), (None, True)])
def test_a_simulated_call_that_is_cut_off_had_its_first_token_if_it_was_due(
    timeout: float | None, told: bool
) -> None:
    async def main() -> Attempt:
        model, retry = connect("sim:x?sigma=0&first_token=0.5"), Retry.none()

        async def item(_: int) -> Reply:
            return await ask(model, "?", timeout=timeout, retry=retry)

        [outcome] = await fan_out(item, range(1))
        return outcome.attempts[-1]

    attempt = run_virtual(main())
    assert attempt.first_token_s == (pytest.approx(0.5) if told else None)
    assert (attempt.usage is None) == (timeout is not None)


def test_an_error_of_an_older_recording_has_no_cached_tokens() -> None:
    recorded = tape.Failed(
        "ModelRefused", "no", {"input_tokens": 3, "output_tokens": 1, "usd": 0.5}
    )
    assert spent(tape.revived(recorded)) == Usage(1, 4, 0.5, 3, 1, 0)


def test_a_price_makes_the_simulation_count_dollars() -> None:
    model = connect({"name": "sim:x", "price": {"input": 1, "output": 2}})
    assert model.estimate(prompt(most=10)).usd == pytest.approx((22 + 2 * 10) / 1e6)
    assert Price(1, 2).input == 1
