"""Workflows on the command line: options, exit codes, JSON, gates, and what `show` says."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fanwise import Outcome
from fanwise.cli.messages import print_json
from fanwise.cli.progress_line import ProgressLine
from fanwise.kernel.events import ItemEnded, ItemStarted
from fanwise.testing import virtual_time
from fanwise.view.progress import TERMINAL, Progress
from tests.cli.support import COMMAND, DEADLINE_S, Place, end

FILE = """
schema_version: "1.0"
workflow: {id: demo, name: Demo, version: 1.0.0}
inputs:
  name: {type: string, required: true}
  fail: {type: boolean, default: false}
steps:
  - {id: greet, type: shell, run: 'echo "hello {{ inputs.name }}" | tee -a said'}
  - {id: review, type: gate, message: "Publish {{ inputs.name }}?"}
  - id: publish
    type: fan-out
    items: [web, mail]
    max_concurrency: 2
    on_failure: [{id: tidy, type: shell, run: "true"}]
    step: {id: to, type: shell, run: "echo {{ item }}; test {{ inputs.fail }} = False"}
"""


@pytest.fixture
def flow(place: Place) -> Place:
    (place.path / "flow.yaml").write_text(FILE)
    return place


def told(ended: Any) -> Any:
    return json.loads(ended.stdout)


def test_a_run_pauses_at_its_gate_and_goes_on_with_the_answer(flow: Place) -> None:
    paused = flow.run("run", "flow.yaml", "--run", "d", "--input", "name=world", "--json")
    assert paused.returncode == 3
    document = told(paused)
    assert (document["run"], document["kind"], document["exit_code"]) == ("d", "workflow", 3)
    keys = ("run_id", "workflow_id", "status", "current_step_id", "current_step_index", "error")
    assert [document[key] for key in keys] == ["d", "demo", "paused", "review", 1, None]
    assert document["gate"]["message"] == "Publish world?"

    shown = flow.run("show", "d").stdout.decode()
    assert "status    paused" in shown
    assert [line.split()[:3] for line in shown.partition("results\n")[2].splitlines()[:3]] == [
        ["greet", "shell", "completed"],
        ["review", "gate", "paused"],
        ["publish", "fan-out", "pending"],
    ]

    done = flow.run("resume", "d", "--answer", "review=approve", "--json")
    assert done.returncode == 0, done.stderr
    assert told(done)["status"] == "completed"
    steps = told(done)["result"]["steps"]
    assert steps["publish:to:1"]["output"]["stdout"] == "mail\n"
    assert flow.lines("said") == ["hello world"]
    shown = flow.run("show", "d").stdout.decode()
    assert "  publish:to:0  shell     completed" in shown
    assert "status    done" in shown


def test_a_failure_is_exit_code_1_and_a_rejection_too(flow: Place) -> None:
    given = ("--input", "name=x", "--input", "fail=yes")
    paused = flow.run("run", "flow.yaml", "--run", "d", *given)
    command = b"fanwise resume d --answer review=approve"
    assert paused.stderr.endswith(b"fanwise: paused; to continue: " + command + b"\n")
    failed = flow.run(*command.decode().split()[1:])
    assert failed.returncode == 1
    assert b"publish:to:0: the command exited with code 1" in failed.stderr
    assert b"failed; to continue: fanwise resume d" in failed.stderr
    assert b"failed" in flow.run("runs").stdout
    mended = flow.run("resume", "d", "--input", "fail=no", "--json")
    assert (mended.returncode, told(mended)["status"]) == (0, "completed")

    flow.run("run", "flow.yaml", "--run", "e", "--input", "name=x")
    aborted = flow.run("resume", "e", "--answer", "review=reject", "--json")
    assert (aborted.returncode, told(aborted)["status"]) == (1, "aborted")


def test_bad_usage_is_exit_code_2_and_leaves_nothing(flow: Place) -> None:
    for options in (
        (),
        ("--input", "nam=x"),
        ("--input", "name"),
        ("--input", "name=x", "--input", "fail=perhaps"),
        ("--input", "name=x", "--stop-after", "gret"),
        ("--input", "name=x", "--compat", "other"),
    ):
        refused = flow.run("run", "flow.yaml", *options)
        assert (refused.returncode, refused.stdout) == (2, b""), options
        if options == ():
            missing = b"the input 'name' is missing\n  Give inputs by --input NAME=VALUE, or"
            assert missing in refused.stderr
    assert [file.name for file in flow.path.iterdir()] == ["flow.yaml"]


def test_leniently_an_unknown_input_is_a_warning(flow: Place) -> None:
    paused = flow.run("run", "flow.yaml", "--lenient", "--input", "name=x", "--input", "nam=y")
    assert paused.returncode == 3
    assert b"there is no input 'nam'; did you mean `name`?; it was left out" in paused.stderr


def test_a_dry_run_shows_what_is_known_and_writes_nothing(flow: Place) -> None:
    dry = flow.run("run", "flow.yaml", "--input", "name=world", "--dry-run")
    assert dry.returncode == 0
    text = dry.stdout.decode()
    assert "review (gate): message=Publish world?" in text
    assert "to (shell): run=echo {{ item }}; test {{ inputs.fail }} = False" in text
    assert text.index("to (shell)") < text.index("on_failure: tidy (shell)")
    assert [file.name for file in flow.path.iterdir()] == ["flow.yaml"]


def test_a_file_that_changed_is_said_and_the_run_keeps_its_own_copy(flow: Place) -> None:
    flow.run("run", "flow.yaml", "--run", "d", "--input", "name=world")
    (flow.path / "flow.yaml").write_text("steps: []")
    done = flow.run("resume", "d", "--answer", "review=approve")
    assert done.returncode == 0
    assert b"flow.yaml has changed since the run began" in done.stderr
    (flow.path / "flow.yaml").unlink()
    again = flow.run("resume", "d")
    assert b"is gone; the run used its own copy" in again.stderr


def test_at_a_terminal_somebody_is_asked_until_the_answer_is_one(flow: Place) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "run", "flow.yaml", "--run", "t", "--input", "name=world"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=flow.path,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    seen = b""
    for answer in (b"perhaps\n", b"1\n"):
        asked = seen.count(b"Your answer")
        while seen.count(b"Your answer") == asked:
            seen += os.read(ours, 4096)
        os.write(ours, answer)
    out, _ = process.communicate(timeout=DEADLINE_S)
    os.close(ours)
    assert b"Publish world?" in seen
    assert b"[1] approve" in seen
    assert (process.returncode, out.splitlines()[-1]) == (0, b"publish: completed")


@pytest.mark.parametrize(("key", "code"), [("Ctrl-C", 130), ("Ctrl-D", 3)])
def test_who_goes_away_from_a_question_finds_it_again(flow: Place, key: str, code: int) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "run", "flow.yaml", "--run", "t", "--input", "name=world"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=flow.path,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    seen = b""
    while b"Your answer" not in seen:
        seen += os.read(ours, 4096)
    if key == "Ctrl-C":
        process.send_signal(signal.SIGINT)
    else:
        os.write(ours, b"\x04")
    with contextlib.suppress(OSError):  # what a terminal says when the other end is closed
        while piece := os.read(ours, 4096):
            seen += piece
    process.communicate(timeout=DEADLINE_S)
    os.close(ours)
    assert process.returncode == code
    assert b"fanwise resume t" in seen
    ended = flow.run("resume", "t", "--answer", "review=approve", "--json")
    assert (ended.returncode, told(ended)["status"]) == (0, "completed")


@virtual_time
async def test_no_line_of_progress_is_drawn_over_a_question(capfd: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    monkeypatch.setenv("TERM", "xterm")
    progress = Progress()
    with ProgressLine(progress, "r"):
        await asyncio.sleep(1)
        assert "in flight" in capfd.readouterr().err
        progress(ItemStarted(at=1.0, path="g", index=0, key="g", needs=(TERMINAL,)))
        await asyncio.sleep(1)
        assert capfd.readouterr().err == ""
        progress(ItemEnded(at=2.0, path="g", outcome=Outcome(0, "done")))
        await asyncio.sleep(1)
        assert "in flight" in capfd.readouterr().err


def test_ctrl_c_finishes_the_step_and_a_resume_goes_on(place: Place) -> None:
    here, go = place.fifo("here"), place.fifo("go")
    (place.path / "w.yaml").write_text(
        'schema_version: "1.0"\nworkflow: {id: w, name: W, version: 1.0.0}\nsteps:\n'
        '  - {id: one, type: shell, run: "echo x > here; cat go; echo one >> ran"}\n'
        '  - {id: two, type: shell, run: "echo two >> ran"}\n'
    )
    process = place.start("run", "w.yaml", "--run", "c")
    here.read_text()
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert b"finishing 1 in flight" in process.stderr.readline()
    go.write_text("go")
    code, _, _ = end(process)
    assert (code, place.lines("ran")) == (130, ["one"])
    assert place.run("resume", "c").returncode == 0
    assert place.lines("ran") == ["one", "two"]


def test_the_files_of_a_run_are_its_own(tmp_path: Path, place: Place) -> None:
    inner = FILE.replace("id: demo", "id: inner").replace("required: true", "default: y")
    (place.path / "inner.yaml").write_text(inner)
    (place.path / "outer.yaml").write_text(
        'schema_version: "1.0"\nworkflow: {id: outer, name: O, version: 1.0.0}\n'
        "steps: [{id: sub, type: workflow, workflow: inner.yaml}]\n"
    )
    paused = place.run("run", "outer.yaml", "--run", "o", "--json")
    assert (paused.returncode, told(paused)["current_step_id"]) == (3, "sub:review")
    (place.path / "inner.yaml").unlink()
    done = place.run("resume", "o", "--answer", "sub:review=approve", "--json")
    assert (done.returncode, told(done)["status"]) == (0, "completed"), done.stderr
    assert "inner.yaml is gone" in " ".join(told(done)["notes"])


def test_a_type_of_the_project_needs_trust_to_check_to_run_and_to_resume(place: Place) -> None:
    folder = place.path / ".fanwise" / "steps"
    folder.mkdir(parents=True)
    (folder / "shout.py").write_text("def shout(fields, place): return {'said': fields['what']}\n")
    header, _, _ = FILE.partition("inputs:")
    steps = "[{id: s, type: shout, what: hi}, {id: g, type: gate, message: '?'}]"
    (place.path / "w.yaml").write_text(f"{header}steps: {steps}\n")
    commands = (["check", "w.yaml"], ["run", "w.yaml", "--run", "r"], ["resume", "r"])
    for command, code in zip(commands, (0, 3, 3), strict=True):
        refused = place.run(*command)
        assert (refused.returncode, b"--trust-project" in refused.stderr) == (2, True), command
        trusted = place.run(*command, "--trust-project")
        assert trusted.returncode == code, command
        # What is said to be typed next can be typed as it is.
        assert (b"resume r --answer g=approve --trust-project" in trusted.stderr) == (code == 3)


def test_json_can_say_what_utf_8_cannot(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    print_json({"half": "\ud83d", "n": 1})
    assert json.loads(capsysbinary.readouterr().out) == {"half": "\ud83d", "n": 1}
