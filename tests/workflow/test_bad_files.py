"""Files that cannot be run: each is refused with its line and field, before anything happens."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from fanwise.errors import BadSpec
from fanwise.specs import Document, parse, read, registry
from fanwise.workflow.spec.workflow_file import MOST_FILES, MOST_INCLUDED, load
from tests.workflow.support import HEADER, document, file_of, problems

GATE = "{id: g, type: gate, message: m"
OUT = "{id: f, type: fan-out, items: [1], step: {id: i, command: c}"

STEPS = [
    # a step, where in its file it is wrong (the field after steps[0]), what is said
    ("- run", "", "a step must be a mapping"),
    ("- {command: x}", ".id", "is missing"),
    ("- {id: '', command: x}", ".id", "must not be empty"),
    ("- {id: 5, command: x}", ".id", "must be text, not 5"),
    ("- {id: 'a:b', command: x}", ".id", "must have no `:`"),
    ("- {id: a}", ".command", "is missing"),
    ("- {id: a, type: shel, run: x}", ".type", "no type of steps 'shel'; did you mean `shell`?"),
    ("- {id: a, type: [shell], run: x}", ".type", "must be the name of a type"),
    ("- {id: a, type: shell}", ".run", "is missing"),
    ("- {id: a, type: shell, run: 5}", ".run", "must be text, not 5"),
    ("- {id: a, type: shell, run: x, rum: y}", ".rum", "is not known here; did you mean `run`?"),
    ("- {id: a, type: shell, run: x, timeout: 0}", ".timeout", "more than 0"),
    ("- {id: a, type: shell, run: x, timeout: soon}", ".timeout", "is not a duration"),
    ("- {id: a, type: shell, run: x, output_format: xml}", ".output_format", "must be `json`"),
    ("- {id: a, type: shell, run: x, continue_on_error: maybe}", ".continue_on_error", "true or f"),
    ("- {id: a, type: shell, run: x, retry: -1}", ".retry", "at least 0"),
    ("- {id: a, type: shell, run: x, needs: gpu}", ".needs", "no cap 'gpu'; declare it under"),
    ("- {id: a, type: shell, run: x, on_failure: {id: b}}", ".on_failure", "must be a list of st"),
    ("- {id: a, type: shell, run: x, on_failure: [{id: b}]}", ".on_failure[0].command", "missing"),
    ("- {id: a, type: shell, run: '{{ 1 + }}'}", ".run", "character 7: a value is expected"),
    ("- {id: a, type: shell, run: 'echo {{ x'}", ".run", "{{ is not closed by }}"),
    ("- {id: a, type: prompt, prompt: '{{ inputs.x | title }}'}", ".prompt", "a filter ("),
    ("- {id: a, command: x, input: {args: '{{ ? }}'}}", ".input.args", "'?' means nothing"),
    ("- {id: a, command: x, input: [1]}", ".input", "must be a mapping"),
    ("- {id: a, type: gate}", ".message", "is missing"),
    (f"- {GATE}, options: []}}", ".options", "at least 1 entries"),
    (f"- {GATE}, options: [1, 2]}}", ".options[0]", "must be text"),
    (f"- {GATE}, options: [a, A, reject]}}", ".options", "two options are the same"),
    (f"- {GATE}, on_reject: stop}}", ".on_reject", "must be `abort`, `skip` or `retry`"),
    (f"- {GATE}, options: [yes, no]}}", "", "needs an option `reject` or `abort`"),
    (f"- {GATE}, verdict_input: v}}", ".verdict_input", "there is no input 'v'"),
    ("- {id: a, type: if, then: []}", ".condition", "is missing"),
    ("- {id: a, type: if, condition: true}", ".then", "is missing"),
    ("- {id: a, type: if, condition: x > 1, then: []}", ".condition", "write: '{{ x > 1 }}'"),
    ("- {id: a, type: if, condition: 1, then: []}", ".condition", "must be true, false or text"),
    ("- {id: a, type: if, condition: true, then: {}}", ".then", "must be a list of steps"),
    ("- {id: a, type: if, condition: true, then: [{id: b}]}", ".then[0].command", "is missing"),
    ("- {id: a, type: switch, cases: {x: []}}", ".expression", "is missing"),
    ("- {id: a, type: switch, expression: x}", ".cases", "is missing"),
    ("- {id: a, type: switch, expression: x, cases: {}}", ".cases", "with one at least"),
    ("- {id: a, type: switch, expression: x, cases: {y: {}}}", ".cases", "must be a list of st"),
    ("- {id: a, type: switch, expression: x, cases: {y: [1]}}", ".cases.y[0]", "must be a mapping"),
    ("- {id: a, type: while, condition: go on, steps: []}", ".condition", "has no braces"),
    ("- {id: a, type: while, condition: true}", ".steps", "is missing"),
    ("- {id: a, type: while, condition: true, max_iterations: 0, steps: []}", ".max_iterations",
     "at least 1"),
    ("- {id: a, type: do-while, condition: true, max_iterations: true, steps: []}",
     ".max_iterations", "a whole number"),
    ("- {id: f, type: fan-out, step: {id: i, command: c}}", ".items", "is missing"),
    ("- {id: f, type: fan-out, items: [1]}", ".step", "is missing"),
    ("- {id: f, type: fan-out, items: [1], step: [1]}", ".step", "must be a step"),
    ("- {id: f, type: fan-out, items: all, step: {id: i, command: c}}", ".items", "must be a list"),
    ("- {id: f, type: fan-out, items: 'x {{ y }}', step: {id: i, command: c}}", ".items", "a list"),
    ("- {id: f, type: fan-out, items: [1], step: {id: i}}", ".step.command", "is missing"),
    (f"- {OUT}, max_concurrency: 0}}", ".max_concurrency", "at least 1, or one {{ }}"),
    (f"- {OUT}, max_concurrency: many}}", ".max_concurrency", "at least 1, or one {{ }}"),
    (f"- {OUT}, max_concurrency: 1.5}}", ".max_concurrency", "at least 1, or one {{ }}"),
    (f"- {OUT}, halt: always}}", ".halt", "must be `never` or `failure`"),
    ("- {id: a, type: fan-in, wait_for: []}", ".wait_for", "at least 1 entries"),
    ("- {id: a, type: fan-in, wait_for: [b]}", ".wait_for[0]", "there is no step 'b'"),
    ("- {id: a, type: fan-in, wait_for: [a]}", ".wait_for[0]", "cannot wait for itself"),
    ("- {id: a, type: workflow}", ".workflow", "is missing"),
    ("- {id: a, type: workflow, workflow: none.yaml}", ".workflow", "cannot be read: No such file"),
    ("- {id: a, type: sample}", "", "has `file` or `spec`"),
    ("- {id: a, type: sample, file: a, spec: {}}", "", "has `file` or `spec`"),
    ("- {id: a, type: shell, run: '{{ inputs.x }}'}", ".run", "there is no input 'x'"),
    ("- {id: a, type: shell, run: '{{ steps.b.output }}'}", ".run", "there is no step 'b'; known"),
    ("- {id: a, type: shell, run: '{{ step.a.output }}'}", ".run", "did you mean `steps`?"),
    ("- {id: a, type: shell, run: '{{ context.run }}'}", ".run", "did you mean `run_id`?"),
    ("- {id: a, type: shell, run: '{{ item }}'}", ".run", "only inside a fan-out"),
]  # fmt: skip


@pytest.mark.parametrize(("step", "field", "told"), STEPS)
def test_a_bad_step(step: str, field: str, told: str) -> None:
    found = [p for p in problems(file_of(step)) if p.field == f"steps[0]{field}"]
    assert found, problems(file_of(step))
    assert told in found[0].message
    assert found[0].line == 4 and found[0].column is not None


TOPS = [
    ("schema_version: '2.0'", "schema_version", "must be '1.0'"),
    ("scheme_version: '1.0'", "scheme_version", "did you mean `schema_version`?"),
    ("caps: {gpu: 0}", "caps.gpu", "at least 1"),
    ("budget: {euro: 1}", "budget.euro", "is not known here"),
    ("requires: []", "requires", "must be a mapping"),
    ("requires: {permissions: {}}", "requires.permissions", "is not known here"),
    ("inputs: []", "inputs", "must be a mapping"),
    ("inputs: {x: text}", "inputs.x", "must be a mapping"),
    (
        "inputs: {x: {type: text}}",
        "inputs.x.type",
        "must be `string`, `number`, `boolean`, `list` or `object`",
    ),
    ("inputs: {x: {typ: string}}", "inputs.x.typ", "did you mean `type`?"),
    ("inputs: {x: {type: number, default: many}}", "inputs.x", "the default must be a number"),
    ("inputs: {x: {default: 5}}", "inputs.x", "the default must be text, not 5"),
    ("inputs: {x: {default: a, enum: [b, c]}}", "inputs.x", "must be one of 'b', 'c', not 'a'"),
    ("inputs: {x: {enum: a}}", "inputs.x.enum", "must be a list"),
    ("inputs: {x: {enum: []}}", "inputs.x.enum", "at least 1 entries"),
    ("inputs: {x: {type: number, enum: [one]}}", "inputs.x", "a value of `enum` must be a number"),
    ("inputs: {x: {required: perhaps}}", "inputs.x.required", "must be true or false"),
]


@pytest.mark.parametrize(("top", "field", "told"), TOPS)
def test_a_bad_top(top: str, field: str, told: str) -> None:
    text = f"workflow: {{id: w, name: W}}\n{top}\nsteps: [{{id: a, command: x}}]\n"
    found = [problem for problem in problems(text) if problem.field == field]
    assert found and found[0].line == 2 and told in found[0].message


@pytest.mark.parametrize(
    ("header", "field", "told"),
    [
        ("{name: W}", "workflow.id", "is missing"),
        ("{id: My Flow, name: W}", "workflow.id", "must be"),
        ("{id: 'a-', name: W}", "workflow.id", "must be"),
        ("{id: w}", "workflow.name", "is missing"),
        ("{id: w, name: ''}", "workflow.name", "at least 1 characters"),
        ("{id: w, name: W, version: '1.0'}", "workflow.version", "must be X.Y.Z"),
        ("{id: w, name: W, version: 1.0}", "workflow.version", "must be text"),
        ("{id: w, name: W, options: [1]}", "workflow.options", "must be a mapping"),
        ("{id: w, name: W, autor: x}", "workflow.autor", "did you mean `author`?"),
        ("{id: w, name: W, model: '{{ inputs.m }}'}", "workflow.model", "there is no input 'm'"),
        ("text", "workflow", "must be a mapping"),
    ],
)
def test_a_bad_header(header: str, field: str, told: str) -> None:
    found = problems(f"steps: [{{id: a, command: x}}]\nworkflow: {header}\n")
    assert [(each.field, each.line) for each in found] == [(field, 2)]
    assert told in found[0].message


def test_no_steps() -> None:
    assert problems("workflow: {id: w, name: W}")[0].field == "steps"
    assert problems("workflow: {id: w, name: W}\nsteps: []")[0].line == 2
    assert "must be a list" in problems("workflow: {id: w, name: W}\nsteps: {}")[0].message


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = file_of(
        """
        - id: a
          type: if
          condition: no braces
          then:
            - {id: b, type: shel, run: x}
          else:
            - {id: c, type: shell, run: '{{ ( }}'}
        - {id: d}
        """
    )
    assert [(each.line, each.field) for each in problems(text)] == [
        (6, "steps[0].condition"),
        (8, "steps[0].then[0].type"),
        (10, "steps[0].else[0].run"),
        (11, "steps[1].command"),
    ]


def test_ids_are_unique_across_nesting_and_free_in_templates() -> None:
    text = file_of(
        """
        - {id: a, command: x}
        - id: b
          type: if
          condition: true
          then:
            - {id: a, command: x}
          on_failure:
            - {id: b, command: x}
        - {id: f, type: fan-out, items: [1], step: {id: a, command: x}}
        - id: g
          type: fan-out
          items: [1]
          step:
            id: h
            type: if
            condition: true
            then:
              - {id: a, command: x}
              - {id: h, command: x}
        """
    )
    found = problems(text)
    assert [(each.line, each.field) for each in found] == [
        (9, "steps[1].then[0].id"),
        (11, "steps[1].on_failure[0].id"),
        (22, "steps[3].step.then[1].id"),
    ]
    assert found[0].message == "'a' is there twice, and first in line 4"


def test_a_fan_in_waits_for_what_came_before() -> None:
    text = file_of(
        """
        - {id: j, type: fan-in, wait_for: [later, "later:i:0", latr]}
        - {id: later, type: fan-out, items: [1], step: {id: i, command: x}}
        - {id: fine, type: fan-in, wait_for: [later, "later:i:0"]}
        """
    )
    assert [(each.field, each.message) for each in problems(text)] == [
        ("steps[0].wait_for[0]", "the step 'later' comes after this one"),
        ("steps[0].wait_for[1]", "the step 'later:i:0' comes after this one"),
        ("steps[0].wait_for[2]", "there is no step 'latr'; did you mean `later`?"),
    ]


def test_what_is_done_on_a_failure_comes_after_what_is_in_the_step() -> None:
    text = file_of(
        """
        - id: box
          type: if
          condition: true
          on_failure: [{id: j, type: fan-in, wait_for: [box, inner]}]
          then: [{id: inner, command: x}, {id: k, type: fan-in, wait_for: [j]}]
        """
    )
    assert [(each.field, each.message) for each in problems(text)] == [
        ("steps[0].then[1].wait_for[0]", "the step 'j' comes after this one")
    ]


def test_more_of_a_cap_than_there_is() -> None:
    steps = """
    - {id: a, type: shell, run: x, needs: {gpu: 2}}
    - {id: b, type: if, condition: true, needs: {api: 9}, then: []}
    - {id: fine, type: shell, run: x, needs: {gpu: 1, api: 8, asked: 5}}
    """
    limits = "caps: {gpu: 1, api: {start: 2, most: 8}}\nrates: {asked: {rpm: 60}}\n"
    assert [(each.line, each.field, each.message) for each in problems(file_of(steps, limits))] == [
        (4, "steps[0].needs", "2 of the cap 'gpu', which has only 1"),
        (5, "steps[1].needs", "9 of the cap 'api', which has only 8"),
    ]


def test_a_verdict_of_an_input_needs_one_answer() -> None:
    gate = "type: gate, message: m, verdict_input: v"
    found = problems(
        file_of(
            f"- {{id: f, type: fan-out, items: [1], step: {{id: g, {gate}}}}}\n"
            f"- {{id: r, {gate}, on_reject: retry}}",
            "inputs: {v: {enum: [approve, reject]}}",
        )
    )
    assert [each.field for each in found] == [
        "steps[0].step.verdict_input",
        "steps[1].verdict_input",
    ]
    assert "whose `enum` has no ''" in found[1].message


def test_a_system_that_is_not_there_says_so() -> None:
    missing = [name for name in ("plan", "optimize") if not _available(name)]
    for name in missing:
        found = problems(file_of(f"- {{id: a, type: {name}, file: x.yaml}}"))
        assert (found[0].field, found[0].line) == ("steps[0].type", 4)
        assert f"has no system '{name}' yet" in found[0].message


def _available(name: str) -> bool:
    try:
        registry.system(name)
    except Exception:
        return False
    return True


# -- files that include each other ----------------------------------------------------------------


def include(name: str) -> str:
    return file_of(f"- {{id: s, type: workflow, workflow: {name}.yaml}}")


def refused(tmp_path: Path, **files: str) -> BadSpec:
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    with pytest.raises(BadSpec) as caught:
        load(read(tmp_path / "a.yaml"))
    return caught.value


def test_files_that_include_each_other(tmp_path: Path) -> None:
    error = refused(
        tmp_path, a=include("b"), b=include("../" + tmp_path.name + "/c"), c=include("a")
    )
    assert "the files include each other: a.yaml → b.yaml → c.yaml → a.yaml" in str(error)
    assert (error.problems[0].line, error.problems[0].field) == (4, "steps[0].workflow")
    assert "include each other: a.yaml → a.yaml" in str(refused(tmp_path, a=include("a")))


def test_a_chain_of_files_has_an_end(tmp_path: Path) -> None:
    files = {f"f{n}": include(f"f{n + 1}") for n in range(MOST_FILES + 5)}
    assert f"more than {MOST_FILES} files" in str(refused(tmp_path, a=include("f0"), **files))


def twice(name: str) -> str:
    return file_of(
        f"""
        - {{id: s, type: workflow, workflow: {name}.yaml}}
        - {{id: t, type: workflow, workflow: {name}.yaml}}
        """
    )


@pytest.mark.parametrize("last", [file_of("- {id: x, type: gate, message: m}"), "no: steps"])
def test_files_that_name_each_other_twice_are_read_once_and_bounded(
    last: str, tmp_path: Path
) -> None:
    names = ["a", *(f"f{n}" for n in range(MOST_FILES - 1))]
    files = {name: twice(after) for name, after in pairwise(names)} | {names[-1]: last}
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    seen: list[Path] = []

    def counted(path: Path) -> Document:
        seen.append(path)
        assert len(seen) <= len(files), "a file is read again"
        return read(path)

    with pytest.raises(BadSpec) as caught:
        load(read(tmp_path / "a.yaml"), read=counted)
    if "gate" in last:
        assert f"more than {MOST_INCLUDED} files" in str(caught.value)


def test_a_file_that_was_read_before_is_no_way_around_the_bound_on_the_chain(
    tmp_path: Path,
) -> None:
    last = MOST_FILES - 2
    files = {f"f{n}": include(f"f{n + 1}") for n in range(last)}
    files[f"f{last}"] = file_of("- {id: x, type: gate, message: m}")
    deep = {f"g{n}": include(f"g{n + 1}") for n in range(5)} | {"g5": include("f0")}
    main = file_of(
        """
        - {id: s, type: workflow, workflow: f0.yaml}
        - {id: t, type: workflow, workflow: g0.yaml}
        """
    )
    assert f"more than {MOST_FILES} files" in str(refused(tmp_path, a=main, **files, **deep))


def test_a_link_that_leads_back_is_a_cycle(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    error = refused(tmp_path, a=include("link/a"))
    assert "the files include each other: a.yaml → a.yaml" in str(error)


def test_what_is_wrong_in_an_included_file_is_said_with_its_own_place(tmp_path: Path) -> None:
    error = refused(tmp_path, a=include("b"), b=file_of("- {id: x}\n- {id: y}"))
    assert (error.problems[0].line, error.problems[0].field) == (4, "steps[0].workflow")
    assert "b.yaml:4:5: steps[0].command: is missing (and 1 more)" in str(error)


def test_inputs_of_an_included_file(tmp_path: Path) -> None:
    child = HEADER + "inputs: {what: {required: true}}\nsteps: [{id: x, command: c}]\n"
    main = file_of("- {id: s, type: workflow, workflow: b.yaml, input: {waht: 1}}")
    error = refused(tmp_path, a=main, b=child)
    assert "steps[0].input.waht: b.yaml has no such input; did you mean `what`?" in str(error)
    assert "steps[0]: b.yaml needs the input 'what'" in str(error)
    assert {problem.line for problem in error.problems} == {4}


# -- files that are no files ----------------------------------------------------------------------


def test_a_file_of_five_megabytes(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(HEADER + "steps:\n" + "  - {id: a, command: x}\n" * 220_000)
    assert file.stat().st_size > 5_000_000
    with pytest.raises(BadSpec, match="more than 1 MB"):
        read(file)


def test_bombs_and_loops_of_anchors() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(c)}: &{chr(c)} [{', '.join(['*' + chr(c - 1)] * 9)}]\n" for c in range(98, 110)
    )
    for text, told in (
        (HEADER + bomb, "unfold to more than"),
        (HEADER + "steps: &s [{id: a, type: if, condition: true, then: *s}]", "would hold itself"),
        (HEADER + "steps: &s\n  - {id: a, command: *none}", "there is no anchor"),
        (HEADER + "steps: " + "[" * 5000, "more than 100 levels"),
        (HEADER + "steps:\n  - <<: {id: a}\n", "merging with << is not known here"),
    ):
        with pytest.raises(BadSpec, match=r"^w") as caught:
            document(text)
        assert told in str(caught.value)
        assert caught.value.problems[0].line is not None


def test_steps_shared_by_an_alias_are_two_steps_with_one_id() -> None:
    text = file_of(
        """
        - {id: a, type: if, condition: true, then: &s [{id: b, command: x}], else: *s}
        """
    )
    assert "'b' is there twice" in problems(text)[0].message


def test_steps_nested_as_deeply_as_a_file_can_be() -> None:
    text = "{id: s, command: x}"
    for n in range(46):
        text = f"{{id: i{n}, type: if, condition: true, then: [{text}]}}"
    assert len([*load(document(file_of(f"- {text}"))).walk()]) == 47
    deep = f"- {text}".replace("command: x", "command: '{{ ( }}'")
    assert problems(file_of(deep))[0].field.endswith(".then[0].command")


def test_a_file_with_thousands_of_steps_is_read() -> None:
    text = file_of("\n".join(f"- {{id: s{n}, type: shell, run: 'echo {n}'}}" for n in range(3000)))
    assert len(load(parse(text.encode(), "w.yaml", Path("/x"))).steps) == 3000
