"""Several models as one, and replies that are kept: by the servers' own counts."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fanwise import Budget, Caps, Usage, fan_out, open_run
from fanwise.errors import ModelError, ModelOverloaded, ModelRejected, UsageError
from fanwise.journal.port import AttemptRecord
from fanwise.matrix import CellResult, Matrix, run_matrix
from fanwise.matrix.simulation.profiles import Observed
from fanwise.matrix.simulation.world import World
from fanwise.models import (
    File,
    Message,
    Options,
    Reply,
    Request,
    Tokens,
    ask,
    connect,
    stream,
    tape,
)
from fanwise.models.names import CacheSettings, as_spec
from fanwise.models.reply_cache import ReplyCache, is_hit
from fanwise.models.unconnected import unconnected
from fanwise.sampling import matches, sample
from fanwise.specs.system import Assumed
from fanwise.testing import Answer, MemoryJournal, ScriptedServer
from tests.in_process import run_in_process

from .support import prompt, run

LATER = Answer(status=429, retry_after=0)
DOWN = Answer(status=503)


def spec(server: ScriptedServer, name: str = "a") -> dict[str, Any]:
    return {"name": f"openai:{name}", "base_url": server.base_url}


def group(*servers: ScriptedServer, **fields: Any) -> dict[str, Any]:
    names = "abc"
    return {"models": [spec(each, names[n]) for n, each in enumerate(servers)], **fields}


# -- fallback ------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [LATER, DOWN, Answer(status=401), Answer(status=402)])
def test_the_next_model_is_asked_where_one_fails_and_the_journal_says_who_answered(
    failure: Answer,
) -> None:
    journal = MemoryJournal()

    async def main() -> None:
        async with ScriptedServer([failure]) as first, ScriptedServer(["from b"]) as second:
            model = connect(group(first, second))

            async def item(_: int) -> Any:
                return (await ask(model, prompt())).to_json()

            async with open_run("r", journal=journal) as opened:
                outcomes = await fan_out(item, range(1), run=opened)
            reply = Reply.from_json(outcomes.values()[0])
            assert (reply.text, reply.model) == ("from b", "b")
            assert (len(first.requests), len(second.requests)) == (1, 1)

    run(main())
    rows = [row for row in journal.attempts(journal.fan_outs("r")[0].id) if row.call]
    assert [row.call for row in rows] == ["openai:a", "openai:b"]


def test_a_slow_model_is_left_for_the_next() -> None:
    async def main() -> None:
        slow = ScriptedServer(["from a", Answer(first_byte_s=1000)])
        async with slow, ScriptedServer(["from b"]) as second:
            model = group(slow, second)
            assert (await ask(model, prompt())).text == "from a"  # the connection is open now
            assert (await ask(model, prompt(), timeout=0.5)).text == "from b"
            await slow.idle()
            assert slow.disconnects == len(slow.requests) - 1

    run(main())


@pytest.mark.parametrize(("failure", "on"), [(LATER, ["error"]), (DOWN, ["rate_limit"])])
def test_other_failures_are_those_of_the_model(failure: Answer, on: list[str]) -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: failure) as first, ScriptedServer(["b"]) as second:
            with pytest.raises(ModelError):
                await ask(group(first, second, on=on), prompt(), retry=0)
            assert (len(first.requests), len(second.requests)) == (1, 0)

    run(main())


def test_the_last_model_is_retried_as_one_alone_would_be() -> None:
    async def main() -> None:
        async with ScriptedServer([DOWN]) as first, ScriptedServer([LATER, "b"]) as second:
            assert (await ask(group(first, second), prompt())).text == "b"
            assert (len(first.requests), len(second.requests)) == (1, 2)
        async with ScriptedServer([DOWN]) as first, ScriptedServer([DOWN]) as second:
            with pytest.raises(ModelOverloaded, match="openai:b"):
                await ask(group(first, second), prompt(), retry=0)

    run(main())


def test_each_deployment_is_used_up_to_its_own_cap() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: "a") as small, ScriptedServer(lambda _: "b") as large:
            small.gate.close()
            large.gate.close()

            async def open_when_full() -> None:
                await asyncio.gather(small.gate.held(2), large.gate.held(4))
                small.gate.open()
                large.gate.open()

            model = connect(group(small, large, spread=True))
            caps = Caps({"openai:a": 2, "openai:b": 4})
            fanned = fan_out(lambda _: ask(model, prompt()), range(30), cap=30, caps=caps)
            outcomes, _ = await asyncio.gather(fanned, open_when_full())
            assert len(outcomes.values()) == 30
            assert (small.most_in_flight, large.most_in_flight) == (2, 4)
            assert (len(small.requests), len(large.requests)) == (10, 20)

    run(main())


def test_a_group_without_models_and_a_model_without_a_name_are_refused() -> None:
    wrongs: list[dict[str, Any]] = [{"models": []}, {}, {"models": ["openai:a"], "on": ["rain"]}]
    wrongs += [{"name": "sim:a", "cache": {"ttl": ttl}} for ttl in (0, -1, float("nan"), "7 dayz")]
    wrongs += [{"name": "sim:a", "cache": {"tll": 3}}, {"name": "sim:a", "cache": 7}]
    for wrong in wrongs:
        with pytest.raises(UsageError):
            as_spec(wrong)


# -- cache ---------------------------------------------------------------------------------------


COLD = Request((Message("user", "how are you"),), Options(temperature=0, max_tokens=50))


def test_the_same_prompt_in_two_runs_is_asked_once_and_a_hit_costs_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "kept" / "replies.db")

    async def main() -> None:
        async with ScriptedServer(["fine thanks"]) as server:
            for number in range(2):
                model, budget = connect({**spec(server), "cache": path}), Budget(requests=5)
                outcomes = await fan_out(partial(ask, model), [COLD], budget=budget)
                reply = outcomes.values()[0]
                hit = number == 1
                assert (reply.text, reply.from_cache) == ("fine thanks", hit)
                assert budget.spent["requests"] == (0 if hit else 1)
                assert budget.spent["tokens"] == (0 if hit else 5)
                (call,) = [attempt for attempt in outcomes[0].attempts if attempt.call]
                assert call.call == ("cache openai:a" if hit else "openai:a")
                if hit:
                    assert (reply.ran_s, reply.first_token_s, reply.usd) == (0, None, 0)
                    assert Reply.from_json(reply.to_json()).from_cache
            assert len(server.requests) == 1

    run(main())
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600


def test_equal_requests_at_once_are_asked_once(tmp_path: Path) -> None:
    cold = Request((Message("user", "?"),), Options(temperature=0))

    async def main() -> None:
        async with ScriptedServer(["asked once"]) as server:
            cached = spec(server) | {"cache": str(tmp_path / "r.db")}
            server.gate.close()

            async def open_when_all_wait() -> None:
                await server.gate.held(1)
                server.gate.open()

            runs = [fan_out(lambda _: ask(connect(cached), cold), range(10)) for _ in range(2)]
            one, other, _ = await asyncio.gather(*runs, open_when_all_wait())
            assert {each.text for each in [*one.values(), *other.values()]} == {"asked once"}
            assert (len(server.requests), server.statuses) == (1, {200: 1})

    run(main(), within_s=30)


def test_those_that_waited_for_an_equal_request_that_failed_ask_at_once(tmp_path: Path) -> None:
    cold = Request((Message("user", "?"),), Options(temperature=0))

    async def main() -> None:
        async with ScriptedServer([Answer(status=400), "a", "a", "a"]) as server:
            cached = spec(server) | {"cache": str(tmp_path / "r.db")}
            server.gate.close()

            async def open_in_two_steps() -> None:
                await server.gate.held(1)
                server.gate.open()
                while not server.statuses[400]:
                    await asyncio.sleep(0)
                server.gate.close()
                await server.gate.held(3)
                server.gate.open()

            fanned = fan_out(lambda _: ask(cached, cold), range(4), cap=4)
            outcomes, _ = await asyncio.gather(fanned, open_in_two_steps())
            assert sorted(each.status for each in outcomes) == ["done", "done", "done", "failed"]

    run(main(), within_s=30)


@pytest.mark.parametrize(
    ("request_", "asked"),
    [
        (COLD, 1),
        (Request(COLD.messages, Options(temperature=0.7), seed=3), 1),
        (Request(COLD.messages, Options(temperature=0.7)), 2),
        (Request(COLD.messages), 2),
    ],
)
def test_what_may_differ_each_time_is_not_kept(
    request_: Request, asked: int, tmp_path: Path
) -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: "fine") as server:
            path = str(tmp_path / "replies.db")
            for _ in range(2):
                await ask({**spec(server), "cache": path}, request_)
            assert len(server.requests) == asked
            for _ in range(2):
                await ask({**spec(server), "cache": {"path": path, "always": True}}, request_)
            assert len(server.requests) == (asked if asked == 1 else 3)

    run(main())


def test_whatever_can_change_the_answer_is_another_request(tmp_path: Path) -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: '"x"') as server:
            cache = {"cache": str(tmp_path / "replies.db")}
            others = [
                COLD,
                Request((Message("user", "how are we"),), COLD.options),
                Request(COLD.messages, Options(temperature=0, max_tokens=51)),
                Request(COLD.messages, COLD.options, {"type": "string"}),
                Request(COLD.messages, COLD.options, seed=1),
            ]
            elsewhere = {"base_url": f"{server.base_url}/"}
            for _ in range(2):
                for each in others:
                    await ask({**spec(server), **cache}, each)
                await ask({**spec(server), **cache, **elsewhere}, COLD)
                await ask({**spec(server, "b"), **cache}, COLD)
                form = {"schema_mode": "prompt"}
                await ask({**spec(server), **cache, **form}, COLD)
            assert len(server.requests) == len(others) + 3

    run(main())


def test_the_address_in_the_environment_and_the_field_for_max_tokens_are_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: "A") as a, ScriptedServer(lambda _: "B") as b:
            model = connect({"name": "openai:x", "cache": str(tmp_path / "replies.db")})
            for _ in range(2):
                for server, said in ((a, "A"), (b, "B")):
                    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
                    assert (await ask(model, COLD)).text == said
            assert (len(a.requests), len(b.requests)) == (1, 1)
            for field in ("max_tokens", "max_completion_tokens"):
                both = {**spec(a), "cache": str(tmp_path / "replies.db")}
                await ask({**both, "max_tokens_field": field}, COLD)
            assert len(a.requests) == 3

    monkeypatch.setenv("OPENAI_API_KEY", "any")
    run(main())


@pytest.mark.parametrize("name", ["local:w.gguf", "replay:w.gguf"])
def test_the_contents_of_a_file_count_and_not_its_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same relative path in three folders: two have the same file, the third another one."""
    line = tape.encode(tape.TapedCall(0, "m:x", "m", None, COLD, Usage(), 1.0, Reply("a", "x")))
    contents = {"one": line, "two": line, "other": line + line}
    if name.startswith("local"):
        contents = {folder: b"GGUF" + text for folder, text in contents.items()}
    found = {}
    for folder, content in contents.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "w.gguf").write_bytes(content)
        monkeypatch.chdir(tmp_path / folder)
        model: Any = connect({"name": name, "cache": str(tmp_path / "replies.db")})
        found[folder] = model.find(COLD)
        model.keep(COLD, Reply(folder, "x"))
    assert [reply and reply.text for reply in found.values()] == [None, "one", None]
    (tmp_path / "other" / "w.gguf").write_bytes(contents["one"])
    assert model.find(COLD).text == "two", "the file has changed under the model"


def test_a_request_with_a_file_at_a_url_is_kept_only_if_told_so(tmp_path: Path) -> None:
    message = Message("user", "?", files=(File.of("https://x.invalid/a.png"),))
    cache = {"path": str(tmp_path / "replies.db")}
    for always in (False, True):
        model: Any = connect({"name": "sim:a", "cache": cache | {"always": always}})
        assert model.keeps(Request((message,), Options(temperature=0))) is always


def test_errors_are_not_kept_and_a_reply_counts_for_its_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with ScriptedServer([Answer(status=400), "fine"]) as server:
            model = {**spec(server), "cache": str(tmp_path / "replies.db")}
            with pytest.raises(ModelRejected):
                await ask(model, COLD)
            assert (await ask(model, COLD)).text == "fine"

    run(main())
    now = 100.0
    cache = ReplyCache(tmp_path / "other.db", ttl=10, clock=lambda: now)
    cache.keep(b"key", Reply("fine", "a"))
    now = 110.0
    assert cache.find(b"key") is not None
    now = 110.1
    assert cache.find(b"key") is None


def test_sampling_streams_and_groups_use_the_cache_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: "fine") as server:
            model = group(server, server, cache=str(tmp_path / "replies.db"))
            for _ in range(2):
                assert (await sample(model, "x", matches("fine"), cap=1)).ok
                assert [piece async for piece in stream(model, COLD)] == ["fine"]
            assert len(server.requests) == 2

    run(main())


def test_a_hit_is_marked_in_a_matrix_and_is_in_no_latency(tmp_path: Path) -> None:
    """Two of three inputs were asked before: the latency is that of the third alone."""

    async def main() -> None:
        async with ScriptedServer(lambda _: Answer(text="fine", first_byte_s=0.01)) as server:
            model = {**spec(server), "cache": str(tmp_path / "replies.db")}
            inputs = [{"id": each, "text": each} for each in "abc"]
            prompts = "{{ input.text }}"
            first, second = [
                await run_matrix(Matrix("m", models=[model], prompts=prompts, inputs=some))
                for some in (inputs[:2], inputs)
            ]
            assert len(server.requests) == 3
            whole = first.summary().whole
            assert (whole.cached, whole.ran_s.n) == (0, 2)
            assert [each.cached for each in second.cells] == [1, 1, 0]
            whole = second.summary().whole
            assert (whole.n, whole.cached, whole.ran_s.n, whole.first_token_s.n) == (3, 2, 1, 1)
            assert whole.ran_s.p50 == second.cells[2].ran_s > 0
            assert "2 cached" in second.table()
            assert [row["cached"] for row in map(CellResult.to_json, second.cells)] == [1, 1, 0]

    run(main())


def test_calls_from_the_cache_are_not_learned_from() -> None:
    calls = [("cache openai:a", 0.0, 0), ("openai:a", 3.0, 9)]
    seen = [AttemptRecord(1, "k", call, 0, ran, 0, tokens=used) for call, ran, used in calls]
    world = World([unconnected(as_spec("openai:a"))], Assumed({}, seen, "monday"))
    assert world.profiles["openai:a"].latency == Observed([(3.0, None)])


@pytest.mark.parametrize(
    ("call", "tokens", "hit"),
    [("cache openai:a", 0, True), ("cache warm-up", 7, False), ("openai:a", 0, False)],
)
def test_a_call_that_took_tokens_is_no_hit_whatever_its_name(
    call: str, tokens: int, hit: bool
) -> None:
    assert is_hit(call, tokens) is hit
    assert not is_hit(None, 0)
    assert not is_hit("cache openai:a", None)


def test_a_cache_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "replies.db").write_text("no database at all, but long enough to be one" * 9)

    async def main() -> None:
        async with ScriptedServer(["fine"]) as server:
            with pytest.raises(UsageError, match=r"replies\.db cannot be used"):
                await ask({**spec(server), "cache": str(tmp_path / "replies.db")}, COLD)
            assert server.requests == []

    run(main())


@pytest.mark.parametrize("name", ["sim:a", "openai:gpt-5-mini"])
def test_groups_and_cached_models_can_be_counted_without_a_connection(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "replies.db"
    alone = unconnected(as_spec(name)).estimate(COLD)
    for written in ({"name": name, "cache": str(path)}, {"models": [name, name]}):
        assert unconnected(as_spec(written)).estimate(COLD) == alone
    assert not path.exists()


@pytest.mark.parametrize("dearest", [0, 1, 2])
def test_the_bound_of_a_group_is_that_of_its_dearest_member(dearest: int) -> None:
    prices = [{"input": 1, "output": 1}] * 3
    prices[dearest] = {"input": 5, "output": 7}
    members = [{"name": f"sim:{n}", "price": price} for n, price in enumerate(prices)]
    nested = {"models": [{"models": members[:2]}, members[2]]}
    for written in ({"models": members}, nested):
        found, alone = unconnected(as_spec(written)), unconnected(as_spec(members[dearest]))
        assert found.estimate(COLD) == alone.estimate(COLD) == connect(written).estimate(COLD)
        assert found.dollars(Tokens(10, 10)) == alone.dollars(Tokens(10, 10))
        assert found.name == "sim:0"
    unpriced = unconnected(as_spec({"models": [*members, "sim:3"]}))
    assert unpriced.estimate(COLD).usd is None
    assert unpriced.dollars(Tokens(10, 10)) is None


def test_check_counts_the_dearest_of_a_group(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("""
matrix:
  models:
    - models:
        - {name: "sim:cheap", price: {input: 1, output: 1}}
        - {name: "sim:dear", price: {input: 100, output: 100}}
  inputs: [{id: a, text: hello}]
  prompts: {plain: {prompt: "{{ input.text }}", options: {max_tokens: 1000}}}
""")
    done = run_in_process(["check", "m.yaml", "--json"], cwd=tmp_path, env=os.environ)
    assert done.returncode == 0, done.stderr
    estimate = json.loads(done.stdout)["estimate"]
    assert estimate["usd"] >= 0.1, "a thousand tokens at 100 dollars a million"


def test_a_file_says_it_in_the_same_words() -> None:
    from fanwise.specs import ModelSpec

    written = {"models": ["sim:a", {"name": "sim:b"}], "on": ["timeout"], "cache": {"ttl": "7d"}}
    made = ModelSpec.model_validate(written).spec()
    assert made.name == "sim:a or sim:b"
    assert [each.name for each in made.models] == ["sim:a", "sim:b"]
    assert (made.on, made.cache) == (("timeout",), CacheSettings(ttl=7 * 24 * 3600.0))
    assert connect(made).name == "sim:a or sim:b"
