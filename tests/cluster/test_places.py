"""`on` in files, on the command line and in Python: the same place, or a refusal by name."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fanwise import Ray, run_file, run_matrix, sample
from fanwise.errors import BadSpec, UsageError
from fanwise.kernel.run import open_run
from fanwise.matrix import Matrix
from fanwise.specs import read, runnable_again, runnable_of, system_of
from fanwise.specs.place import place_of
from fanwise.testing import ScriptedModel

MAP = "map:\n  command: [echo]\n  input: lines\n  on: {on}\n"
MATRIX = """matrix:
  name: m
  models: ["openai:tiny"]
  prompts: {{p: "{{{{ input.text }}}}"}}
  inputs: {{items: [{{id: a, text: b}}]}}
  on: {on}
"""
SAMPLE = 'sample:\n  model: "openai:tiny"\n  prompt: hello\n  on: {on}\n'
WORKFLOW = """workflow: {{id: w, name: w}}
on: {on}
steps:
  - {{id: one, type: shell, run: echo 1}}
"""
PLAN = "plan:\n  goal: tidy\n  each: {{workflow: w.yaml}}\n  on: {on}\n"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-used")


def written(folder: Path, text: str, on: str = "ray") -> Path:
    (folder / "lines").write_text("1\n2\n")
    file = folder / "file.yaml"
    file.write_text(text.format(on=on))
    return file


def runnable(file: Path) -> Any:
    document = read(file)
    return runnable_of(system_of(document), document, {})


@pytest.mark.parametrize("text", [MAP, MATRIX, SAMPLE, WORKFLOW])
def test_a_file_says_where_it_runs_and_a_resume_knows_it(text: str, tmp_path: Path) -> None:
    made = runnable(written(tmp_path, text))
    assert repr(made.on) == "Ray()"
    kind = system_of(read(tmp_path / "file.yaml"))
    again = runnable_again(kind, json.loads(json.dumps(made.spec)), {})
    assert repr(getattr(again, "on", None)) == "Ray()"
    other = runnable(written(tmp_path, text, "ray://host:10001"))
    assert repr(other.on) == "Ray('ray://host:10001')"


@pytest.mark.parametrize("text", [MAP, MATRIX, SAMPLE, WORKFLOW])
def test_a_file_says_what_a_worker_takes(text: str, tmp_path: Path) -> None:
    on = "{address: auto, workers: 3, cpus: 2, gpus: 0.5, memory: 8GiB, resources: {tpu: 1}}"
    place = runnable(written(tmp_path, text, on)).on
    assert repr(place) == "Ray('auto')"
    needs = place._needs
    assert (needs.most, needs.cpus, needs.gpus) == (3, 2, 0.5)
    assert (needs.memory, needs.resources) == (8 * 2**30, {"tpu": 1})


@pytest.mark.parametrize("text", [MAP, MATRIX, SAMPLE, WORKFLOW])
@pytest.mark.parametrize(
    ("on", "told"),
    [("rya", "'rya' is no place"), ("{cpu: 2}", "cpus"), ("{cpus: 0}", "cpus"), ("8", "on")],
)
def test_a_place_that_cannot_be_is_told_with_its_line(
    text: str, on: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(BadSpec, match=told) as error:
        runnable(written(tmp_path, text, on))
    assert error.value.problems[0].line == text.split("on: {on}")[0].count("\n") + 1


def test_a_plan_of_workflows_is_refused_by_name(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(BadSpec, match="plan works in workspaces of this machine"):
        runnable(written(tmp_path, PLAN))
    assert not (tmp_path / ".fanwise").exists()


class StaysHere:
    stays_here = True


def test_so_is_the_option_of_the_command_line() -> None:
    here: Any = StaysHere()
    with pytest.raises(UsageError, match="plan works in workspaces of this machine"):
        place_of("ray", "plan", here)
    assert place_of("here", "plan", here) is place_of(None, "plan", here) is None


def test_the_command_line_has_the_last_word(tmp_path: Path) -> None:
    made = runnable(written(tmp_path, MAP))
    assert repr(place_of(None, "map", made)) == "Ray()"
    assert repr(place_of("auto", "map", made)) == "Ray('auto')"
    assert place_of("here", "map", made) is None
    with pytest.raises(UsageError, match="--on is 'rya'"):
        place_of("rya", "map", made)


def test_an_included_workflow_has_no_place_of_its_own(tmp_path: Path) -> None:
    written(tmp_path, WORKFLOW)
    outer = tmp_path / "outer.yaml"
    outer.write_text(
        "workflow: {id: o, name: o}\nsteps:\n  - {id: in, type: workflow, workflow: file.yaml}\n"
    )
    with pytest.raises(BadSpec, match="a run has one place"):
        runnable(outer)


def test_a_part_of_a_run_has_no_place_of_its_own(tmp_path: Path) -> None:
    matrix = Matrix(
        "m", models=ScriptedModel(lambda _: "yes"), inputs=[{"id": "a"}], prompts={"p": "hello"}
    )

    async def main() -> None:
        async with open_run(journal=":memory:") as run:
            with pytest.raises(UsageError, match="a part of a run"):
                await run_matrix(matrix, run=run, on=Ray())
            with pytest.raises(UsageError, match="a part of a run"):
                await run_file(written(tmp_path, WORKFLOW), run=run)
            with pytest.raises(UsageError, match="the run is open"):
                await sample(ScriptedModel(lambda _: "yes"), "hello", run=run, on=Ray())

    asyncio.run(main())


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray has no wheel here")
def test_a_file_runs_where_it_says(tmp_path: Path) -> None:
    """Its commands are children of workers, which are gone afterwards."""
    file = written(
        tmp_path, "map:\n  command: [sh, -c, 'ps -o args= $PPID']\n  input: lines\n  on: {on}\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "fanwise", "run", str(file), "--json"],
        cwd=tmp_path, capture_output=True, timeout=240, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    said = [each["stdout"] for each in json.loads(ended.stdout)["outcomes"]]
    assert len(said) == 2 and all("RayWorker" in each for each in said)
