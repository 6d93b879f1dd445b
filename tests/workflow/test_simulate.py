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


EVERY = """
workflow: {id: t, name: T, integration: claude}
inputs: {kind: {default: b}, on: {type: boolean, default: false}}
caps: {gpu: 1}
steps:
  - {id: cut, type: shell, run: "true", timeout: 2}
  - id: known
    type: fan-out
    items: [1, 2, 3, 4, 5, 6]
    max_concurrency: 3
    step: {id: k, type: shell, run: "true"}
  - id: pick
    type: switch
    expression: "{{ inputs.kind }}"
    cases: {a: [{id: long, type: prompt, prompt: x}], b: [{id: short, type: shell, run: "true"}]}
  - id: guess
    type: switch
    expression: "{{ steps.cut.output.stdout }}"
    cases: {a: [{id: x, type: shell, run: "true"}]}
    default: [{id: y, type: prompt, prompt: y}]
  - id: which
    type: if
    condition: "{{ inputs.on }}"
    then: [{id: never, type: prompt, prompt: x}]
    else: [{id: nope, type: shell, run: "true"}]
  - {id: off, type: prompt, prompt: x, if: "{{ inputs.on }}"}
  - {id: maybe, type: shell, run: "true", if: "{{ steps.cut.output.exit_code == 0 }}"}
  - id: none
    type: while
    condition: "{{ inputs.on }}"
    steps: [{id: w, type: prompt, prompt: x}]
  - id: once
    type: do-while
    condition: "{{ inputs.on }}"
    steps: [{id: o, type: shell, run: "true"}]
  - {id: sub, type: workflow, workflow: sub.yaml}
  - {id: m, type: map, items: [a, b, c, d], command: [echo], max_concurrency: 2, needs: gpu}
  - {id: ok, type: gate, message: "Well?"}
"""


@pytest.fixture
def every(place: Place) -> Place:
    sub = 'workflow: {id: u, name: U}\nsteps: [{id: in, type: shell, run: "true"}]\n'
    (place.path / "sub.yaml").write_text(sub)
    (place.path / "s.yaml").write_text(EVERY)
    return place


def test_every_kind_of_step_takes_its_time(every: Place) -> None:
    told = simulated(every)
    # cut, 2 rounds of known, short, the longer y, nope, maybe, o, in, and m one at a time.
    assert told["seconds"] == pytest.approx(1 + 2 + 1 + 60 + 1 + 1 + 1 + 1 + 4)
    assert told["sequential_seconds"] == pytest.approx(76)
    assert told["least_seconds"] == pytest.approx(68)
    assert told["binds"] == "gpu", "not the width of m, which waits for it"
    tried = {(row["limit"], row["at"]): row["seconds"] for row in told["what_if"]}
    assert {key: round(value) for key, value in tried.items()} == {
        ("known", 1): 76, ("known", 6): 71, ("known", 12): 71, ("gpu", 2): 70, ("gpu", 4): 70,
        ("m", 1): 72, ("m", 4): 72, ("m", 8): 72,
    }  # fmt: skip
    assert told["assumed"]["guess branch"].startswith("default (assumed, the longest)")
    assert told["assumed"]["ok"] == "0.00 s (no work)"
    assert told["assumed"]["once iterations"] == "1 (the condition is never true)"
    assert told["assumed"]["none iterations"] == "0 (the condition is never true)"
    assert not {"none:w", "off", "which:never", "pick:long"} & told["assumed"].keys()
    assert told["notes"] == ["failures, retries and the time of people at gates are not simulated"]
    assert "which:never" in simulated(every, "--input", "on=true")["assumed"]


def test_where_no_limit_binds_the_steps_do(place: Place) -> None:
    told = simulated(place, "--items", "each=2", "--latency", "all=10s")
    assert (told["binds"], told["seconds"]) == (None, told["least_seconds"])
    (place.path / "s.yaml").write_text(FILE.replace('"{{ steps.list.output.data }}"', "[1]"))
    out = place.run("simulate", "s.yaml").stdout.decode()
    assert "binds              the steps themselves: no width or cap" in out


def test_what_is_wrong_inside_an_item_is_said(place: Place) -> None:
    inner = "{id: one, type: fan-out, items: '{{ inputs.width }}', step: {id: x, command: y}}"
    (place.path / "s.yaml").write_text(FILE.partition("    step:\n")[0] + f"    step: {inner}\n")
    answered = place.run("simulate", "s.yaml")
    assert (answered.returncode, b"the items of 'one' are a int" in answered.stderr) == (2, True)


def test_a_step_comes_before_its_type_and_that_before_all(every: Place) -> None:
    given = ("--latency", "all=5s", "--latency", "shell=3s", "--latency", "cut=9s")
    told = simulated(every, *given)["assumed"]
    assert (told["cut"], told["pick:short"]) == ("2.00 s (its timeout)", "3.00 s (given)")
    assert (told["guess:y"], told["ok"]) == ("5.00 s (given)", "0.00 s (no work)")


def test_a_run_teaches_iterations_and_their_mean_time(place: Place) -> None:
    (place.path / "s.yaml").write_text("""
workflow: {id: l, name: L}
steps:
  - id: twice
    type: fan-out
    items: [1, 2]
    step:
      id: loop
      type: while
      condition: "{{ not (steps.turn.output.stdout | default('') | contains('xxx')) }}"
      max_iterations: 3
      steps: [{id: turn, type: shell, run: "printf x >> {{ item }}; cat {{ item }}"}]
""")
    assert place.run("run", "s.yaml", "--run", "l").returncode == 0
    told = simulated(place, "--learn", "l")
    assert told["assumed"]["twice:loop iterations"] == "3 (learned)"
    steps = json.loads(place.run("report", "l", "--json").stdout)["steps"]
    took = [step["ended"] - step["began"] for path, step in steps.items() if ":turn" in path]
    assert len(took) == 6
    assert told["seconds"] == pytest.approx(sum(took))
    (place.path / "s.yaml").write_text(
        (place.path / "s.yaml").read_text().replace("max_iterations: 3", "max_iterations: 2")
    )
    assert simulated(place, "--learn", "l")["seconds"] == pytest.approx(sum(took) * 2 / 3)


@pytest.mark.parametrize("kind", ["while", "do-while"])
@pytest.mark.parametrize("condition", ["true", "'{{ inputs.on }}'", "'{{ 1 < 2 }}'"])
def test_a_loop_whose_condition_never_changes_runs_to_its_limit(
    kind: str, condition: str, place: Place
) -> None:
    (place.path / "s.yaml").write_text(f"""
workflow: {{id: l, name: L}}
inputs: {{on: {{type: boolean, default: true}}}}
steps:
  - {{id: loop, type: {kind}, condition: {condition}, max_iterations: 7,
      steps: [{{id: turn, type: shell, run: "true"}}]}}
""")
    told = simulated(place)
    assert told["assumed"]["loop iterations"] == "7 (the condition is always true)"
    assert told["seconds"] == pytest.approx(7)


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
        (("--items", "no=3"), "there is no step 'no'"),
    ],
)
def test_what_is_wrong_is_said(place: Place, args: tuple[str, ...], told: str) -> None:
    answered = place.run("simulate", "s.yaml", *args)
    assert (answered.returncode, told in answered.stderr.decode()) == (2, True)
