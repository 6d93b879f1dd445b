"""Several models as one: which of them is asked, by the servers' own counts."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from fanwise import Adaptive, Caps, fan_out
from fanwise.errors import ModelUnreachable
from fanwise.models import Model, ask, connect, stream
from fanwise.models.port import cap_names
from fanwise.testing import Answer, ScriptedServer
from tests.in_process import run_in_process

from .support import prompt, run

BROKEN = Answer(text="one two three", break_after=1)
DOWN = Answer(status=503)


def deployment(server: ScriptedServer, **fields: Any) -> dict[str, Any]:
    """All are named alike."""
    return {"name": "openai:m", "base_url": server.base_url, **fields}


def host(server: ScriptedServer) -> str:
    return urlsplit(server.base_url).netloc


def spread(*members: dict[str, Any], **fields: Any) -> Model:
    return connect({"models": list(members), "spread": True, **fields})


async def fill(
    model: Model, servers: tuple[ScriptedServer, ...], held: tuple[int, ...], **options: Any
) -> tuple[int, ...]:
    """Ask for as many replies as are held at once, and say how many each server got."""
    for server in servers:
        server.gate.close()

    async def open_when_full() -> None:
        await asyncio.gather(*(s.gate.held(n) for s, n in zip(servers, held, strict=True)))
        for server in servers:
            server.gate.open()

    items = range(options.pop("items", sum(held)))
    fanned = fan_out(lambda n: ask(model, prompt(f"question {n}")), items, cap=100, **options)
    outcomes, _ = await asyncio.wait_for(asyncio.gather(fanned, open_when_full()), 60)
    assert len(outcomes.values()) == len(items)
    return tuple(len(server.requests) for server in servers)


def test_deployments_of_one_name_share_the_calls_evenly_without_caps() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: "a") as a, ScriptedServer(lambda _: "b") as b:
            model = spread(deployment(a), deployment(b))
            assert await fill(model, (a, b), (4, 4)) == (4, 4)

    run(main(), within_s=30)


@pytest.mark.parametrize("by", ["key", "server"])
@pytest.mark.parametrize("cached", [False, True])
def test_deployments_of_one_name_are_filled_by_the_free_permits_of_their_own_caps(
    by: str, cached: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The cap of the provider, which they share, is nearly full, and must not hide their own."""
    monkeypatch.setenv("KEY_A", "1")
    monkeypatch.setenv("KEY_B", "2")

    async def main() -> None:
        async with ScriptedServer(lambda _: "a") as a, ScriptedServer(lambda _: "b") as b:
            keys = [{"api_key_env": "KEY_A"}, {"api_key_env": "KEY_B"}] if by == "key" else [{}, {}]
            cache = {"path": str(tmp_path / "r.db"), "always": True} if cached else None
            model = spread(deployment(a, **keys[0]), deployment(b, **keys[1]), cache=cache)
            names = ["key:KEY_A", "key:KEY_B"] if by == "key" else [host(a), host(b)]
            caps = Caps({names[0]: 2, names[1]: 6, "openai": 8})
            assert await fill(model, (a, b), (2, 6), caps=caps) == (2, 6)

    run(main(), within_s=30)


def test_permits_that_others_hold_are_not_free() -> None:
    async def main() -> None:
        async with ScriptedServer(lambda _: "a") as a, ScriptedServer(lambda _: "b") as b:
            group = spread(deployment(a), deployment(b))
            alone = connect(deployment(a))
            caps = Caps({host(a): 2, host(b): 2})
            for server in (a, b):
                server.gate.close()

            async def item(n: int) -> str:
                if n >= 2:
                    await a.gate.held(2)
                return (await ask(alone if n < 2 else group, prompt())).text

            async def open_when_full() -> None:
                await asyncio.gather(a.gate.held(2), b.gate.held(2))
                a.gate.open()
                b.gate.open()

            fanned = fan_out(item, range(4), cap=9, caps=caps)
            outcomes, _ = await asyncio.wait_for(asyncio.gather(fanned, open_when_full()), 60)
            assert outcomes.values() == ["a", "a", "b", "b"]

    run(main(), within_s=30)


def test_calls_that_wait_are_spread_too_also_by_groups_that_know_nothing_of_each_other() -> None:
    """As samples do: each connects a group of its own."""

    async def main() -> None:
        async with ScriptedServer(lambda _: "a") as a, ScriptedServer(lambda _: "b") as b:
            a.gate.close()
            b.gate.close()
            both = (deployment(a), deployment(b))

            async def item(_: int) -> str:
                return (await ask(spread(*both), prompt())).text

            async def open_when_full() -> None:
                await asyncio.gather(a.gate.held(1), b.gate.held(1))
                a.gate.open()
                b.gate.open()

            caps = Caps({host(a): 1, host(b): 1})
            fanned = fan_out(item, range(20), cap=20, caps=caps)
            outcomes, _ = await asyncio.gather(fanned, open_when_full())
            assert len(outcomes.values()) == 20
            assert (len(a.requests), len(b.requests)) == (10, 10)

    run(main(), within_s=30)


def test_a_deployment_that_asked_to_wait_is_left_for_the_other() -> None:
    async def main() -> None:
        refuse = Answer(status=429, retry_after=1000)
        async with ScriptedServer(lambda _: refuse) as a, ScriptedServer(lambda _: "b") as b:
            model = spread(deployment(a), deployment(b))
            caps = Caps({host(a): Adaptive(9), host(b): 2})
            fanned = fan_out(lambda _: ask(model, prompt()), range(9), cap=1, caps=caps)
            outcomes = await fanned
            assert [each.text for each in outcomes.values()] == ["b"] * 9
            assert len(a.requests) == 1

    run(main(), within_s=30)


def test_a_server_is_a_cap_and_a_matrix_file_may_name_those_of_a_group(tmp_path: Path) -> None:
    model = connect({"name": "vllm:q", "base_url": "http://me:secret@gpu-1:8000/v1"})
    assert cap_names(model) == ["all", "vllm", "gpu-1:8000", "vllm:q"]
    text = """
matrix:
  models:
    - {name: both, spread: true, models: [
        {name: "vllm:q", base_url: "http://gpu-1:8000/v1"},
        {name: "vllm:q", base_url: "http://gpu-2:8000/v1"}]}
  inputs: [{id: a, text: hello}]
  prompts: "{{ input.text }}"
  caps: {"gpu-1:8000": 2, "CAP": 3}
"""
    for cap, code in (("gpu-2:8000", 0), ("gpu-3:8000", 2)):
        (tmp_path / "m.yaml").write_text(text.replace("CAP", cap))
        done = run_in_process(["check", "m.yaml"], cwd=tmp_path, env=os.environ)
        assert done.returncode == code, done.stderr
    assert "no cell uses 'gpu-3:8000'" in done.stderr.decode()


# -- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("alone", [False, True])
def test_after_the_first_piece_a_stream_ends_with_the_error_and_nobody_else_is_asked(
    alone: bool,
) -> None:
    async def main() -> None:
        async with ScriptedServer([BROKEN, "x"]) as a, ScriptedServer(["uno dos"]) as b:
            members = [deployment(a)] if alone else [deployment(a), deployment(b)]
            heard = []
            with pytest.raises(ModelUnreachable):
                async for piece in stream({"models": members}, prompt()):
                    heard.append(str(piece))
            assert heard == ["one"]
            assert (len(a.requests), len(b.requests)) == (1, 0)

    run(main(), within_s=30)


@pytest.mark.parametrize("failure", [DOWN, Answer(text="", break_after=0)])
def test_before_the_first_piece_a_stream_goes_on_with_the_next_model(failure: Answer) -> None:
    async def main() -> None:
        async with ScriptedServer([failure]) as a, ScriptedServer(["uno dos"]) as b:
            model = {"models": [deployment(a), deployment(b)]}
            assert [str(piece) async for piece in stream(model, prompt())] == ["uno", " dos"]

    run(main(), within_s=30)


def test_thoughts_that_nobody_hears_do_not_bind_a_stream_to_its_model() -> None:
    thinks = Answer(text="hm hm", reasoning="long thoughts", break_after=0)

    async def pieces(thoughts: bool) -> list[str]:
        async with ScriptedServer([thinks]) as a, ScriptedServer(["uno"]) as b:
            model = {"models": [deployment(a), deployment(b)]}
            heard = []
            try:
                async for piece in stream(model, prompt(), thoughts=thoughts):
                    heard.append(str(piece))
            except ModelUnreachable:
                heard.append("error")
            return heard

    assert run(pieces(False)) == ["uno"]
    assert run(pieces(True))[-1] == "error"


def test_each_round_of_tools_is_a_reply_of_its_own_that_another_model_may_give() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    async def main() -> None:
        first = Answer(text="wait", calls=(("add", {"a": 1, "b": 2}),))
        async with ScriptedServer([first, DOWN]) as a, ScriptedServer(["three"]) as b:
            model = {"models": [deployment(a), deployment(b)]}
            heard = [str(piece) async for piece in stream(model, prompt(), tools=[add])]
            assert heard == ["wait", "three"]

    run(main(), within_s=30)
