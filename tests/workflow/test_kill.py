"""kill -9 anywhere, in real processes: a resume goes on, and repeats nothing that finished."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanwise.journal.open import open_journal
from fanwise.workflow.state.step_result import record_of
from tests.cli.support import Place
from tests.marks import slow, slow_after

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


def recorded(place: Place, since: int = 0) -> dict[str, str]:
    """What has an outcome on disk, of this execution or a later one: the path of each leaf that is
    no gate, and what it printed.
    """
    journal = open_journal(place.path / ".fanwise" / "journal.db")
    try:
        items = [i for fan_out in journal.fan_outs("k") for i in journal.items(fan_out.id)]
    finally:
        journal.close()
    records = {item.key: record_of(json.loads(item.value or "null")) for item in items}
    return {
        path: record.output["stdout"]
        for path, record in records.items()
        if record is not None and record.execution >= since and record.type == "shell"
    }


POINTS = (
    "run.created", "item.started:1", "item.recorded:1", "item.worked:5", "item.recorded:6",
    "journal.before_commit:9", "journal.after_commit:9", "item.worked:14", "run.before_end",
)  # fmt: skip


@pytest.mark.parametrize("point", slow_after(2, POINTS))
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


# -- one kill after the other, in nested fan-outs and around gates --------------------------------

DEEP = """
schema_version: "1.0"
workflow: {id: deep, name: Deep, version: 1.0.0}
steps:
  - id: outer
    type: fan-out
    items: [0, 1]
    max_concurrency: 2
    step:
      id: mid
      type: fan-out
      items: ["{{ item }}0", "{{ item }}1", "{{ item }}2"]
      max_concurrency: 2
      step: {id: leaf, type: shell, run: "echo leaf {{ item }} >> ran"}
  - {id: ok, type: gate, message: "Go on?"}
  - id: asks
    type: fan-out
    items: [0, 1]
    max_concurrency: 2
    step:
      id: t
      type: if
      condition: true
      then:
        - {id: a, type: shell, run: "echo a {{ item }} >> ran"}
        - {id: g, type: gate, message: "And {{ item }}?"}
        - {id: b, type: shell, run: "echo b {{ item }} >> ran"}
  - {id: last, type: shell, run: "echo last >> ran"}
"""
LINES = {
    **{f"outer:mid:{n}:leaf:{m}": f"leaf {n}{m}" for n in range(2) for m in range(3)},
    **{f"asks:t:{n}:{step}": f"{step} {n}" for n in range(2) for step in "ab"},
    "last": "last",
}
"""What each leaf writes, by its path."""


class Executions:
    """One execution of a run after the other: none may repeat what those before had finished."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def next(self, *args: str, crash: str = "") -> dict[str, Any] | None:
        """What it told; None: it was killed."""
        before = Counter(self.place.lines("ran"))
        finished = {LINES[path] for path in recorded(self.place)} if before else set()
        ended = self.place.run(*args, "--json", FANWISE_CRASH_AT=crash)
        assert not set(Counter(self.place.lines("ran")) - before) & finished
        if ended.returncode == -signal.SIGKILL:
            return None
        assert ended.returncode in (0, 3), ended.stderr.decode()
        told: dict[str, Any] = json.loads(ended.stdout)
        assert (ended.returncode == 3) == (told["status"] == "paused")
        return told


@slow
@pytest.mark.parametrize(
    ("first", "then", "answering"),
    [
        ("item.recorded:2", "item.worked:2", "item.worked:2"),
        ("item.worked:3", "journal.before_commit:3", "journal.after_commit:2"),
    ],
)
def test_one_kill_after_the_other_repeats_nothing_that_finished(
    place: Place, first: str, then: str, answering: str
) -> None:
    """In nested fan-outs, during a resume, and while gates are answered."""
    (place.path / "w.yaml").write_text(DEEP)
    executions = Executions(place)
    assert executions.next("run", "w.yaml", "--run", "k", crash=first) is None
    assert executions.next("resume", "k", crash=then) is None
    told = executions.next("resume", "k")
    assert told is not None
    assert told["gate"]["step_id"] == "ok"
    assert executions.next("resume", "k", "--answer", "ok=approve", crash=answering) is None
    told = executions.next("resume", "k")
    assert told is not None
    assert told["gate"]["step_id"] == "asks:t:0:g", "the answer was on disk"
    both = [f"--answer=asks:t:{n}:g=approve" for n in range(2)]
    told = executions.next("resume", "k", *both)
    assert told is not None
    assert told["status"] == "completed"
    ran = Counter(place.lines("ran"))
    assert set(ran) == set(LINES.values())
    kills, most_in_flight = 3, 4
    assert (ran - Counter(set(LINES.values()))).total() <= kills * most_in_flight


def test_from_a_step_on_all_runs_once_more_whatever_is_killed(place: Place) -> None:
    assert place.run("run", "w.yaml", "--run", "k").returncode == 0
    before = Counter(place.lines("ran"))
    killed = place.run("resume", "k", "--from", "leaves", FANWISE_CRASH_AT="item.recorded:2")
    assert killed.returncode == -signal.SIGKILL
    finished, until = recorded(place, since=1), Counter(place.lines("ran"))
    assert place.run("resume", "k").returncode == 0
    ran = Counter(place.lines("ran"))
    assert not set(ran - until) & set(finished)
    again = {path for path in ALL if path.startswith("leaves") or path == "last"}
    assert set(ran - before) == again
    assert (ran - before - Counter(again)).total() <= MOST_IN_FLIGHT


def test_what_may_have_run_twice_is_named_after_later_kills_too(place: Place) -> None:
    assert place.run("run", "w.yaml", "--run", "k", FANWISE_CRASH_AT="item.worked:1").returncode < 0
    assert place.run("resume", "k", FANWISE_CRASH_AT="item.worked:14").returncode < 0

    ended = place.run("resume", "k", "--json")

    twice = json.loads(ended.stdout)["result"]["may_have_run_twice"]
    ran = Counter(place.lines("ran"))
    assert twice[0] == "first", "it ran twice before the second kill"
    assert set(twice) >= {path for path, times in ran.items() if times > 1}
    assert len(twice) > 1
