"""An input that is secret is in no file and on no screen."""

from __future__ import annotations

import html
import json
import os
import sys
import urllib.parse
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fanwise.errors import UsageError
from fanwise.kernel.telemetry import Spans
from fanwise.processes.mask import Masker
from fanwise.workflow import Workflow, run_workflow_sync, step
from fanwise.workflow.spec.secrets import read_secrets
from tests.cli.support import Place, on_a_terminal
from tests.workflow.support import problems

SECRET = """hunter2-Zürich'"&<b>"""
FORMS = {
    text.encode()
    for text in (
        SECRET,
        html.escape(SECRET),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        str(escape(SECRET)),
        urllib.parse.quote(SECRET),
    )
}
"""How its bytes may stand in a file or on a screen."""
FILE = """\
workflow: {id: w, name: W, integration: mine}
inputs:
  token: {secret: true, required: true}
  n: {type: number, default: 1}
steps:
  - {id: says, type: shell, run: "echo {{ inputs.token }} | tee /dev/stderr secret; echo >> ran"}
  - {id: same, type: shell, run: "test {{ inputs.token }} = \\"$WANTED\\""}
  - {id: own, type: shell, run: "env > own-env; test -z \\"$FANWISE_SECRET_TOKEN\\""}
  - {id: env, type: shell,
     run: 'python3 -c "import json, os; print(json.dumps(os.getenv(chr(84))))"',
     env: {T: "{{ inputs.token }}"}, output_format: json}
  - {id: gives, type: workflow, workflow: child.yaml, input: {key: "{{ inputs.token }}"}}
  - {id: which, type: switch, expression: "{{ inputs.token }}", cases: {a: []}}
  - id: each
    type: fan-out
    items: ["{{ inputs.token }}", "other"]
    continue_on_error: true
    step:
      id: t
      type: if
      condition: "{{ item == inputs.token }}"
      then: [{id: bad, type: shell, run: "echo {{ item }}; exit 4", retry: 1}]
  - {id: all, type: map, items: ["{{ inputs.token }}"], command: [echo, "{}"]}
  - {id: py, type: call, call: "calls:echo", input: {x: "{{ inputs.token }}"}}
  - {id: raises, type: call, call: "calls:fail", input: {x: "{{ inputs.token }}"},
     continue_on_error: true, on_failure: [{id: cry, type: shell, run: "echo {{ inputs.token }}"}]}
  - {id: agent, type: prompt, prompt: "Use {{ inputs.token }}"}
  - {id: fails, type: shell, run: "echo no {{ inputs.token }} >&2; exit 3", continue_on_error: true}
  - {id: ask, type: gate, message: "Use {{ inputs.token }}?", show_file: secret}
  - {id: last, type: shell, run: "echo {{ inputs.token }} >&2; exit 5"}
on_end:
  - {id: bye, type: shell, run: "echo {{ context.error }} {{ inputs.token }}; exit 6"}
"""
CHILD = """\
workflow: {id: c, name: C}
inputs: {key: {}}
steps: [{id: inner, type: shell, run: "echo {{ inputs.key }}"}]
"""
CALLS = """\
def echo(x):
    return {"got": [x, {x: x}]}

def fail(x):
    raise ValueError(f"{x} is wrong")
"""
AGENTS = "integrations: {mine: {argv: [echo, '{prompt}']}}\n"


def files_with_it(folder: Path) -> list[str]:
    found = (each for each in folder.rglob("*") if each.is_file())
    return [str(each) for each in found if _has_it(each.read_bytes())]


def _has_it(content: bytes) -> list[bytes]:
    return [form for form in FORMS if form in content]


def test_it_is_in_no_file_and_on_no_screen_and_asked_again(tmp_path: Path) -> None:
    """Every command that reads or runs it, and all the bytes that they write."""
    place = Place(tmp_path)
    (tmp_path / "w.yaml").write_text(FILE)
    (tmp_path / "child.yaml").write_text(CHILD)
    (tmp_path / "calls.py").write_text(CALLS)
    (tmp_path / ".fanwise").mkdir()
    (tmp_path / ".fanwise" / "integrations.yaml").write_text(AGENTS)
    given: dict[str, Any] = {"FANWISE_SECRET_TOKEN": SECRET, "WANTED": SECRET}
    screens = {
        0: place.run("run", "w.yaml", "--dry-run", **given),
        3: place.run("run", "w.yaml", "--run", "k", "--json", **given),
        2: place.run("resume", "k", "--answer", "ask=approve"),  # without the secret
        1: place.run("resume", "k", "--answer", "ask=approve", "--json", **given),
    }
    assert {code: each.returncode for code, each in screens.items()} == {
        code: code for code in screens
    }, screens
    assert b"the secret 'token' is missing" in screens[2].stderr
    shown = [
        place.run(*words.split(), **given)
        for words in (
            "show k", "show k --items", "show k --json", "runs", "report k", "report k --json",
            "export k", "graph w.yaml", "graph --run k", "graph --run k --format mermaid",
            "graph --run k --format dot", "graph --run k --json", "simulate w.yaml --learn k",
            "simulate w.yaml --json", "check w.yaml",
        )
    ]  # fmt: skip
    for each in shown:
        assert each.returncode == 0, (each.args, each.stderr)
    on_terminal = on_a_terminal(
        place, "run", "w.yaml", "--run", "t", given=None, answer=b"approve\n", **given
    )
    assert b"Use ***?" in on_terminal and b"[1] approve" in on_terminal
    printed = [each.stdout + each.stderr for each in (*screens.values(), *shown)]
    assert [_has_it(each) for each in (*printed, on_terminal)] == [[]] * (len(printed) + 1)
    assert (tmp_path / ".fanwise" / "journal.db").stat().st_size > 10_000
    written = {str(tmp_path / "secret")}  # by a step, in the project
    assert set(files_with_it(tmp_path)) == written | {str(tmp_path / "own-env")}
    assert f"WANTED={SECRET}".encode() in (tmp_path / "own-env").read_bytes()
    assert b"FANWISE_SECRET" not in (tmp_path / "own-env").read_bytes()
    steps = json.loads(screens[1].stdout)["result"]["steps"]
    assert steps["says"]["output"]["stdout"] == "***\n"
    assert steps["env"]["output"]["data"] == "***"
    assert steps["py"]["output"] == {"got": ["***", {"***": "***"}]}
    assert "*** is wrong" in steps["raises"]["error"]
    assert steps["same"]["status"] == "completed", "the step itself got the real one"
    assert steps["bye"]["output"]["stdout"].endswith("*** ***\n")
    assert (tmp_path / "ran").read_text() == "\n\n", "what is done stays done; two runs"


def test_it_is_read_from_a_file_descriptor_and_never_typed(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(
        "workflow: {id: w, name: W}\ninputs: {t: {secret: true}}\n"
        'steps: [{id: a, type: shell, run: "test {{ inputs.t }} = abc && echo {{ inputs.t }}x"}]\n'
    )
    place = Place(tmp_path)
    typed = place.process("run", "w.yaml", "--input", "t=abc")
    assert typed.returncode == 2 and b"not typed" in typed.stderr and b"=abc" not in typed.stderr
    named = place.process("run", "w.yaml", "--json", "--input", "t=env:MINE", MINE="abc")
    assert named.returncode == 0 and b"***x" in named.stdout


def test_from_python_it_is_a_value(tmp_path: Path) -> None:
    work = {
        "workflow": {"id": "w", "name": "W"},
        "inputs": {"t": {"secret": True}},
        "steps": [{"id": "a", "type": "shell", "run": "echo {{ inputs.t }}"}],
    }
    result = run_workflow_sync(work, {"t": SECRET}, project=tmp_path)
    assert result.steps["a"].output["stdout"] == "***\n"
    with pytest.raises(UsageError, match="FANWISE_SECRET_T"):
        run_workflow_sync(work, project=tmp_path)


def test_a_descriptor(tmp_path: Path) -> None:
    end, begin = os.pipe()
    os.write(begin, b"abc\n")
    os.close(begin)
    try:
        assert read_secrets(["t"], {"t": f"fd:{end}"}, typed=True, ask=None) == {"t": "abc"}
    finally:
        os.close(end)
    assert read_secrets(["t"], {}, typed=True, ask=lambda _: "typed") == {"t": "typed"}


def test_a_mask_hides_lines_and_longer_secrets_first() -> None:
    mask = Masker(["one1\ntwo2\n}", "one1 and more"])
    assert mask({"a": ["x one1 and more y", "two2 }", 3]}) == {"a": ["x *** y", "*** }", 3]}


TOKEN = "kq7Zp2Wm9Xv4Lt6Rb8Ny"


def runs_of(content: bytes, secret: str = TOKEN) -> list[str]:
    """The runs of four characters of it that are there."""
    found = {secret[n : n + 4] for n in range(len(secret) - 3)}
    return sorted(run for run in found if run.encode() in content)


@pytest.mark.parametrize("stream", ["", ">&2"])
@pytest.mark.parametrize("inside", [1, 10, 19])
def test_no_part_of_it_stands_where_output_was_cut(
    stream: str, inside: int, tmp_path: Path
) -> None:
    """Around the middle that is left out, so that the secret straddles either cut."""
    half = 512 * 1024
    line = f"""python3 -c 'import sys; t = sys.argv[1]; w = sys.stdout.write; \
w("a" * ({half} - {inside}) + t); w("b" * (3 * {half})); w(t + "c" * ({half} - {inside}))' """
    work = {
        "workflow": {"id": "w", "name": "W"},
        "inputs": {"t": {"secret": True}},
        "steps": [
            {"id": "a", "type": "shell", "run": f"{line}{{{{ inputs.t }}}} {stream}"},
            {"id": "b", "type": "shell", "run": f"{line}{{{{ inputs.t }}}} {stream}; exit 1"},
        ],
    }
    result = run_workflow_sync(work, {"t": TOKEN}, project=tmp_path, journal=tmp_path / "j.db")
    output = result.steps["a"].output
    assert output["stderr_truncated" if stream else "stdout_truncated"]
    assert runs_of(json.dumps([output, result.steps["b"].output]).encode()) == []
    written = [each for each in tmp_path.iterdir() if each.name.startswith("j.db")]
    assert written and [runs_of(each.read_bytes()) for each in written] == [[]] * len(written)


def test_no_part_of_it_stands_where_a_file_was_cut_for_a_gate(tmp_path: Path) -> None:
    shown: list[str] = []

    def ask(message: str, text: str | None, options: list[str]) -> str:
        shown.append(text or "")
        return "approve"

    work = {
        "workflow": {"id": "w", "name": "W"},
        "inputs": {"t": {"secret": True}},
        "steps": [{"id": "a", "type": "gate", "message": "?", "show_file": "f"}],
    }
    for before in (*range(19_980, 20_001, 3), 79_990):
        (tmp_path / "f").write_text("ä" * before + TOKEN + "ä" * 100_000)
        assert run_workflow_sync(work, {"t": TOKEN}, project=tmp_path, ask=ask).ok
        assert len(shown[-1]) == 20_000 and runs_of(shown[-1].encode()) == []


def test_no_part_of_it_stands_where_an_error_was_cut(tmp_path: Path) -> None:
    """The last line of stderr is a part of the error."""
    work = {
        "workflow": {"id": "w", "name": "W"},
        "inputs": {"t": {"secret": True}},
        "steps": [
            {
                "id": "a",
                "type": "shell",
                "run": "printf %0190d%s 0 {{ inputs.t }} >&2; exit 1",
            }
        ],
    }
    result = run_workflow_sync(work, {"t": TOKEN}, project=tmp_path, journal=tmp_path / "j.db")
    assert "00***" in str(result.steps["a"].error)
    for each in tmp_path.iterdir():
        assert runs_of(each.read_bytes()) == []


@pytest.mark.parametrize(
    ("declared", "step", "told"),
    [
        ("{secret: true, default: x}", "{id: a, type: shell, run: ':'}", "without `default`"),
        ("{secret: true, type: number}", "{id: a, type: shell, run: ':'}", "a secret is a string"),
        (
            "{secret: true}",
            "{id: a, type: sample, spec: {prompt: '{{ inputs.t }}'}}",
            "records what it is given",
        ),
        (
            "{secret: true}",
            "{id: a, type: sample, spec: {prompt: '{{ inputs | to_json }}'}}",
            "records what it is given",
        ),
        *(
            ("{secret: true}", f'{{id: a, type: shell, run: "echo {{{{ {given} }}}}"}}', told)
            for given, told in (
                ("inputs.t | upper", "`upper` would change a secret"),
                ("inputs.t | lower", "`lower` would change a secret"),
                ("inputs.t | split('-')", "`split` would change a secret"),
                ("(inputs.t | from_json).key", "`from_json` would change a secret"),
                ("inputs | to_json | upper", "`upper` would change a secret"),
                ("['x', 'a' + inputs.t] | join(',') | lower", "`lower` would change a secret"),
            )
        ),
    ],
)
def test_what_a_secret_cannot_be(declared: str, step: str, told: str) -> None:
    text = f"workflow: {{id: w, name: W}}\ninputs: {{t: {declared}}}\nsteps: [{step}]\n"
    assert told in problems(text)[0].message


def test_a_gate_does_not_show_it(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(message: str, shown: str | None, options: list[str]) -> str:
        asked.append(message)
        return "approve"

    work = {
        "workflow": {"id": "w", "name": "W"},
        "inputs": {"t": {"secret": True}},
        "steps": [{"id": "a", "type": "gate", "message": "Use {{ inputs.t }}?"}],
    }
    assert run_workflow_sync(work, {"t": SECRET}, project=tmp_path, ask=ask).ok
    assert asked == ["Use ***?"]


@pytest.mark.parametrize(
    "given",
    ["item | upper", "item | lower", "item | split('4')", "('[' + item + ']') | from_json"],
)
def test_what_comes_of_a_secret_by_other_ways_is_not_changed_either(
    given: str, tmp_path: Path
) -> None:
    """Through the input of another file, into the items of a fan-out."""
    (tmp_path / "child.yaml").write_text(
        "workflow: {id: c, name: C}\ninputs: {key: {}}\nsteps:\n"
        "  - {id: all, type: fan-out, items: ['{{ inputs.key }}'], step:\n"
        f'      {{id: s, type: shell, run: "echo {{{{ {given} }}}}"}}}}\n'
    )
    work = {
        "workflow": {"id": "w", "name": "W"},
        "inputs": {"t": {"secret": True}},
        "steps": [
            {
                "id": "a",
                "type": "workflow",
                "workflow": "child.yaml",
                "input": {"key": "x {{ inputs.t }}"},
            }
        ],
    }
    result = run_workflow_sync(
        work, {"t": TOKEN}, project=tmp_path, folder=tmp_path, journal=tmp_path / "j.db"
    )
    assert "would change a secret" in str(result.failures), result
    for each in tmp_path.iterdir():
        content = each.read_bytes()
        assert [runs_of(content, form) for form in (TOKEN, TOKEN.upper(), TOKEN.lower())] == [
            [], [], [],
        ]  # fmt: skip


def test_what_leaves_a_secret_whole_is_masked(tmp_path: Path) -> None:
    work = {
        "workflow": {"id": "w", "name": "W"},
        "inputs": {"t": {"secret": True}},
        "steps": [
            {"id": "a", "type": "shell", "run": "echo {{ ['x', inputs.t | trim] | join('-') }}"},
            {"id": "b", "type": "shell", "run": "printf %s {{ inputs.t }} | base64"},
            {"id": "c", "type": "shell", "run": "echo {{ inputs | to_json }} {{ inputs.t != '' }}"},
        ],
    }
    result = run_workflow_sync(work, {"t": f" {TOKEN} "}, project=tmp_path).require()
    assert result.steps["a"].output["stdout"] == "x-***\n"
    assert "***" in result.steps["b"].output["stdout"]
    assert result.steps["c"].output["stdout"] == '{"t": " *** "} True\n'


def test_another_system_is_given_no_secret_by_other_ways(tmp_path: Path) -> None:
    work = {
        "workflow": {"id": "w", "name": "W"},
        "inputs": {"t": {"secret": True}},
        "steps": [
            {
                "id": "a",
                "type": "fan-out",
                "items": ["{{ inputs.t }}"],
                "step": {
                    "id": "s",
                    "type": "sample",
                    "spec": {"prompt": "{{ item }}", "model": "sim:x"},
                },
            }
        ],
    }
    result = run_workflow_sync(work, {"t": TOKEN}, project=tmp_path, journal=tmp_path / "j.db")
    assert "it is given a secret" in str(result.failures)
    for each in tmp_path.iterdir():
        assert runs_of(each.read_bytes()) == []


def test_it_is_asked_for_at_the_terminal_and_not_shown(tmp_path: Path) -> None:
    """The terminal echoes what is typed unless it is told not to."""
    place = Place(tmp_path)
    (tmp_path / "w.yaml").write_text(
        "workflow: {id: w, name: W}\ninputs: {token: {secret: true}, n: {default: x}}\n"
        'steps: [{id: a, type: shell, run: "printf %s {{ inputs.token }} > got; exit 3"}]\n'
    )
    got, screens = tmp_path / "got", []
    for words in ("run w.yaml --run k", "resume k"):
        screens.append(
            on_a_terminal(
                place,
                *words.split(),
                given=None,
                answer=f"{TOKEN}\n".encode(),
                after=b"(not shown)",
            )
        )
        assert got.read_text() == TOKEN, "the step got what was typed"
        got.unlink()
    assert all(b"token (not shown): " in each for each in screens), screens
    assert [runs_of(each) for each in screens] == [[], []]
    written = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert len(written) > 1 and not any(runs_of(each.read_bytes()) for each in written)


def test_nobody_types_it(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (tmp_path / "w.yaml").write_text(
        "workflow: {id: w, name: W}\ninputs: {token: {secret: true}}\n"
        'steps: [{id: a, type: shell, run: "touch ran"}]\n'
    )
    screen = on_a_terminal(place, "run", "w.yaml", given=None, answer=b"\x04", after=b"(not shown)")
    assert b"the secret 'token' is missing" in screen and not (tmp_path / "ran").exists()


@pytest.mark.parametrize("secret", [True, False])
def test_a_reply_to_a_prompt_with_a_secret_is_not_cached(secret: bool, tmp_path: Path) -> None:
    cache = tmp_path / "replies.db"
    model = {"model": "sim:x?median_s=0.001", "options": {"cache": str(cache), "temperature": 0}}
    work = {
        "workflow": {"id": "w", "name": "W"},
        "inputs": {"t": {"secret": secret}},
        "steps": [{"id": "a", "type": "prompt", "prompt": "Use {{ inputs.t }}", **model}],
    }
    result = run_workflow_sync(work, t=TOKEN, project=tmp_path).require()
    assert result.steps["a"].output["stdout"].startswith("[simulated]")
    assert cache.exists() != secret


def test_what_functions_print_and_subscribers_and_spans_get_is_masked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prints.py").write_text(
        "import sys\n"
        "def out(x):\n"
        "    print('got', x)\n"
        "    sys.stderr.writelines([x[:5], x[5:], '\\n'])\n"
        "    sys.stdout.flush()\n"
        "    for piece in (b'raw ', x[:7].encode(), x[7:].encode()):\n"
        "        sys.stdout.buffer.write(piece)\n"
        "    raise ValueError(x)\n"
    )
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    events: list[str] = []
    given = {"x": "{{ inputs.token }}"}
    prints = step("a", "call", call="prints:out", input=given, continue_on_error=True)
    made = Workflow(
        steps=[
            step("s", "shell", run="echo {{ inputs.token }}; exit 1", continue_on_error=True),
            step("f", "fan-out", items=[1, 2], max_concurrency=2, step=prints),
        ],
        inputs={"token": {"secret": True}},
        folder=tmp_path,
    )
    before = sys.stdout, sys.stderr
    spans = Spans(provider.get_tracer("test"))
    told: Any = [lambda event: events.append(repr(event)), spans]
    result = run_workflow_sync(
        made, token=SECRET, folder=tmp_path, project=tmp_path, subscribers=told
    )
    assert (sys.stdout, sys.stderr) == before
    said = capsys.readouterr()
    assert said.out.splitlines() == ["got ***"] * 2 + ["raw ***raw ***"] and said.err == "***\n" * 2
    found = [each.to_json() for each in exporter.get_finished_spans()]
    assert len(events) > 5 and len(found) > 1 and "ValueError: ***" in repr(result)
    seen = "\n".join([*events, *found, repr(result), said.out, said.err]).encode()
    assert not [form for form in FORMS if form in seen]
