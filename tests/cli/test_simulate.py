"""`fanwise simulate`: no key, no request; assumptions that are given, or learned from a run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from fanwise.testing import ScriptedServer
from tests.cli.support import Place
from tests.cli.test_sample import command, serving

FILE = """\
matrix:
  models: [openai:gpt-5-mini]
  inputs: [{id: a, text: one}, {id: b, text: two}, {id: c, text: three}]
  repeat: 10
  prompts: {one: {prompt: "{{ input.text }}", options: {max_tokens: 50}}}
  score: [{exact: input.text}]
  caps: {openai: 3}
"""


@pytest.fixture
def file(place: Place, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    path = place.path / "m.yaml"
    path.write_text(FILE)
    return path


def test_without_a_key_it_says_how_long_and_what_binds(place: Place, file: Path) -> None:
    told = place.run("simulate", "m.yaml", "--latency", "openai=2s")
    assert (told.returncode, told.stderr) == (0, b"")
    words = [line.split() for line in told.stdout.decode().splitlines()]
    assert ["time", "20", "s"] in words
    assert ["one", "after", "another", "60", "s,", "3", "times", "as", "long"] in words
    assert ["openai:", "cap", "6", "10", "s", "0.50", "x"] in words
    assert b"binds              openai: cap 3" in told.stdout
    assert b"openai:gpt-5-mini: 2 s (given)" in told.stdout
    assert not (place.path / ".fanwise").exists()


def test_json_is_one_document(place: Place, file: Path) -> None:
    told = place.run("simulate", "m.yaml", "--json")
    found = json.loads(told.stdout)
    assert (found["kind"], found["cells"], found["calls"]) == ("matrix", 30, 30)
    assert found["interval_s"][0] < found["predicted_s"] < found["interval_s"][1]
    assert "assumed" in found["assumed"]["openai:gpt-5-mini"]


def test_calls_of_an_earlier_run_are_learned_from(
    place: Place, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(server: ScriptedServer) -> None:
        done = await command(place, "run", "m.yaml", "--run", "monday")
        asked = len(server.requests)
        told = await asyncio.to_thread(
            place.run, "simulate", "m.yaml", "--learn", "monday", "--json"
        )
        assert (done.returncode, told.returncode, len(server.requests)) == (0, 0, asked)
        found = json.loads(told.stdout)
        assert "30 calls seen" in found["assumed"]["openai:gpt-5-mini"]
        # The server's answers have four words: that is what the simulated ones have, too.
        assert found["output_tokens"] == 30 * 4

    serving(lambda body: "this has four words", main, monkeypatch)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--latency", "openai"], "is not NAME=LATENCY"),
        (["--latency", "openai=quick"], "'quick' is no latency"),
        (["--latency", "opnai=2s"], "no cell uses 'opnai'"),
        (["--learn", "never"], "never"),
    ],
)
def test_bad_usage_is_said_and_exits_with_2(
    place: Place, file: Path, arguments: list[str], message: str
) -> None:
    told = place.run("simulate", "m.yaml", *arguments)
    assert (told.returncode, told.stdout) == (2, b"")
    assert message in told.stderr.decode()
    assert b"Traceback" not in told.stderr


def test_a_system_that_cannot_be_simulated_says_so(place: Place) -> None:
    (place.path / "s.yaml").write_text("sample: {model: 'sim:x', prompt: hello}\n")
    told = place.run("simulate", "s.yaml")
    assert told.returncode == 2
    assert b"s.yaml:1:1: sample: files of this system cannot be simulated" in told.stderr


def test_a_bad_file_is_refused_with_its_place(place: Place, file: Path) -> None:
    file.write_text(FILE.replace("input.text }}", "input.texd }}"))
    told = place.run("simulate", "m.yaml")
    assert told.returncode == 2
    assert b"m.yaml:5:27: matrix.prompts.one.prompt: there is no `input.texd`" in told.stderr


def test_on_a_cluster_it_says_how_busy_the_driver_is_and_what_is_lost(
    place: Place, file: Path
) -> None:
    base = ("simulate", "m.yaml", "--latency", "openai=2s", "--json")
    told = place.run(*base, "--nodes", "2", "--workers", "2", "--node-mtbf", "10s")
    found = json.loads(told.stdout)["cluster"]
    assert found["seconds"] > 20 and found["lost_nodes"] > 0 and 0 < found["driver_busy"] < 0.01
    calm = json.loads(place.run(*base, "--nodes", "2").stdout)["cluster"]
    assert calm["seconds"] == pytest.approx(20, abs=0.1) and calm["lost_nodes"] == 0
    assert place.run(*base, "--node-mtbf", "1h").returncode == 2
    assert place.run(*base, "--workers", "2").returncode == 2
    assert place.run(*base, "--nodes", "2", "--node-mtbf", "x").returncode == 2
    assert b"hardly ever end" in place.run(*base, "--nodes", "2", "--node-mtbf", "0.1s").stdout
