"""What is certain to fail is found before anything runs; what is not certain is left to the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import BadSpec
from tests.workflow.running import World

INPUTS = (
    "inputs: {n: {type: number, default: 0}, text: {type: string, default: abc},"
    " on: {type: boolean, default: false}}\n"
)


def problem(tmp_path: Path, steps: str, *, begins: bool, **asked: Any) -> str:
    """What is wrong: on a check, or (`begins`) with the inputs that a run has."""
    with pytest.raises(BadSpec) as caught:
        plan = World(tmp_path).plan(steps, INPUTS, **asked)
        if begins:
            _ = plan.spec
    return str(caught.value)


FAN = (
    "{{id: f, type: fan-out, items: {items}, "
    'max_concurrency: "{width}", step: {{id: t, type: do}}}}'
)
CERTAIN = [
    ("- {id: a, type: prompt, prompt: x}", "no agent is named. Write `integration: NAME`"),
    ("- {id: a, type: prompt, prompt: x, integration: auto}", "no agent is named"),
    ("- {id: a, type: prompt, prompt: x, integration: cluade}", "did you mean `claude`?"),
    ("- {id: a, type: init, here: true}", "needs the program 'specify'"),
    ("- " + FAN.format(items="[1]", width="{{ 0 }}"), "not a whole number of at least 1"),
    ("- " + FAN.format(items="'{{ 5 }}'", width="1"), "not a list"),
    ("- {id: a, type: shell, run: 'echo {{ 1 / 0 }}'}", "divided by zero"),
    ("- {id: a, type: shell, run: 'echo $(( {{ inputs.text }} ))'}", "inside arithmetic"),
    (
        "- {id: i, type: if, condition: '{{ true }}', then: [{id: a, type: prompt, prompt: x}]}",
        "no agent is named",
    ),
    (
        "- {id: l, type: do-while, condition: '{{ false }}', steps:"
        " [{id: a, type: prompt, prompt: x}]}",
        "no agent is named",
    ),
]
WITH_INPUTS = [
    ("- " + FAN.format(items="[1]", width="{{ inputs.n }}"), "not a whole number of at least 1"),
    ("- " + FAN.format(items="'{{ inputs.text }}'", width="1"), "not a list"),
    ("- {id: a, type: prompt, prompt: x, integration: '{{ inputs.text }}'}", "'abc'"),
    ("- {id: a, type: shell, run: 'echo {{ 1 / inputs.n }}'}", "divided by zero"),
]
NOT_CERTAIN = [
    "- {id: i, type: if, condition: '{{ inputs.on }}', then: [{id: a, type: init, here: true}]}",
    "- {id: i, type: if, condition: '{{ inputs.n > 0 }}', then: ["
    + FAN.format(items="[1]", width="{{ inputs.n }}")
    + "]}",
    "- {id: s, type: switch, expression: '{{ inputs.text }}', cases:"
    " {abc: [{id: ok, type: do}], other: [{id: a, type: prompt, prompt: x}]}}",
    "- {id: a, type: prompt, prompt: x, continue_on_error: true}",
    "- {id: a, type: do, on_failure: [{id: b, type: prompt, prompt: x}]}",
    "- {id: f, type: fan-out, items: [], step: {id: a, type: prompt, prompt: x}}",
    "- {id: l, type: while, condition: '{{ inputs.on }}', steps:"
    " [{id: a, type: prompt, prompt: x}]}",
    "- {id: a, type: prompt, prompt: x, model: 'sim:one'}",
    "- {id: a, type: shell, run: 'echo $(( {{ inputs.n }} ))'}",
]


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.mark.parametrize(("step", "told"), CERTAIN)
def test_a_check_finds_what_cannot_succeed(step: str, told: str, tmp_path: Path) -> None:
    steps = f"- {{id: first, type: do}}\n{step}"
    assert told in problem(tmp_path, steps, begins=False)


@pytest.mark.parametrize(("step", "told"), WITH_INPUTS)
def test_what_inputs_make_impossible_is_found_before_the_first_step(
    step: str, told: str, tmp_path: Path
) -> None:
    World(tmp_path).plan(step, INPUTS)  # on a check others may be given
    assert told in problem(tmp_path, step, begins=True)


@pytest.mark.parametrize("step", NOT_CERTAIN)
def test_what_may_succeed_is_not_refused(step: str, tmp_path: Path) -> None:
    assert World(tmp_path).plan(step, INPUTS).spec


def test_what_only_the_run_can_tell_is_listed(tmp_path: Path) -> None:
    steps = """
    - {id: a, type: do}
    - {id: f, type: fan-out, items: "{{ steps.a.output.gave }}", max_concurrency: "{{ inputs.n }}",
       step: {id: p, type: prompt, prompt: x, integration: "{{ item }}"}}
    - {id: i, type: if, condition: "{{ inputs.on }}", then: [{id: b, type: init, here: true}]}
    """
    lines = World(tmp_path).plan(steps, INPUTS).describe()
    at = [*lines].index("not checked until the run comes there:")
    assert lines[at + 1 : at + 3] == [
        "  f: items is {{ steps.a.output.gave }}", "  p: integration is {{ item }}",
    ]  # fmt: skip
    assert lines[at + 3].startswith("  b: needs the program 'specify'")


def test_an_init_before_may_name_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "specify").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    steps = """
    - {id: i, type: init, here: true, integration: claude}
    - {id: a, type: prompt, prompt: x}
    """
    assert World(tmp_path).plan(steps, INPUTS).spec


def test_included_files_are_checked_with_the_inputs_that_they_get(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.files = {
        "inner.yaml": (
            "workflow: {id: inner, name: I}\ninputs: {w: {type: number, required: true}}\n"
            "steps:\n  - "
            + FAN.format(items="[1]", width="{{ inputs.w }}").replace("do}", "shell, run: ':'}")
        )
    }
    ok = "- {id: sub, type: workflow, workflow: inner.yaml, input: {w: 2}}"
    assert world.plan(ok).spec
    with pytest.raises(BadSpec, match=r"inner.yaml:4.*max_concurrency of 'f' is 0"):
        world.plan(ok.replace("2", "0"))
