"""`map` as a step: a command for each item, each recorded by itself."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from fanwise.workflow.views.text import Ending
from tests.processes.support import run as run_jumping
from tests.processes.support import timed_out

from .running import World, output, statuses
from .support import file_of, problems

INPUTS = """
inputs: {bad: {type: string, default: b}, lines: {type: string, default: ''}}
"""


def run(world: World, steps: str, **asked: Any) -> Ending:
    return asyncio.run(world.run(steps, INPUTS, **asked))


def resume(world: World, steps: str, **asked: Any) -> Ending:
    return asyncio.run(world.resume(steps, INPUTS, **asked))


def stdouts(ending: Ending, path: str = "m") -> list[str]:
    return [each["stdout"] for each in output(ending, path)["results"]]


def test_a_map_gives_results_in_item_order(tmp_path: Path) -> None:
    """Each waits for the one after it, so they end in the opposite order: all are at work."""
    program = "until [ -e done$(($1 + 1)) ]; do sleep 0.01; done; touch done$1; echo <$1>"
    (tmp_path / "done3").touch()
    steps = f"""
    - {{id: m, type: map, items: [0, 1, 2], command: [sh, -c, {json.dumps(program)}, sh]}}
    - {{id: after, type: do, give: "{{{{ steps.m.output.results[1].stdout }}}}"}}
    """.replace("<$1>", "got-$1")
    ending = run(World(tmp_path), steps)
    assert ending.status == "completed", ending.facts
    told = output(ending, "m")
    assert told["results"] == [
        {"exit_code": 0, "stdout": f"got-{n}\n", "stderr": ""} for n in range(3)
    ]
    assert (told["items"], told["item_count"], told["max_concurrency"]) == ([0, 1, 2], 3, 10)
    assert output(ending, "after")["gave"] == "got-1\n"
    assert statuses(ending)["m:2"] == "completed"


def test_the_item_has_the_places_that_it_is_given_and_is_data_there(tmp_path: Path) -> None:
    item = "$(touch pwned) {} {{ 6 * 7 }} '; touch pwned"
    arguments = {
        "last": ["<%s>"],
        "braces": ["<%s><%s>", "a{}b{}", "{}"],
        "expression": ["<%s><%s>", "{{ inputs.bad }}", "{{ item }}!"],
        "quoted": ["<%s><%s>", "{{ '{}' }}", "{}"],
    }
    more = [{"id": name, "type": "map", "items": [item], "command": ["printf", *rest]}
            for name, rest in arguments.items()]  # fmt: skip
    # The items of a map are a list in the file, whose braces are the workflow's: so an input.
    for step in more:
        step["items"] = "{{ steps.made.output.gave }}"
    given = [{"id": "made", "type": "give", "what": 0}, *more]

    async def give(fields: Any, place: Any) -> dict[str, Any]:
        return {"gave": [item]}

    ending = run(World(tmp_path, give=give), "\n".join(f"- {json.dumps(each)}" for each in given))
    assert ending.status == "completed", ending.facts
    assert stdouts(ending, "last") == [f"<{item}>"]
    assert stdouts(ending, "braces") == [f"<a{item}b{item}><{item}>"]
    assert stdouts(ending, "expression") == [f"<b><{item}!>"]
    assert stdouts(ending, "quoted") == [f"<{{}}><{item}>"]
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\n\nb\r\n", ["a", "", "b\r"]), ("\n", [""])],
)
def test_lines_of_a_text_are_items(text: str, lines: list[str], tmp_path: Path) -> None:
    steps = '- {id: m, type: map, lines: "{{ inputs.lines }}", command: [printf, "<%s>"]}'
    ending = run(World(tmp_path), steps, input={"lines": text})
    assert stdouts(ending) == [f"<{line}>" for line in lines]


MAP = """
- id: m
  type: map
  items: [a, b, c, d]
  command: [sh, -c, 'echo "$1" >> ran; test "$1" != "$2"', sh, '{}', '{{ inputs.bad }}']
"""


def ran(folder: Path) -> list[str]:
    lines = sorted((folder / "ran").read_text().split())
    (folder / "ran").unlink()
    return lines


def test_a_resume_runs_the_failed_items_and_those_only(tmp_path: Path) -> None:
    """The others are given nothing of `bad` here, so that what is theirs has not changed."""
    steps = """
    - id: m
      type: map
      items: [a, b, c, d]
      command: [sh, -c, 'echo "$1" >> ran; test ! -e "bad$1"', sh]
    """
    (tmp_path / "badb").touch()
    world = World(tmp_path)
    ending = run(world, steps)
    assert (ending.status, ending.facts["current_step_id"]) == ("failed", "m:1")
    # By default all items run, as in `fanwise map`.
    assert [each["exit_code"] for each in output(ending, "m")["results"]] == [0, 1, 0, 0]
    assert ran(tmp_path) == ["a", "b", "c", "d"]
    (tmp_path / "badb").unlink()
    ending = resume(world, steps)
    assert (ending.status, ran(tmp_path)) == ("completed", ["b"])
    assert [each["exit_code"] for each in output(ending, "m")["results"]] == [0] * 4
    ending = resume(world, steps)
    assert (ending.status, (tmp_path / "ran").exists()) == ("completed", False)
    ending = resume(world, steps, start="m")
    assert (ending.status, ran(tmp_path)) == ("completed", ["a", "b", "c", "d"])


def test_with_changed_inputs_the_commands_that_are_others_run_again(tmp_path: Path) -> None:
    steps = """
    - id: m
      type: map
      lines: "{{ inputs.lines }}"
      command: [sh, -c, 'echo "$1" >> ran', sh]
    """
    world = World(tmp_path)
    run(world, steps, input={"lines": "a\nb\nc\n"})
    assert ran(tmp_path) == ["a", "b", "c"]
    ending = resume(world, steps, input={"lines": "a\nB\nc\nd\n"})
    assert (ending.status, ran(tmp_path)) == ("completed", ["B", "d"])


def test_a_map_may_halt_as_a_fan_out_does(tmp_path: Path) -> None:
    ending = run(World(tmp_path), f"{MAP}  halt: failure\n  max_concurrency: 1\n")
    assert ending.status == "failed"
    assert [each["exit_code"] for each in output(ending, "m")["results"]] == [0, 1]
    assert ran(tmp_path) == ["a", "b"]


def test_retry_and_time_out_are_those_of_each_command(tmp_path: Path) -> None:
    once = """
    - id: m
      type: map
      items: [a, b]
      retry: {times: 1, base: 0.01}
      command: [sh, -c, 'echo "$1" >> ran; mkdir "made$1" && exit 1; exit 0', sh]
    - id: late
      type: map
      items: [0, 600]
      max_concurrency: 1
      timeout: 500
      command: [sh, -c, 'touch "begun$1"; sleep "$1"', sh]
    """
    running = World(tmp_path).run(once, INPUTS)
    ending = run_jumping(timed_out(running, 500, (tmp_path / "begun600").exists))
    assert ran(tmp_path) == ["a", "a", "b", "b"]
    assert statuses(ending)["m"] == "completed"
    late = output(ending, "late")["results"]
    assert [each.get("timed_out", False) for each in late] == [False, True]
    assert ending.facts["error"] == "timed out after 500 s, and was killed"


def test_a_failure_may_be_a_result_like_others(tmp_path: Path) -> None:
    steps = f"{MAP}  continue_on_error: true\n"
    world = World(tmp_path)
    ending = run(world, steps)
    assert ending.status == "completed"
    assert [each["exit_code"] for each in output(ending, "m")["results"]] == [0, 1, 0, 0]
    ran(tmp_path)
    assert resume(world, steps).status == "completed"
    assert not (tmp_path / "ran").exists()


def test_a_map_may_be_the_step_of_a_fan_out(tmp_path: Path) -> None:
    steps = """
    - id: all
      type: fan-out
      items: [[1, 2], [3]]
      step: {id: m, type: map, items: "{{ item }}", command: [echo, "n{}"]}
    """
    ending = run(World(tmp_path), steps)
    assert ending.status == "completed", ending.facts
    results = output(ending, "all")["results"]
    assert [[one["stdout"] for one in each["results"]] for each in results] == [
        ["n1\n", "n2\n"],
        ["n3\n"],
    ]
    assert statuses(ending)["all:m:0:1"] == "completed"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("command: [echo]", "`items` or `lines`"),
        ("items: [1], lines: x, command: [echo]", "`items` or `lines`"),
        ("items: [1], command: echo", "must be a list"),
        ("items: [1], command: []", "must be a list"),
        ("items: [1], command: [[echo]]", "must be text"),
        ("items: [1]", "command"),
        ("items: [1], command: ['{{ itm }}']", "there is no `itm`"),
        ("items: '{{ item }}', command: [echo]", "`item` is there only inside a fan-out"),
        ("lines: 3, command: [echo]", "must be text"),
        ("items: [1], command: [echo], file: x.yaml", "file"),
    ],
)
def test_a_map_that_is_wrong_is_refused(fields: str, said: str) -> None:
    found = problems(file_of(f"- {{id: m, type: map, {fields}}}"))
    assert [said in str(each) for each in found] == [True], found


def test_a_program_that_is_not_there_fails_each_item(tmp_path: Path) -> None:
    ending = run(World(tmp_path), "- {id: m, type: map, items: [1, 2], command: [no-such]}")
    assert ending.status == "failed"
    assert [each["exit_code"] for each in output(ending, "m")["results"]] == [127, 127]
