"""What counts as a call, and which cells may have been asked twice after a kill."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise.journal.open import open_journal
from fanwise.matrix import Matrix, MatrixResult, Subject, exact, run_matrix_sync
from fanwise.matrix.state.recorded_matrix import read_matrix
from fanwise.matrix.views.text import end_of
from fanwise.models import ask
from fanwise.models.names import Spec
from fanwise.models.reply_cache import CachedModel, ReplyCache
from fanwise.testing import ScriptedModel, ScriptedServer
from tests.cli.support import Place
from tests.cli.test_sample import command, serving

INPUTS = [{"id": f"i{n}", "label": "good"} for n in range(3)]


def in_a_thread(subject: Subject) -> str:
    return "good"


async def by_a_model(subject: Subject) -> Any:
    assert subject.model is not None
    return await ask(subject.model, subject.input["id"])


def calls_of(result: MatrixResult) -> dict[str, set[tuple[int, int]]]:
    found: dict[str, set[tuple[int, int]]] = {}
    for each in result.cells:
        found.setdefault(each.cell.strategy, set()).add((each.calls, each.cached))
    return found


def test_only_calls_of_models_are_counted_everywhere(tmp_path: Path) -> None:
    """A sync function runs in a thread through the same code as a call, and is none."""
    model = ScriptedModel(lambda _: "good", name="scripted:one")
    cache = ReplyCache(tmp_path / "replies.db")
    cached = CachedModel(model, Spec("scripted:one"), cache, always=True)
    prompts: dict[str, Any] = {
        "thread": in_a_thread,
        "function": by_a_model,
        "prompt": "{{ input.id }}",
    }
    made = Matrix("calls", models=[cached], prompts=prompts, inputs=INPUTS, score=[exact("label")])
    journal = tmp_path / "j.db"
    first = run_matrix_sync(made, journal=journal, run="first")
    # A prompt has the seed of its cell, and asks for itself; another run asks nobody.
    assert calls_of(first) == {"thread": {(0, 0)}, "function": {(1, 0)}, "prompt": {(1, 0)}}
    second = run_matrix_sync(made, journal=journal, run="second")
    assert calls_of(second) == {"thread": {(0, 0)}, "function": {(0, 1)}, "prompt": {(0, 1)}}
    assert len(model.requests) == 6
    with closing(open_journal(journal, read_only=True)) as opened:
        for run, result in (("first", first), ("second", second)):
            assert read_matrix(opened, run).results == result.cells
        assert [opened.call_totals(run).attempts for run in ("first", "second")] == [6, 0]
    with closing(sqlite3.connect(journal)) as connection:
        query = "SELECT run, sum(calls) FROM cells GROUP BY run ORDER BY run"
        assert connection.execute(query).fetchall() == [("first", 6), ("second", 0)]


FILE = """\
matrix:
  models: openai:gpt-5-mini
  inputs: [{id: a}, {id: b}, {id: c}, {id: d}, {id: e}, {id: f}]
  prompts: {say: {prompt: "{{ input.id }}"}}
  score: [{regex: yes}]
  caps: {openai: 2}
"""


def test_after_a_kill_only_what_was_sent_may_have_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two calls are in flight; the other four cells wait for a permit and have not begun."""
    place = Place(tmp_path)
    (place.path / "m.yaml").write_text(FILE)

    async def main(server: ScriptedServer) -> None:
        server.gate.close()
        process = place.start("run", "m.yaml", "--run", "r")
        await server.gate.held(2)
        process.kill()
        process.communicate()
        sent = {body["messages"][-1]["content"] for body in server.bodies}
        shown = json.loads((await command(place, "show", "r", "--json")).stdout)
        assert (shown["status"], shown["unit"], shown["total"]) == ("interrupted", "cell", 6)
        assert (shown["done"], shown["failed"]) == (0, 0)
        (run,) = json.loads((await command(place, "runs", "--json")).stdout)["runs"]
        assert (run["status"], run["unit"], run["done"], run["total"]) == (
            "interrupted", "cell", 0, 6,
        )  # fmt: skip
        server.gate.open()
        resumed = await command(place, "resume", "r", "--json")
        assert resumed.returncode == 0, resumed.stderr
        document = json.loads(resumed.stdout)["result"]
        inputs = {each["cell"]: each["input"] for each in document["cells"]}
        assert {inputs[each] for each in document["may_have_run_twice"]} == sent
        assert len(server.requests) == 8, "six cells, and two of them twice"
        with closing(open_journal(place.path / ".fanwise" / "journal.db")) as opened:
            told = end_of(read_matrix(opened, "r")).notes
        note = "2 cells were cut off and run again, so they may have been paid for twice:"
        assert told[0] == note and all("gpt-5-mini say" in each for each in told[1:3])
        shown = json.loads((await command(place, "show", "r", "--json")).stdout)
        assert (shown["done"], shown["total"]) == (6, 6)
        assert {each["key"].split()[0] for each in shown["may_have_run_twice"]} == set(
            document["may_have_run_twice"]
        )

    serving(lambda _: "yes", main, monkeypatch)
