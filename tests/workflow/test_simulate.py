"""`fanwise simulate` of a workflow: the time, and the width or cap that makes it so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Place

FILE = """
workflow: {id: s, name: S, integration: claude}
inputs: {width: {type: number, default: 4}}
caps: {gpu: 2}
steps:
  - {id: list, type: shell, run: "echo '[1, 2, 3]'", output_format: json}
  - id: each
    type: fan-out
    items: "{{ steps.list.output.data }}"
    max_concurrency: "{{ inputs.width }}"
    step:
      id: one
      type: if
      condition: "{{ item == 2 }}"
      then: [{id: slow, type: prompt, prompt: hi}]
      else:
        - {id: quick, type: shell, run: "true"}
        - {id: train, type: shell, run: "true", needs: gpu}
  - {id: ok, type: gate, message: "Well?"}
on_end: [{id: bye, type: shell, run: "true"}]
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    (tmp_path / "s.yaml").write_text(FILE)
    return made


def simulated(place: Place, *args: str) -> dict[str, Any]:
    answered = place.run("simulate", "s.yaml", "--json", *args)
    assert answered.returncode == 0, answered.stderr.decode()
    told: dict[str, Any] = json.loads(answered.stdout)
    return told


def test_what_is_not_known_is_assumed_and_said(place: Place) -> None:
    told = simulated(place)
    # 10 items, the longest branch of 60 s, 4 at once: three rounds; and two steps of 1 s.
    assert told["seconds"] == pytest.approx(182)
    assert told["sequential_seconds"] == pytest.approx(602)
    assert told["least_seconds"] == pytest.approx(62)
    assert told["binds"] == "each"
    assert told["assumed"]["each items"] == "10 (assumed)"
    assert told["assumed"]["each:one branch"].startswith("then (assumed, the longest)")
    tried = {(row["limit"], row["at"]): row["seconds"] for row in told["what_if"]}
    assert tried["each", 8] == pytest.approx(122)
    assert tried["each", 2] == pytest.approx(302)
    assert not (place.path / ".fanwise").exists(), "nothing ran"


def test_given_durations_items_and_inputs_count(place: Place) -> None:
    given = ("--latency", "slow=1s", "--latency", "shell=5s", "--items", "each=8")
    told = simulated(place, *given, "--input", "width=8")
    # The other branch is the longer one now, and its second step needs the cap of 2.
    assert told["seconds"] == pytest.approx(5 + 5 + 4 * 5 + 5)
    assert told["binds"] == "gpu"
    assert told["least_seconds"] == pytest.approx(20)
    assert told["assumed"]["list"] == "5.00 s (given)"


def test_a_run_teaches_times_items_and_branches(place: Place) -> None:
    (place.path / ".fanwise").mkdir()
    agent = "integrations: {claude: {argv: [echo, '{prompt}']}}\n"
    (place.path / ".fanwise" / "integrations.yaml").write_text(agent)
    assert place.run("run", "s.yaml", "--run", "r").returncode == 3
    told = simulated(place, "--learn", "r")
    assert told["assumed"]["each items"] == "3 (learned)"
    assert told["assumed"]["each:one branch"].startswith("else (learned)")
    assert told["assumed"]["list"].endswith("(learned)")
    assert told["assumed"]["bye"] == "1.00 s (assumed)", "it did not run: the run waits at a gate"


def test_text_says_what_binds(place: Place) -> None:
    out = place.run("simulate", "s.yaml").stdout.decode()
    assert "binds              each: 4 at once; with 8: 0.67 x" in out
    assert "list: 1.00 s (assumed)" in out


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--latency", "lst=1s"), "there is no step 'lst'"),
        (("--latency", "list=soon"), "is no duration"),
        (("--items", "each=many"), "is no number"),
        (("--input", "width=x"), "width"),
    ],
)
def test_what_is_wrong_is_said(place: Place, args: tuple[str, ...], told: str) -> None:
    answered = place.run("simulate", "s.yaml", *args)
    assert (answered.returncode, told in answered.stderr.decode()) == (2, True)
