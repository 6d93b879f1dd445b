"""What each kind of step does, as real processes, models and systems."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import BadSpec, UsageError
from fanwise.specs import read
from fanwise.workflow.run.options import RunOptions
from fanwise.workflow.runnable import again, plan
from fanwise.workflow.spec import step_types
from fanwise.workflow.spec.steps import ShellStep
from fanwise.workflow.state.frame import Frame, Home, Layer
from fanwise.workflow.steps.shell import ShellLeaf
from fanwise.workflow.views.text import Ending

from .running import World, output, statuses
from .support import HEADER, file_of, workflow

PYTHON = shlex.quote(sys.executable)


def run(world: World, steps: str, more: str = "", **asked: Any) -> Ending:
    return asyncio.run(world.run(steps, more, **asked))


def python(program: str) -> str:
    """A shell step's line that runs it, as YAML."""
    return json.dumps(f"{PYTHON} -c {shlex.quote(program)}")


AGENT = """
integrations:
  ours: {argv: [echo, "{prompt}"], model: ["{model}"], options: {deep: ["--deep={value}"]}}
"""


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ('{id: t, type: prompt, prompt: x, integration: ours, model: "{{ item }}"}', "a number"),
        ('{id: t, type: prompt, prompt: x, integration: "{{ item }}"}', "the integration is"),
        (
            "{id: t, type: command, command: x, integration: ours, options: {deep: '{{ item }}'},"
            ' input: {args: "{{ [inputs.big, inputs.big] }}"}}',
            "more than 8,000,000 characters",
        ),
    ],
)
def test_what_cannot_be_resolved_fails_its_own_step_only(
    step: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / ".fanwise").mkdir()
    (tmp_path / ".fanwise" / "integrations.yaml").write_text(AGENT)
    more = "inputs: {big: {type: string, default: ''}}\n"
    steps = f"""
    - id: all
      type: fan-out
      items: [5, 6]
      continue_on_error: true
      step: {step}
    - {{id: after, type: prompt, prompt: hello, integration: ours, model: m}}
    """
    ending = run(World(tmp_path), steps, more, input={"big": "x" * 4_000_000})
    assert ending.status == "completed"
    assert output(ending, "after")["stdout"] == "hello m\n"
    items = [ending.states[f"all:t:{number}"] for number in range(2)]
    assert all(item["status"] == "failed" and told in item["error"] for item in items), items


# -- shell ----------------------------------------------------------------------------------------


def test_a_shell_step_runs_in_the_project_and_knows_the_workflow_s_folder(tmp_path: Path) -> None:
    steps = '- {id: a, type: shell, run: "pwd; echo $SPECKIT_WORKFLOW_DIR; echo no >&2"}'
    ending = run(World(tmp_path), steps)
    here = str(tmp_path)
    expected = {"exit_code": 0, "stdout": f"{here}\n{here}\n", "stderr": "no\n"}
    assert output(ending, "a") == expected


def test_half_a_character_in_json_fails_the_step_that_printed_it(tmp_path: Path) -> None:
    (tmp_path / "whole").write_text(r'"\ud83d\ude00"')
    (tmp_path / "half").write_text(r'{"deep": ["\ud83d"]}')
    steps = """
    - {id: whole, type: shell, run: cat whole, output_format: json}
    - id: half
      type: shell
      run: cat half
      output_format: json
      on_failure:
        - {id: again, type: shell, run: "echo {{ steps.half.output.stdout | from_json }}"}
    """
    ending = run(World(tmp_path), steps)
    assert output(ending, "whole")["data"] == "\U0001f600"
    assert ending.status == "failed"
    for path in ("half", "again"):
        assert "a lone surrogate" in ending.states[path]["error"]


def test_values_are_data_in_a_shell(
    tmp_path: Path,
) -> None:
    value = "$(touch pwned) `touch pwned` '; touch pwned; \" x"
    more = "inputs: {v: {type: string, required: true}}\n"
    steps = """
    - {id: bare, type: shell, run: "printf %s {{ inputs.v }}"}
    - {id: quoted, type: shell, run: 'printf %s "{{ inputs.v }}"'}
    """
    ending = run(World(tmp_path), steps, more, input={"v": value})
    assert [output(ending, each)["stdout"] for each in ("bare", "quoted")] == [value, value]
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("line", "compat"), [("{{ inputs.v | raw }}", None), ("{{ inputs.v }}", "spec-kit")]
)
def test_the_author_or_spec_kit_may_make_a_value_a_part_of_the_line(
    line: str, compat: str | None, tmp_path: Path, monkeypatch: Any
) -> None:
    file = tmp_path / "w.yaml"
    more = "inputs: {v: {type: string, required: true}}\n"
    file.write_text(file_of(f'- {{id: a, type: shell, run: "{line}"}}', more))
    monkeypatch.chdir(tmp_path)
    asked = RunOptions(input={"v": "touch ran"}, compat=compat)
    asyncio.run(_execute(plan(read(str(file)), asked)))
    assert (tmp_path / "ran").exists()


async def _execute(made: Any) -> Ending:
    from fanwise import open_run

    async with open_run("x", journal=":memory:", caps=made.caps) as opened:
        ending: Ending = await made.ending(opened)
        return ending


def test_json_from_a_shell_is_data(tmp_path: Path) -> None:
    ending = run(
        World(tmp_path),
        """
        - {id: a, type: shell, run: "echo '{\\"n\\": [1, 2]}'", output_format: json}
        - {id: b, type: do, give: "{{ steps.a.output.data.n[1] }}"}
        - {id: c, type: shell, run: "echo NaN", output_format: json, continue_on_error: true}
        - {id: d, type: shell, run: "exit 7"}
        """,
    )
    assert output(ending, "b") == {"gave": 2}
    assert "not JSON" in ending.states["c"]["error"]
    assert output(ending, "c")["stdout"] == "NaN\n"
    assert (ending.status, output(ending, "d")["exit_code"]) == ("failed", 7)
    assert ending.facts["error"] == "the command exited with code 7"


def test_much_output_is_bounded_and_its_true_size_is_told(tmp_path: Path) -> None:
    megabytes = 100
    program = f"import sys\nfor _ in range({megabytes}): sys.stdout.buffer.write(b'x' * 2**20)"
    # The most that the process ever had would hide it, if tests before this one had more.
    tracemalloc.start()
    try:
        ending = run(World(tmp_path), f"- {{id: much, type: shell, run: {python(program)}}}")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    told = output(ending, "much")
    assert (ending.status, told["stdout_size"]) == ("completed", megabytes * 2**20)
    assert told["stdout_truncated"] is True
    assert len(told["stdout"]) < 1.1 * 2**20
    assert most < 25 * 2**20


def test_values_that_are_too_long_together_fail_their_step_and_say_what_to_do(
    tmp_path: Path,
) -> None:
    steps = """
    - {id: make, type: shell, run: "head -c 130000 /dev/zero | tr '\\\\0' x"}
    - id: pasted
      type: shell
      run: "echo {{ steps.make.output.stdout | raw }}{{ steps.make.output.stdout | raw }}"
    """
    ending = run(World(tmp_path), steps)
    assert (ending.status, ending.facts["current_step_id"]) == ("failed", "pasted")
    assert "too long. Let the steps that make the long values" in str(ending.facts["error"])


# -- agents and models ----------------------------------------------------------------------------


def test_an_agent_that_is_not_installed_or_not_known_is_said(tmp_path: Path) -> None:
    (tmp_path / ".fanwise").mkdir()
    ours = 'integrations: {gone: {argv: [no-such-program, "{prompt}"]}}'
    (tmp_path / ".fanwise" / "integrations.yaml").write_text(ours)
    steps = """
    - {id: a, type: prompt, prompt: hi, integration: gone, continue_on_error: true}
    - {id: name, type: do, give: claud}
    - {id: b, type: prompt, prompt: hi, integration: "{{ steps.name.output.gave }}"}
    """
    ending = run(World(tmp_path), steps)
    assert "needs the program 'no-such-program'" in ending.states["a"]["error"]
    assert output(ending, "a")["exit_code"] == 127
    assert str(ending.facts["error"]).startswith("there is no integration 'claud'")
    assert "claude" in str(ending.facts["error"])


def test_another_option_of_an_agent_makes_no_finished_prompt_undone(tmp_path: Path) -> None:
    (tmp_path / ".fanwise").mkdir()
    file = tmp_path / ".fanwise" / "integrations.yaml"
    steps = """
    - {id: a, type: prompt, prompt: one, integration: ours}
    - {id: b, command: two, integration: ours}
    - {id: c, type: prompt, prompt: three, integration: ours, model: "{{ inputs.m }}"}
    - {id: stop, type: do, fail: true}
    """
    more = "inputs: {m: {default: x}}\n"
    file.write_text('integrations: {ours: {argv: [sh, -c, "echo $0 >> log", "{prompt}"]}}')
    world = World(tmp_path)
    asyncio.run(world.run(steps, more))
    file.write_text('integrations: {ours: {argv: [sh, -c, "echo new $0 >> log", "{prompt}"]}}')
    asyncio.run(world.resume(steps, more))
    first = (tmp_path / "log").read_text()
    assert "new" not in first and len(first.splitlines()) == 3
    # What the step itself says counts.
    asyncio.run(world.resume(steps, more, input={"m": "y"}))
    assert (tmp_path / "log").read_text() == first + "new three\n"


def test_how_values_come_into_a_line_is_no_part_of_what_a_shell_step_does() -> None:
    step = workflow('- {id: a, type: shell, run: "echo {{ inputs.x }}"}', "inputs: {x: {}}").steps[
        0
    ]
    assert isinstance(step, ShellStep)
    home = Home({"x": "v"}, Path(), None, None, {})
    frame = Frame(home, "r", Layer(), path=str, bare=str, states={})
    assert ShellLeaf(compat=False).resolve(step, frame)["line"] == ["echo \0", "v"]


def test_a_lone_expression_in_a_text_is_text_as_among_others(tmp_path: Path) -> None:
    (tmp_path / ".fanwise").mkdir()
    ours = 'integrations: {ours: {argv: [printf, "%s", "{prompt}"], invoke: "{command}"}}'
    (tmp_path / ".fanwise" / "integrations.yaml").write_text(ours)
    steps = """
    - {id: data, type: do, give: {a: [true, null, "ü"]}}
    - {id: p, type: prompt, prompt: "{{ steps.data.output.gave }}", integration: ours}
    - {id: none, type: prompt, prompt: "{{ fan_in }}", integration: ours}
    - {id: c, command: "{{ steps.data.output.gave }}", integration: ours}
    - {id: g, type: gate, message: "{{ steps.data.output.gave }}", show_file: "{{ fan_in }}"}
    """
    ending = run(World(tmp_path), steps)
    text = '{"a":[true,null,"ü"]}'
    assert output(ending, "p")["prompt"] == output(ending, "p")["stdout"] == text
    assert output(ending, "none")["prompt"] == ""
    assert output(ending, "c")["command"] == output(ending, "c")["stdout"] == text
    assert (output(ending, "g")["message"], output(ending, "g")["show_file"]) == (text, None)


def test_a_prompt_may_go_to_a_model(tmp_path: Path) -> None:
    steps = """
    - {id: a, type: prompt, prompt: "Say {{ inputs.x }}", model: "sim:one"}
    - {id: b, type: do, give: "{{ steps.a.output.stdout }}"}
    """
    ending = run(World(tmp_path), steps, "inputs: {x: {type: string, default: hi}}\n")
    assert ending.status == "completed", ending.facts
    told = output(ending, "a")
    assert (told["exit_code"], told["model"]) == (0, "sim:one")
    assert told["stdout"] == told["reply"]["text"] == output(ending, "b")["gave"]


# -- steps that hold others -----------------------------------------------------------------------


def test_a_workflow_may_be_a_step_of_another(tmp_path: Path) -> None:
    inner = HEADER + (
        "inputs: {n: {type: number, required: true}}\n"
        'steps: [{id: add, type: shell, run: "echo $(({{ inputs.n }} + 1))"}]\n'
    )
    (tmp_path / "inner.yaml").write_text(inner)
    ending = run(
        World(tmp_path),
        """
        - id: all
          type: fan-out
          items: [1, 10]
          max_concurrency: 2
          step: {id: sub, type: workflow, workflow: inner.yaml, input: {n: "{{ item }}"}}
        """,
    )
    assert ending.status == "completed", ending.facts
    results = output(ending, "all")["results"]
    assert [each["steps"]["add"]["stdout"] for each in results] == ["2\n", "11\n"]
    assert statuses(ending)["all:sub:1:add"] == "completed"


def test_a_system_may_be_a_step(tmp_path: Path) -> None:
    steps = """
    - id: ask
      type: sample
      spec: {name: s, model: "sim:one", prompt: "Say {{ inputs.x }}"}
    - id: again
      type: sample
      spec: {name: s, model: "sim:one", prompt: "Say {{ inputs.x }} again"}
    """
    world = World(tmp_path)
    more = "inputs: {x: {type: string, default: hi}}\n"
    ending = run(world, steps, more)
    assert ending.status == "completed", ending.facts
    assert output(ending, "ask")["result"] is not None
    braces = asyncio.run(World(tmp_path).run(steps, more, input={"x": "{{ 6 * 7 }}"}))
    assert braces.status == "completed", braces.facts
    assert "42" not in json.dumps(output(braces, "ask"))
    paths = [each.path for each in world.journal.fan_outs("r")]
    assert len([path for path in paths if path.endswith("/prompts")]) == 2


# -- types of the project -------------------------------------------------------------------------


def test_types_of_the_project_need_trust(tmp_path: Path, monkeypatch: Any) -> None:
    folder = tmp_path / ".fanwise" / "steps"
    folder.mkdir(parents=True)
    (folder / "shout.py").write_text(
        "import pathlib\npathlib.Path('imported').touch()\n"
        "def shout(fields, place):\n    return {'said': fields['what'].upper()}\n"
    )
    file = tmp_path / "w.yaml"
    file.write_text(file_of("- {id: s, type: shout, what: hello}"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadSpec, match=r"no type of steps 'shout'.*say --trust-project"):
        plan(read(str(file)), RunOptions())
    assert not (tmp_path / "imported").exists()
    trusted = plan(read(str(file)), RunOptions(trust_project=True))
    ending = asyncio.run(_execute(trusted))
    assert output(ending, "s") == {"said": "HELLO"}
    (tmp_path / "imported").unlink()
    with pytest.raises(BadSpec, match=r"no type of steps 'shout'.*say --trust-project"):
        again(trusted.spec, RunOptions())
    assert not (tmp_path / "imported").exists()
    assert "hello" in str(again(trusted.spec, RunOptions(trust_project=True)).describe())
    # What the project does not have is not promised.
    file.write_text(file_of("- {id: s, type: whisper, what: hello}"))
    with pytest.raises(BadSpec, match="no type of steps 'whisper'") as caught:
        plan(read(str(file)), RunOptions())
    assert "--trust-project" not in str(caught.value)


def test_inputs_from_files(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("from a file\n")
    more = "inputs: {t: {type: string, required: true}}\n"
    steps = '- {id: a, type: do, give: "{{ inputs.t }}"}'
    ending = run(World(tmp_path), steps, more, input=(f"t=@{tmp_path / 'text'}",))
    assert output(ending, "a") == {"gave": "from a file\n"}
    with pytest.raises(UsageError, match="cannot be read"):
        World(tmp_path).plan(steps, more, input=("t=@/no/such/file",))


def test_a_package_may_add_a_type(tmp_path: Path, monkeypatch: Any) -> None:
    info = tmp_path / "added-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: added\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[fanwise.steps]\ntwice = added_steps:twice\n")
    (tmp_path / "added_steps.py").write_text(
        "async def twice(fields, place):\n    return {'gave': fields['n'] * 2, 'at': place.path}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    step_types.registered.cache_clear()
    try:
        ending = run(World(tmp_path), '- {id: a, type: twice, n: "{{ 20 + 1 }}"}')
    finally:
        step_types.registered.cache_clear()
    assert output(ending, "a") == {"gave": 42, "at": "a"}


def test_a_budget_counts_the_prompts_of_all_steps(tmp_path: Path) -> None:
    steps = """
    - {id: a, type: prompt, prompt: hi, model: "sim:one"}
    - {id: b, type: prompt, prompt: ho, model: "sim:one"}
    """
    world = World(tmp_path)
    ending = run(world, steps, "budget: {requests: 1}\n")
    assert (ending.status, ending.facts["current_step_id"]) == ("failed", "b")
    assert "budget" in str(ending.facts["error"]).lower()
    again = asyncio.run(world.resume(steps, "budget: {requests: 1}\n"))
    assert (again.status, statuses(again)["a"]) == ("failed", "completed")


# -- numbers and files that are none --------------------------------------------------------------


@pytest.mark.parametrize("given", ["0", "0 - 3", "1.5", "true", "'2.5'", "'many'", "[2]"])
def test_a_width_that_is_no_whole_number_of_at_least_one_is_said(
    given: str, tmp_path: Path
) -> None:
    steps = f"""
    - {{id: w, type: do, give: "{{{{ {given} }}}}"}}
    - {{id: f, type: fan-out, items: [1], max_concurrency: "{{{{ steps.w.output.gave }}}}",
       step: {{id: t, type: do}}}}
    """
    world = World(tmp_path)
    ending = run(world, steps)
    assert "not a whole number of at least 1" in str(ending.facts["error"])
    assert world.ran == ["w"]


@pytest.mark.parametrize("given", ["3", "'3'", "6 / 2"])
def test_a_width_may_be_written_in_several_ways(given: str, tmp_path: Path) -> None:
    steps = f"""
    - {{id: f, type: fan-out, items: [1], max_concurrency: "{{{{ {given} }}}}",
       step: {{id: t, type: do}}}}
    """
    assert output(run(World(tmp_path), steps), "f")["max_concurrency"] == 3


def test_of_a_file_for_an_input_no_more_is_read_than_is_allowed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with (tmp_path / "large").open("wb") as large:
        large.truncate(2**40)  # a hole: it takes no room
    said = {"/dev/zero": "not a regular file", str(tmp_path / "fifo"): "not a regular file"}
    said |= {str(tmp_path / "large"): "too many for an input", str(tmp_path): "not a regular file"}
    for file, told in said.items():
        with pytest.raises(UsageError, match=told):
            World(tmp_path).plan("- {id: a, type: do}", "inputs: {t: {}}\n", input=(f"t=@{file}",))
