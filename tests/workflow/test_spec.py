"""The file, schema 1.0: every kind of step, every default, typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import BadSpec, UsageError
from fanwise.specs import Document, read
from fanwise.workflow.expressions import truth
from fanwise.workflow.spec import step_types
from fanwise.workflow.spec.steps import (
    CommandStep,
    CustomStep,
    DoWhileStep,
    FanInStep,
    FanOutStep,
    GateStep,
    IfStep,
    InitStep,
    PromptStep,
    ShellStep,
    Step,
    SwitchStep,
    SystemStep,
    WhileStep,
    WorkflowStep,
)
from fanwise.workflow.spec.workflow_file import bind_inputs, load
from tests.workflow.support import HEADER, document, file_of, workflow

WHOLE = """\
schema_version: "1.0"
workflow:
  id: full-cycle
  name: "Full cycle"
  version: "1.2.3"
  author: somebody
  description: All there is
  integration: claude
  model: opus
  options: {quick: true}
requires:
  speckit_version: ">=0.7.0"
  integrations: {any: [claude, gemini]}
inputs:
  spec: {type: string, required: true, prompt: What to build}
  n: {type: number, default: 2}
  scope: {default: full, enum: [full, part]}
  verdict: {default: ""}
caps: {gpu: 2, api: {start: 1, least: 1, most: 4}}
rates: {api: {rpm: 60}}
budget: {usd: 5}
steps:
  - id: specify
    command: speckit.specify
    input: {args: "{{ inputs.spec }}", more: [1, "{{ inputs.n }}"]}
    options: {deep: true}
  - {id: ask, type: prompt, prompt: "Review {{ inputs.spec }}", model: "openai:gpt-5", timeout: 90}
  - id: tests
    type: shell
    run: "make test"
    output_format: json
    timeout: 1m30s
    retry: {times: 2, base: 1s}
    needs: [gpu, api]
    continue_on_error: true
    on_failure:
      - {id: tell, type: shell, run: "echo failed"}
  - id: review
    type: gate
    message: "Fine? {{ steps.tests.output.exit_code }}"
    options: [approve, revise, reject]
    on_reject: retry
    show_file: "{{ context.workflow_dir }}/plan.md"
    verdict_input: verdict
  - id: branch
    type: if
    condition: "{{ steps.tests.output.exit_code == 0 }}"
    then:
      - {id: yes-step, type: shell, run: "true"}
    else:
      - {id: no-step, type: shell, run: "false"}
  - id: route
    type: switch
    expression: "{{ steps.review.output.choice }}"
    cases:
      approve:
        - {id: go, type: shell, run: go}
      reject: []
    default:
      - {id: other, type: shell, run: other}
  - id: loop
    type: while
    condition: "{{ steps.fix.output.exit_code != 0 }}"
    max_iterations: 3
    steps:
      - {id: fix, type: shell, run: fix}
  - id: again
    type: do-while
    condition: false
    steps:
      - {id: once, type: shell, run: once}
  - id: all
    type: fan-out
    items: "{{ steps.tests.output.data }}"
    max_concurrency: "{{ inputs.n }}"
    halt: never
    step: {id: one, type: shell, run: "echo {{ item.name }}"}
  - id: join
    type: fan-in
    wait_for: [all, "all:one:0"]
    output: {names: "{{ fan_in.results | map('stdout') }}"}
  - {id: scaffold, type: init, here: true, integration: claude, force: "{{ inputs.n }}"}
  - {id: tried, type: sample, spec: {model: "sim:x", prompt: "{{ inputs.spec }}"}}
  - {id: swept, type: matrix, file: m.yaml}
"""


def steps_of(text: str) -> dict[str, Any]:
    return {step.id: step for step in load(document(text)).walk()}


def test_the_whole_schema() -> None:
    flow = load(document(WHOLE))
    header = flow.header
    assert (header.id, header.name, header.version) == ("full-cycle", "Full cycle", "1.2.3")
    assert flow.header.author == "somebody" and flow.header.options == {"quick": True}
    assert flow.header.integration and flow.header.integration.source == "claude"
    assert flow.document.folder == Path("/project")
    assert flow.warnings == ()
    assert list(flow.inputs) == ["spec", "n", "scope", "verdict"]
    caps, budget = flow.file.make_caps(), flow.file.make_budget()
    assert caps is not None and budget is not None
    assert flow.file.make_caps() is not caps, "each run counts for itself"
    kinds = {step.id: type(step) for step in flow.walk()}
    assert kinds == {
        "specify": CommandStep, "ask": PromptStep, "tests": ShellStep, "tell": ShellStep,
        "review": GateStep, "branch": IfStep, "yes-step": ShellStep, "no-step": ShellStep,
        "route": SwitchStep, "go": ShellStep, "other": ShellStep, "loop": WhileStep,
        "fix": ShellStep, "again": DoWhileStep, "once": ShellStep, "all": FanOutStep,
        "one": ShellStep, "join": FanInStep, "scaffold": InitStep, "tried": SystemStep,
        "swept": SystemStep,
    }  # fmt: skip
    assert [step.id for step in flow.walk()] == list(kinds), "in the file's order"


def test_the_fields_of_steps_are_parsed() -> None:
    steps = steps_of(WHOLE)
    roots = {"inputs": {"spec": "a page", "n": 2}, "steps": {"tests": {"output": {"exit_code": 0}}}}
    specify, tests = steps["specify"], steps["tests"]
    assert specify.input["args"].render(roots) == "a page"
    assert specify.input["more"].render(roots) == [1, 2]
    assert specify.options["deep"].render(roots) is True
    assert steps["ask"].timeout == 90.0 and steps["ask"].model.render(roots) == "openai:gpt-5"
    assert (tests.timeout, tests.output_format, tests.continue_on_error) == (90.0, "json", True)
    assert tests.retry.times == 2 and tests.needs == {"gpu": 1, "api": 1}
    assert [step.id for step in tests.on_failure] == ["tell"]
    assert steps["review"].options == ("approve", "revise", "reject")
    assert truth(steps["branch"].condition.render(roots)) is True
    assert steps["branch"].then[0].id == "yes-step" and steps["branch"].else_[0].id == "no-step"
    assert truth(steps["again"].condition.render(roots)) is False
    assert steps["again"].max_iterations == 10 and steps["loop"].max_iterations == 3
    assert steps["all"].max_concurrency.render(roots) == 2 and steps["all"].halt == "never"
    assert steps["all"].step is steps["one"]
    assert steps["join"].wait_for == ("all", "all:one:0")
    assert steps["tried"].spec.render(roots)["prompt"] == "a page"


def test_a_step_knows_its_place() -> None:
    steps = steps_of(WHOLE)
    assert steps["go"].where.field == "steps[5].cases.approve[0]"
    assert steps["no-step"].where.field == "steps[4].else[0]"
    error = steps["one"].where.at("run").bad("no")
    assert (error.problems[0].field, error.problems[0].line) == (
        "steps[8].step.run",
        1
        + WHOLE.splitlines().index('    step: {id: one, type: shell, run: "echo {{ item.name }}"}'),
    )


def test_what_a_step_uses_and_holds() -> None:
    steps = steps_of(WHOLE)
    found = {place: text.names() for place, text in steps["review"].texts()}
    assert found == {
        ("message",): {("steps", "tests", "output", "exit_code")},
        ("show_file",): {("context", "workflow_dir")},
    }
    assert ("input", "args") in dict(steps["specify"].texts())
    assert [(place, step.id) for place, step in steps["route"].inside()] == [
        (("cases", "approve", 0), "go"),
        (("default", 0), "other"),
    ]
    assert [(place, step.id) for place, step in steps["branch"].inside()] == [
        (("then", 0), "yes-step"),
        (("else", 0), "no-step"),
    ]


def test_defaults() -> None:
    flow = load(document("workflow: {id: a, name: A}\nsteps: [{id: x, command: c}]"))
    step = flow.steps[0]
    assert isinstance(step, CommandStep)
    assert (step.type, step.continue_on_error, step.retry, step.timeout) == (
        "command", False, None, None,
    )  # fmt: skip
    assert (step.needs, step.on_failure, step.input, step.options) == ({}, (), {}, {})
    assert flow.header.version == "0.0.0" and flow.inputs == {}
    assert flow.file.make_caps() is None and flow.file.make_budget() is None
    shell = workflow("- {id: s, type: shell, run: x}").steps[0]
    assert shell.timeout == 300.0
    gate = workflow("- {id: g, type: gate, message: Fine?}").steps[0]
    assert isinstance(gate, GateStep)
    assert (gate.options, gate.on_reject) == (("approve", "reject"), "abort")
    out = workflow("- {id: f, type: fan-out, items: [1], step: {id: i, command: c}}").steps[0]
    assert isinstance(out, FanOutStep)
    assert (out.max_concurrency, out.halt, out.items.render({})) == (1, "failure", [1])


def test_what_spec_kit_s_parser_takes_is_taken() -> None:
    """Unquoted versions, yes and no, nothing where a list may stand, numbers as keys."""
    flow = load(
        document(
            "schema_version: 1.0\n"
            "workflow: {id: a, name: A, version: 1.0.0, integration: null, options: null}\n"
            "requires: null\n"
            "steps:\n"
            "  - {id: a, type: if, condition: yes, then: [], else: null, continue_on_error: yes}\n"
            "  - {id: b, type: switch, expression: '{{ 1 }}', cases: {1: [], true: []}}\n"
            "  - {id: c, type: while, condition: '', max_iterations: null, steps: []}\n"
            "  - {id: d, type: fan-out, items: '{{ [] }}', max_concurrency: '4', step: {id: e, "
            "command: x}}\n"
        )
    )
    first, second, third, fourth = flow.steps
    assert isinstance(first, IfStep) and isinstance(third, WhileStep)
    assert first.continue_on_error is True and truth(first.condition.render({})) is True
    assert truth(third.condition.render({})) is False and third.max_iterations == 10
    assert isinstance(fourth, FanOutStep) and fourth.max_concurrency == 4
    assert isinstance(second, SwitchStep)


@pytest.mark.parametrize(
    ("value", "case"),
    [
        ("approve", "approve"), (" approve\n", "approve"), ("Approve", None), (1, "1"),
        (1.5, "1.5"),
        (True, "true"), (False, None), (None, None), ("", None),
    ],
)  # fmt: skip
def test_the_case_of_a_switch(value: Any, case: str | None) -> None:
    step = workflow(
        "- {id: s, type: switch, expression: x, cases: {approve: [], 1: [], 1.5: [], true: []}}"
    ).steps[0]
    assert isinstance(step, SwitchStep)
    assert step.case(value) == case


def test_a_custom_type_of_step_of_the_project() -> None:
    text = file_of("- {id: n, type: notify, to: '{{ inputs.who }}', retry: 1, loud: true}")
    text += "inputs: {who: {default: you}}\n"
    with pytest.raises(BadSpec, match="there is no type of steps 'notify'"):
        load(document(text))
    step = load(document(text), types=["notify"]).steps[0]
    assert isinstance(step, CustomStep)
    assert step.retry is not None and step.retry.times == 1
    assert step.fields["to"].render({"inputs": {"who": "you"}}) == "you"
    assert step.fields["loud"].source is True
    assert {place for place, _ in step.texts()} == {("to",), ("loud",)}


def test_a_registered_type_of_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_types, "registered", lambda: {"notify": {"their.package:notify"}})
    step = workflow("- {id: n, type: notify, to: you}").steps[0]
    assert isinstance(step, CustomStep) and step.type == "notify"
    with pytest.raises(BadSpec, match=r"w.yaml:4:\d+: steps\[0\].to: there is no input 'x'"):
        workflow("- {id: n, type: notify, to: '{{ inputs.x }}'}")
    monkeypatch.setattr(step_types, "registered", lambda: {"notify": {"b:S", "a:S"}})
    with pytest.raises(BadSpec, match="two packages register this type: a:S, b:S"):
        workflow("- {id: n, type: notify, to: you}")


def test_every_built_in_type_is_known() -> None:
    assert set(step_types.BUILT_IN) == {
        "command", "prompt", "shell", "init", "gate", "if", "switch", "while", "do-while",
        "fan-out", "fan-in", "workflow", "slot", "map", "call", "sample", "matrix", "plan",
        "optimize",
    }  # fmt: skip
    assert all(issubclass(kind, Step) for kind in step_types.BUILT_IN.values())


# -- lenient --------------------------------------------------------------------------------------


def test_the_lenient_are_warned_where_others_are_refused() -> None:
    text = file_of(
        """
        - {id: a, type: shell, rum: x, run: "echo {{ inputs.x }} {{ steps.zz.output }} {{ item }}"}
        """,
        "inputs: {y: {type: string, describe: me}}\nworkflows: 1\nrequires: {permissions: all}",
    )
    with pytest.raises(BadSpec) as caught:
        load(document(text))
    fields = ["workflows", "requires.permissions", "inputs.y.describe", "steps[0].rum"]
    assert {problem.field for problem in caught.value.problems} >= {"workflows", "steps[0].rum"}
    flow = load(document(text), lenient=True)
    for field in fields:
        assert any(f": {field}: is not known here" in warning for warning in flow.warnings), field
    assert any("there is no input 'x'" in warning for warning in flow.warnings)
    assert any("there is no step 'zz'" in warning for warning in flow.warnings)
    assert any("`item` is there only inside a fan-out" in warning for warning in flow.warnings)
    assert all(warning.startswith("w.yaml:") for warning in flow.warnings)
    assert [step.id for step in flow.steps] == ["a"] and list(flow.inputs) == ["y"]


def test_the_lenient_are_refused_what_cannot_work() -> None:
    with pytest.raises(BadSpec, match="is there twice"):
        workflow("- {id: a, command: x}\n- {id: a, command: y}", lenient=True)


def test_a_default_guards_what_may_be_missing() -> None:
    flow = workflow("- {id: a, type: shell, run: \"echo {{ status | default('pending') }}\"}")
    assert flow.warnings == ()


# -- inputs ---------------------------------------------------------------------------------------


def bound(inputs: str, given: dict[str, Any]) -> dict[str, Any]:
    return bind_inputs(workflow("- {id: a, command: x}", inputs), given)


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        ("string", "5", "5"),
        ("string", "", ""),
        ("number", "5", 5),
        ("number", " 5.0 ", 5),
        ("number", "5.5", 5.5),
        ("number", "-1e3", -1000),
        ("number", 5.0, 5),
        ("number", "1e30", 1e30),
        ("boolean", "true", True),
        ("boolean", "YES", True),
        ("boolean", "1", True),
        ("boolean", 1, True),
        ("boolean", "no", False),
        ("boolean", "0", False),
        ("boolean", False, False),
    ],
)
def test_inputs_become_what_they_are_declared_to_be(kind: str, given: Any, wanted: Any) -> None:
    got = bound(f"inputs: {{x: {{type: {kind}}}}}", {"x": given})["x"]
    assert got == wanted and type(got) is type(wanted)


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        ("string", 5, "must be text, not 5"),
        ("number", "five", "must be a number, not 'five'"),
        ("number", True, "must be a number, not true"),
        ("number", "nan", "must be a number"),
        ("number", "inf", "must be a number"),
        ("number", "9" * 30, "must be a number"),
        ("number", "1_000", "must be a number"),
        ("number", [1], "must be a number, not a list of 1"),
        ("boolean", "maybe", "must be true or false, not 'maybe'"),
        ("boolean", 2, "must be true or false, not 2"),
    ],
)
def test_inputs_that_are_something_else(kind: str, given: Any, told: str) -> None:
    with pytest.raises(UsageError, match="the input 'x'") as caught:
        bound(f"inputs: {{x: {{type: {kind}}}}}", {"x": given})
    assert told in str(caught.value)


def test_defaults_required_and_enums() -> None:
    inputs = """
    inputs:
      a: {type: number, default: "2.0"}
      b: {required: true, prompt: Which one}
      c: {type: boolean, default: yes}
      d: {type: number, enum: [1, 2.0]}
      e: {}
      integration: {default: auto, enum: [claude, gemini]}
    """
    assert bound(inputs, {"b": "x", "d": "2"}) == {
        "a": 2, "b": "x", "c": True, "d": 2, "integration": "auto",
    }  # fmt: skip
    assert bound(inputs, {"b": "x", "a": None})["a"] == 2, "nothing is not given"
    with pytest.raises(UsageError, match=r"the input 'b' is missing \(Which one\)"):
        bound(inputs, {})
    with pytest.raises(UsageError, match="it must be one of 1, 2, not 3"):
        bound(inputs, {"b": "x", "d": 3})
    with pytest.raises(UsageError, match="one of 'claude', 'gemini', not 'codex'"):
        bound(inputs, {"b": "x", "integration": "codex"})


def test_all_that_is_wrong_with_inputs_is_said_at_once() -> None:
    flow = workflow("- {id: a, command: x}", "inputs: {scope: {type: number}, b: {required: true}}")
    with pytest.raises(UsageError) as caught:
        bind_inputs(flow, {"scpoe": 1, "scope": "x"})
    for told in ("no input 'scpoe'; did you mean `scope`?", "a number, not 'x'", "'b' is missing"):
        assert told in str(caught.value)


# -- files as steps -------------------------------------------------------------------------------

CHILD = HEADER + "inputs: {what: {required: true}}\nsteps: [{id: x, command: c}]\n"


def folder_with(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_a_file_as_a_step(tmp_path: Path) -> None:
    main = file_of("- {id: sub, type: workflow, workflow: ./child.yaml, input: {what: '{{ 1 }}'}}")
    folder = folder_with(tmp_path, main=main, child=CHILD)
    flow = load(read(folder / "main.yaml"))
    step = flow.steps[0]
    assert isinstance(step, WorkflowStep)
    assert step.target.inputs["what"].required and step.target.steps[0].id == "x"
    assert set(flow.files()) == {str(folder / "main.yaml"), str(folder / "child.yaml")}


def test_a_resume_reads_no_file_but_its_own_copies(tmp_path: Path) -> None:
    main = file_of("- {id: sub, type: workflow, workflow: child.yaml, input: {what: a}}")
    folder = folder_with(tmp_path, main=main, child=CHILD)
    kept = {path: each.keep() for path, each in load(read(folder / "main.yaml")).files().items()}
    for file in folder.iterdir():
        file.unlink()
    again = load(
        Document.again(kept[str(folder / "main.yaml")]),
        read=lambda path: Document.again(kept[str(path)]),
    )
    assert isinstance(again.steps[0], WorkflowStep)
    assert again.steps[0].target.steps[0].id == "x"


def test_the_same_file_twice_is_no_cycle(tmp_path: Path) -> None:
    main = file_of(
        """
        - {id: a, type: workflow, workflow: child.yaml, input: {what: a}}
        - {id: b, type: workflow, workflow: child.yaml, input: {what: b}}
        """
    )
    assert len(load(read(folder_with(tmp_path, main=main, child=CHILD) / "main.yaml")).steps) == 2
