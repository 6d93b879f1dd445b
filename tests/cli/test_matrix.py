"""`fanwise run` of a `matrix:` file, against a real server."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise.testing import Answer, ScriptedServer
from tests.cli.support import Place
from tests.cli.test_sample import command, serving
from tests.marks import slow

FILE = """\
matrix:
  name: reviews
  models: [openai:gpt-5-mini, openai:gpt-5]
  inputs:
    - {id: a, text: lovely, label: good}
    - {id: b, text: awful, label: bad}
  repeat: 2
  prompts:
    one: {prompt: "Good or bad? {{ input.text }}", schema: {enum: [good, bad]}}
    two:
      steps:
        - {name: mood, prompt: "Which mood? {{ input.text }}"}
        - {name: label, prompt: "Good or bad? {{ steps.mood }}", schema: {enum: [good, bad]}}
    vote:
      prompt: "Vote: {{ input.text }}"
      schema: {enum: [good, bad]}
      sample: {loop_budget: 1, concurrency_budget: 3, strategy: majority}
    always: {constant: good}
    oracle: {copy: input.label}
    mine: {call: "mine:answer"}
  score:
    - {exact: input.label}
    - {call: "mine:odd"}
  options: {max_tokens: 20}
  caps: {openai: 3}
"""
MINE = """\
from fanwise.models import ask

async def answer(subject):
    return await ask(subject.model, f"Mine: {subject.input['text']}")

def odd(answer, given):
    if given["id"] == "b":
        raise ValueError("this scorer knows no b")
    return 1.0
"""
CELLS = 3 * 8 + 2 * 4 + 8


def script(body: dict[str, Any]) -> Answer | str:
    text = body["messages"][-1]["content"]
    if "Which mood" in text or "Mine" in text:
        return "glad" if "lovely" in text else "sad"
    if body["model"] == "gpt-5" and "Good or bad? awful" in text:
        return Answer(status=400)
    return '"good"' if "lovely" in text or "glad" in text else '"bad"'


@pytest.fixture
def matrix(place: Place) -> Place:
    (place.path / "m.yaml").write_text(FILE)
    (place.path / "mine.py").write_text(MINE)
    return place


def cells_of(stdout: bytes) -> dict[tuple[str, ...], dict[str, Any]]:
    found = json.loads(stdout)["result"]["cells"]
    axes = ("model", "strategy", "input", "repeat")
    return {tuple(cell[axis] for axis in axes): cell for cell in found}


def test_each_cell_is_answered_and_scored_and_failures_are_rows(
    matrix: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        told = await command(matrix, "check", "m.yaml")
        assert (told.returncode, len(server.requests)) == (0, 0)
        assert f"{CELLS} cells".encode() in told.stdout
        # A process of its own: in this one the server would be late to see that a call is over.
        run = ("run", "m.yaml", "--run", "r", "--json")
        done = await asyncio.to_thread(matrix.process, *run)
        assert done.returncode == 1
        cells = cells_of(done.stdout)
        assert len(cells) == CELLS
        good = cells["openai:gpt-5-mini", "one", "b", "0"]
        right = {"score": 1.0, "reason": "as expected"}
        assert (good["answer"]["value"], good["scores"]["exact"]) == ("bad", right)
        # The scorer's failure is the score's: the answer is there, and the other score too.
        assert "knows no b" in good["scores"]["odd"]["error"]
        bad = cells["openai:gpt-5", "one", "b", "1"]
        assert (bad["status"], bad["answer"], bad["scores"]) == ("failed", None, {})
        assert "ModelRejected" in bad["error"]
        steps = cells["openai:gpt-5", "two", "a", "0"]["steps"]
        assert {name: step["text"] for name, step in steps.items()} == {
            "mood": "glad",
            "label": '"good"',
        }
        assert cells["-", "always", "b", "0"]["scores"]["exact"]["score"] == 0.0
        assert cells["-", "oracle", "b", "0"]["scores"]["exact"] == right
        assert cells["openai:gpt-5", "mine", "a", "0"]["answer"]["text"] == "glad"
        assert len(cells["openai:gpt-5", "vote", "a", "0"]["answer"]["samples"]) in (2, 3)
        assert server.most_in_flight <= 3  # that it reaches its cap is shown with a gate elsewhere
        # one: 8, two: 16, vote: 16 to 24 (two that agree decide it), mine: 8
        made = len(server.requests)
        assert 48 <= made <= 56
        again = await command(matrix, "resume", "r", "--json")
        assert (
            json.loads(again.stdout)["result"]["digest"]
            == (json.loads(done.stdout)["result"]["digest"])
        )
        assert len(server.requests) == made

    serving(script, main, monkeypatch)


def calls_with_an_outcome(place: Place) -> int:
    """Calls of items that are over, as the journal has them: nobody pays for these again."""
    with closing(sqlite3.connect(place.path / ".fanwise" / "journal.db")) as journal:
        (found,) = journal.execute(
            "SELECT count(*) FROM attempts a JOIN items i ON i.fan_out = a.fan_out"
            " AND i.key = a.key WHERE a.call IS NOT NULL AND i.status IN ('done', 'failed')"
        ).fetchone()
    return int(found)


@slow
def test_after_kill_9_no_recorded_answer_is_paid_for_again(
    matrix: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (matrix.path / "m.yaml").read_text().splitlines()
    (matrix.path / "m.yaml").write_text("\n".join(x for x in lines if "mine" not in x) + "\n")
    kills, holding_from = 3, 8
    held: list[ScriptedServer] = []

    def holding(body: dict[str, Any]) -> Answer | str:
        if len(held[0].requests) >= holding_from:
            held[0].gate.close()
        return script(body)

    async def main(server: ScriptedServer) -> None:
        nonlocal holding_from
        held.append(server)
        for _ in range(kills):
            process = await asyncio.to_thread(
                matrix.start, "run", "m.yaml", "--run", "r", stderr=subprocess.DEVNULL
            )
            await server.gate.held(3)
            process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(process.wait)
            holding_from = len(server.requests) + 8
            server.gate.open()
            await server.idle()
        killed_at, holding_from = len(server.requests), 1_000
        recorded = calls_with_an_outcome(matrix)
        done = await command(matrix, "run", "m.yaml", "--run", "r", "--json")
        assert len(cells_of(done.stdout)) == CELLS - 8
        assert 0 < recorded < 48
        assert len(server.requests) - killed_at == 48 - recorded

    serving(holding, main, monkeypatch)


def test_the_example_runs_on_the_local_model(place: Place, smollm2: str) -> None:
    example = str(Path(__file__).parents[2] / "examples" / "matrix.yaml")
    told = place.run("check", example)
    assert (told.returncode, b"cells   72" in told.stdout) == (0, True), told.stderr
    done = place.run("run", example, "--only", "input=dog", "--json")
    assert done.returncode == 0, done.stderr
    cells = cells_of(done.stdout)
    answers = [cell["answer"] for cell in cells.values()]
    assert {each["value"] or each["text"] for each in answers} <= {"animal", "fruit"}
    assert {strategy for _, strategy, _, _ in cells} == {"bare", "examples", "always"}
