"""An input that is secret is in no file and on no screen."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fanwise.errors import UsageError
from fanwise.workflow import run_workflow_sync
from fanwise.workflow.spec.secrets import Masker, read_secrets
from tests.cli.support import Place
from tests.workflow.support import problems

SECRET = "hunter2-Zürich"
FILE = """\
workflow: {id: w, name: W}
inputs:
  token: {secret: true, required: true}
  n: {type: number, default: 1}
steps:
  - {id: says, type: shell, run: "echo {{ inputs.token }} | tee /dev/stderr; echo >> ran"}
  - {id: same, type: shell, run: "test {{ inputs.token }} = \\"$WANTED\\""}
  - {id: gives, type: workflow, workflow: child.yaml, input: {key: "{{ inputs.token }}"}}
  - {id: which, type: switch, expression: "{{ inputs.token }}", cases: {a: []}}
  - id: each
    type: fan-out
    items: ["{{ inputs.token }}"]
    step: {id: t, type: shell, run: "echo {{ item }}"}
  - {id: fails, type: shell, run: "echo no {{ inputs.token }} >&2; exit 3", continue_on_error: true}
  - {id: ask, type: gate, message: "Use {{ inputs.token }}?"}
"""
CHILD = """\
workflow: {id: c, name: C}
inputs: {key: {}}
steps: [{id: inner, type: shell, run: "echo {{ inputs.key }}"}]
"""


def files_with(text: str, folder: Path) -> list[str]:
    wanted = text.encode()
    found = (each for each in folder.rglob("*") if each.is_file())
    return [str(each) for each in found if wanted in each.read_bytes()]


def test_it_is_in_no_file_and_on_no_screen_and_asked_again(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (tmp_path / "w.yaml").write_text(FILE)
    (tmp_path / "child.yaml").write_text(CHILD)
    screens = [
        place.process(
            "run", "w.yaml", "--run", "k", "--json", FANWISE_SECRET_TOKEN=SECRET, WANTED=SECRET
        ),
        place.process("resume", "k", "--answer", "ask=approve"),  # without the secret
        place.process(
            "resume",
            "k",
            "--answer",
            "ask=approve",
            "--json",
            FANWISE_SECRET_TOKEN=SECRET,
            WANTED=SECRET,
        ),
        place.process("show", "k", "--items"),
        place.process("export", "k"),
    ]
    assert [each.returncode for each in screens] == [3, 2, 0, 0, 0], screens
    assert b"the secret 'token' is missing" in screens[1].stderr
    shown = b"".join(each.stdout + each.stderr for each in screens)
    assert SECRET.encode() not in shown
    assert json.dumps(SECRET).strip('"').encode() not in shown
    assert files_with(SECRET, tmp_path) == []
    steps = json.loads(screens[2].stdout)["result"]["steps"]
    assert steps["says"]["output"]["stdout"] == "***\n"
    assert steps["same"]["status"] == "completed", "the step itself got the real one"
    assert (tmp_path / "ran").read_text() == "\n", "what is done stays done"


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
    mask = Masker(["one\ntwo", "one and more"])
    assert mask({"a": ["x one and more y", "two", 3]}) == {"a": ["x *** y", "***", 3]}


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
