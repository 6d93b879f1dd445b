"""Samples and matrices as steps, against a real server: what a resume asks again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from fanwise.testing import Answer, ScriptedServer

from .running import World, output

PROMPT = "Good or bad? {{ input.text }}"
INPUTS = "[{id: a, text: lovely}, {id: b, text: awful}, {id: c, text: fine}]"
ONCE = "loop_budget: 1, concurrency_budget: 1"
SAMPLE = f'sample: {{name: s, model: "openai:x", prompt: "{PROMPT}", inputs: {INPUTS}, {ONCE}}}\n'
MATRIX = f"""
matrix:
  name: m
  models: ["openai:x"]
  inputs: {INPUTS}
  prompts: {{one: {{prompt: "{PROMPT}"}}}}
"""
FILES = {"sample": SAMPLE, "matrix": MATRIX}


def with_budget(kind: str, requests: int) -> str:
    given = f"budget: {{requests: {requests}}}"
    if kind == "sample":
        return SAMPLE.replace("name: s", f"name: s, {given}")
    return MATRIX.replace("  name: m\n", f"  name: m\n  {given}\n")


class Provider:
    """Answers, but for what it is told to refuse."""

    def __init__(self) -> None:
        self.refused = ""
        self.better = ""
        self.asked: list[str] = []

    def __call__(self, body: dict[str, Any]) -> Answer | str:
        word = body["messages"][-1]["content"].split()[-1]
        self.asked.append(word)
        if word == self.refused:
            return Answer(status=400)
        return f"not {word}!" if word == self.better else f"{word}!"

    def told(self) -> list[str]:
        """What it was asked since it was last looked at."""
        asked, self.asked = sorted(self.asked), []
        return asked


def serving(
    monkeypatch: pytest.MonkeyPatch, body: Callable[[Provider], Coroutine[Any, Any, None]]
) -> None:
    async def main() -> None:
        provider = Provider()
        async with ScriptedServer(provider) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
            await body(provider)

    asyncio.run(main())


@pytest.mark.parametrize("kind", FILES)
def test_a_resume_asks_again_for_what_failed_inside_and_for_nothing_else(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.yaml").write_text(FILES[kind])
    steps = f"- {{id: s, type: {kind}, file: f.yaml}}"
    world = World(tmp_path)

    async def body(provider: Provider) -> None:
        provider.refused = "awful"
        assert (await world.run(steps)).status == "failed"
        assert provider.told() == ["awful", "fine", "lovely"]
        assert (await world.resume(steps)).status == "failed"
        assert provider.told() == ["awful"]
        provider.refused = ""
        ending = await world.resume(steps)
        assert (ending.status, provider.told()) == ("completed", ["awful"])
        assert "awful!" in str(output(ending, "s"))
        assert (await world.resume(steps)).status == "completed"
        assert provider.told() == []

    serving(monkeypatch, body)


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_was_edited_is_another_input(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(FILES[kind])
    steps = f"- {{id: s, type: {kind}, file: f.yaml}}\n- {{id: other, type: do}}"
    world = World(tmp_path)

    async def body(provider: Provider) -> None:
        assert (await world.run(steps)).status == "completed"
        provider.told()
        file.write_text(FILES[kind].replace("awful", "dreadful"))
        ending = await world.resume(steps)
        assert ending.status == "completed"
        assert "dreadful" in provider.told()
        assert "dreadful!" in str(output(ending, "s"))
        assert world.ran == ["other"]
        file.unlink()
        ending = await world.resume(steps)
        assert (ending.status, ending.facts["current_step_id"]) == ("failed", "s")
        assert "f.yaml" in str(ending.facts["error"])
        assert provider.told() == []

    serving(monkeypatch, body)


def test_an_answer_that_met_no_requirement_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = '"openai:x", requirements: [{regex: "^(?!awful)"}]'
    (tmp_path / "f.yaml").write_text(SAMPLE.replace('"openai:x"', needs))
    steps = "- {id: s, type: sample, file: f.yaml}"
    world = World(tmp_path)

    async def body(provider: Provider) -> None:
        assert (await world.run(steps)).status == "failed"
        assert provider.told() == ["awful", "fine", "lovely"]
        ending = await world.resume(steps)
        assert (ending.status, provider.told()) == ("failed", ["awful"])
        provider.better = "awful"
        ending = await world.resume(steps)
        assert (ending.status, provider.told()) == ("completed", ["awful"])
        texts = [each["text"] for each in output(ending, "s")["result"]]
        assert texts == ["lovely!", "not awful!", "fine!"]
        assert (await world.resume(steps)).status == "completed"
        assert provider.told() == []

    serving(monkeypatch, body)


@pytest.mark.parametrize("kind", FILES)
def test_a_budget_of_its_own_is_no_way_past_the_run_s(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.yaml").write_text(with_budget(kind, 9))
    steps = f"- {{id: s, type: {kind}, file: f.yaml}}"
    world = World(tmp_path)

    async def body(provider: Provider) -> None:
        ending = await world.run(steps, "budget: {requests: 2}\n")
        assert (ending.status, len(provider.told())) == ("failed", 2)
        ending = await world.resume(steps, "budget: {requests: 2}\n")
        assert (ending.status, provider.told()) == ("failed", [])

    serving(monkeypatch, body)


@pytest.mark.parametrize("kind", FILES)
def test_its_own_budget_is_one_over_all_executions(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.yaml").write_text(with_budget(kind, 3))
    steps = f"- {{id: s, type: {kind}, file: f.yaml}}"
    world = World(tmp_path)

    async def body(provider: Provider) -> None:
        provider.refused = "awful"
        assert (await world.run(steps)).status == "failed"
        assert len(provider.told()) == 3
        assert (await world.resume(steps)).status == "failed"
        assert provider.told() == []

    serving(monkeypatch, body)
