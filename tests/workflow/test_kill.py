"""kill -9 anywhere, in real processes: a resume goes on, and repeats nothing that finished."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanwise.journal.open import open_journal
from fanwise.workflow.engine.result import record_of
from tests.cli.support import Place

# Each step that runs writes its own path to a file.
FILE = """
schema_version: "1.0"
workflow: {id: killed, name: Killed, version: 1.0.0}
inputs: {n: {type: number, default: 4}}
steps:
  - {id: first, type: shell, run: "echo first >> ran; echo '[0, 1, 2, 3]'", output_format: json}
  - id: each
    type: fan-out
    items: "{{ steps.first.output.data }}"
    max_concurrency: 2
    step:
      id: whole
      type: if
      condition: "{{ item < inputs.n }}"
      then:
        - {id: a, type: shell, run: "echo each:whole:{{ item }}:a >> ran"}
        - {id: b, type: shell, run: "echo each:whole:{{ item }}:b >> ran; echo {{ item }}"}
  - id: leaves
    type: fan-out
    items: [0, 1, 2]
    max_concurrency: 3
    step: {id: leaf, type: shell, run: "echo leaves:leaf:{{ item }} >> ran"}
  - id: loop
    type: while
    condition: "{{ not (steps.turn.output.stdout | default('') | contains('xxx')) }}"
    steps: [{id: turn, type: shell, run: "printf x >> turns; cat turns"}]
  - {id: last, type: shell, run: "echo last >> ran"}
"""
ALL = {
    "first", "last",
    *(f"each:whole:{n}:{step}" for n in range(4) for step in "ab"),
    *(f"leaves:leaf:{n}" for n in range(3)),
}  # fmt: skip
MOST_IN_FLIGHT = 3


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    (tmp_path / "w.yaml").write_text(FILE)
    yield made
    made.clean_up()


def recorded(place: Place) -> dict[str, str]:
    """What has an outcome on disk: the path of each leaf, and what it printed."""
    journal = open_journal(place.path / ".fanwise" / "journal.db")
    try:
        items = [i for fan_out in journal.fan_outs("k") for i in journal.items(fan_out.id)]
    finally:
        journal.close()
    records = {item.key: record_of(json.loads(item.value or "null")) for item in items}
    return {path: record.output["stdout"] for path, record in records.items() if record is not None}


POINTS = (
    "run.created", "item.started:1", "item.recorded:1", "item.worked:5", "item.recorded:6",
    "journal.before_commit:9", "journal.after_commit:9", "item.worked:14", "run.before_end",
)  # fmt: skip


@pytest.mark.parametrize("point", POINTS)
def test_nothing_that_finished_runs_again(place: Place, point: str) -> None:
    killed = place.run("run", "w.yaml", "--run", "k", FANWISE_CRASH_AT=point)
    assert killed.returncode == -signal.SIGKILL
    finished, ran_before = recorded(place), Counter(place.lines("ran"))

    ended = place.run("resume", "k", "--json")

    assert ended.returncode == 0, ended.stderr.decode()
    told = json.loads(ended.stdout)
    assert (told["run_id"], told["status"]) == ("k", "completed")
    ran = Counter(place.lines("ran"))
    assert not set(ran - ran_before) & set(finished)
    assert set(ran) == ALL
    assert (ran - Counter(ALL)).total() <= MOST_IN_FLIGHT
    # What ran, and has no end on disk, is named: it may have run twice, and nothing else may.
    twice = set(told["result"]["may_have_run_twice"])
    assert twice >= {path for path, times in ran.items() if times > 1}
    assert not twice & set(finished)
    assert any("may have run twice:" in note for note in told["notes"]) is bool(twice)
    assert {note.strip() for note in told["notes"] if note.startswith("  ")} == twice
    if point.startswith("item.worked"):
        assert twice, "it was killed between the end of the work and its record"
    steps = told["result"]["steps"]
    kept = {path: steps[path]["output"]["stdout"] for path in finished if path in ALL}
    assert kept == {path: out for path, out in finished.items() if path in ALL}


def test_a_resume_of_a_completed_run_runs_nothing(place: Place) -> None:
    assert place.run("run", "w.yaml", "--run", "k").returncode == 0
    ran = place.lines("ran")
    assert place.run("resume", "k").returncode == 0
    assert place.lines("ran") == ran
