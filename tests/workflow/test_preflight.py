"""What is certain to fail is found before anything runs; what is not certain is left to the run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import BadSpec
from tests.workflow.running import World

INPUTS = (
    "inputs: {n: {type: number, default: 0}, text: {type: string, default: abc},"
    " on: {type: boolean, default: false}, dash: {default: -x}}\n"
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
    ("- {id: a, type: prompt, prompt: x, integration: cluade}", "`claude`? Add it to"),
    ("- {id: a, type: prompt, prompt: x, integration: claude, model: --yolo}", "an option"),
    ("- {id: a, type: command, command: x, integration: claude, model: --yolo}", "an option"),
    ("- {id: a, type: prompt, prompt: x, model: 'opnai:gpt'}", "mean `openai`? And no agent"),
    (
        "- {id: a, type: prompt, prompt: x, model: 'nosuch:gpt'}",
        "is no provider. And no agent",
    ),
    ("- {id: a, type: prompt, prompt: x, model: 'openai:'}", "names no model"),
    ("- {id: a, type: shell, run: ':', env: {'A=B': x}}", "'A=B' cannot be the name of a"),
    ("- {id: a, type: map, items: [1], command: [echo], env: {'': x}}", "cannot be the name"),
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
SAYS = "- {id: says, type: shell, run: echo 1}\n"


def echo(expression: str, **more: str) -> str:
    fields = "".join(f", {name}: {value}" for name, value in more.items())
    return SAYS + f"""- {{id: a, type: shell, run: "echo {expression}"{fields}}}"""


KINDS = [
    (echo("{{ steps.says.output.stdout | join(5) }}"), "`join` takes text, not a number"),
    (echo("{{ steps.says.output.stdout | contains(5) }}"), "`contains` takes text, not a number"),
    (echo("$(( {{ steps.says.output.stdout }} ))"), "inside arithmetic"),
    (echo("{{ steps.says.output.stdout + 1 }}"), "text and a number cannot be added"),
    (echo("{{ steps.says.output.exit_code | upper }}"), "`upper` takes text, not a number"),
    (echo("{{ (steps.says.output.stdout | length) | trim }}"), "`trim` takes text, not a number"),
    (echo("{{ steps.says.output.exit_code | length }}"), "`length` takes text, a list"),
    (echo("{{ -steps.says.output.stderr }}"), "text has no negative"),
    (
        SAYS + "- " + FAN.format(items="'{{ steps.says.output.stdout }}'", width="1"),
        "is text, and a list is needed",
    ),
    (
        SAYS + "- " + FAN.format(items="[1]", width="{{ steps.says.output.stdout | split(',') }}"),
        "is a list, and a number or text is needed",
    ),
    ("- " + FAN.format(items="'{{ inputs.text }}'", width="1"), "is text, and a list is needed"),
    ("- {id: a, type: shell, run: 'echo {{ inputs.n | upper }}'}", "`upper` takes text"),
    (
        """- {id: i, type: if, condition: "{{ inputs.on }}", then: [
        {id: a, type: shell, run: "echo {{ inputs.text | join(5) }}"}]}""",
        "`join` takes text",
    ),
]
CONTAINS = "{{ steps.says.output.stdout | contains(5) }}"
MAY_BE_RIGHT = [
    echo(CONTAINS).replace("echo 1}", "echo 1, continue_on_error: true}"),
    echo(CONTAINS).replace("echo 1}", "echo 1, if: '{{ inputs.on }}'}"),
    echo("{{ steps.says.output.stdout | from_json }}"),
    echo("$(( {{ steps.says.output.exit_code }} + 1 ))"),
    echo("{{ false and steps.says.output.stdout + 1 }}"),
    echo("{{ steps.says.output.stdout + 1 }}", continue_on_error="true"),
    SAYS
    + """- {id: f, type: fan-out, items: [1], step: {id: inner, type: shell, run: ":"}}
- {id: a, type: shell, run: "echo {{ steps.inner.output.stdout | contains(5) }}"}""",
    SAYS + "- " + FAN.format(items="[1]", width="{{ steps.says.output.stdout }}"),
]


@pytest.mark.parametrize(("steps", "told"), KINDS)
def test_a_check_knows_the_kinds_of_values(steps: str, told: str, tmp_path: Path) -> None:
    assert told in problem(tmp_path, steps, begins=False)


@pytest.mark.parametrize("steps", MAY_BE_RIGHT)
def test_kinds_that_may_be_right_are_not_refused(steps: str, tmp_path: Path) -> None:
    assert World(tmp_path).plan(steps, INPUTS).spec


CALLS = """
def plain(a, b=1): ...
def any(**more): ...
def none(): ...
def first(a, /): ...
"""


@pytest.mark.parametrize(
    ("call", "given", "told"),
    [
        ("plain", "{a: 1, zzz: 2}", "calls_of_check:plain: it takes no 'zzz'; known: a, b"),
        ("plain", "{a: 1, bb: 2}", "did you mean `b`?"),
        ("plain", "{b: 1}", "missing a required argument: 'a'"),
        ("none", "{b: 1}", "it takes no 'b', and nothing else"),
        ("first", "{a: 1}", "it takes no 'a'"),
        ("plain", "{a: 1}", None),
        ("any", "{x: 1}", None),
        ("none", "{}", None),
    ],
)
def test_the_keywords_of_a_call(
    call: str, given: str, told: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "calls_of_check.py").write_text(CALLS)
    monkeypatch.delitem(sys.modules, "calls_of_check", raising=False)
    step = f"- {{id: a, type: call, call: 'calls_of_check:{call}', input: {given}}}"
    if told is None:
        assert World(tmp_path).plan(step, INPUTS).spec
    else:
        assert told in problem(tmp_path, step, begins=False)


WITH_INPUTS = [
    ("- " + FAN.format(items="[1]", width="{{ inputs.n }}"), "not a whole number of at least 1"),
    ("- {id: a, type: prompt, prompt: x, integration: '{{ inputs.text }}'}", "'abc'"),
    ("- {id: a, type: prompt, prompt: x, integration: claude, model: '{{ inputs.dash }}'}", "'-x'"),
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


def test_what_is_not_there_now_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step before may make it, install it or set it."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    steps = """
    - {id: a, type: prompt, prompt: x, integration: claude}
    - {id: c, type: command, command: x, integration: claude, env: {PATH: /elsewhere}}
    - {id: m, type: prompt, prompt: x, model: "openai:gpt-5"}
    - {id: d, type: shell, run: ":", cwd: "gone/{{ inputs.n }}"}
    - {id: e, type: shell, run: ":", cwd: "{{ steps.a.output.stdout }}"}
    - {id: here, type: shell, run: ":", cwd: "."}
    - {id: s, type: prompt, prompt: x, model: "sim:one"}
    - {id: r, type: prompt, prompt: x, model: "replay:gone.jsonl"}
    """
    lines = World(tmp_path).plan(steps, INPUTS, input={"n": 1}).describe()
    at = [*lines].index("not checked until the run comes there:")
    told = lines[at + 1 :]
    assert told[0] == "  a: needs the program 'claude', which is not installed now"
    assert told[1].startswith("  m: openai:gpt-5") and "OPENAI_API_KEY" in told[1]
    assert told[2] == f"  d: the folder {tmp_path / 'gone/1'} is not there now"
    assert told[3] == "  e: cwd is {{ steps.a.output.stdout }}"
    assert told[4].startswith("  r: ") and "gone.jsonl" in told[4] and len(told) == 5


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
