"""Any file from Python: the system is found by its key, and its options are those of `run`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fanwise import Retry, fan_out, open_run, run_file, run_file_sync
from fanwise.core.retry import RetryLike
from fanwise.errors import BadSpec, NotOk, UsageError

SAMPLE = """
sample: {name: s, model: "sim:a?median_s=0.001", prompt: "Hi {{ input.who }}",
         inputs: [{id: a, who: Ann}, {id: b, who: Bob}], loop_budget: 1, concurrency_budget: 1}
"""
MATRIX = """
matrix:
  name: m
  models: ["sim:a?median_s=0.001", "sim:b?median_s=0.001"]
  inputs: [{id: "1", text: hi}]
  prompts: {plain: {prompt: "{{ input.text }}"}}
"""
WORKFLOW = """
workflow: {id: w, name: W, version: 1.0.0}
inputs: {who: {type: string, required: true}}
steps:
  - {id: hello, type: shell, run: "echo hello {{ inputs.who }}"}
  - {id: ok, type: gate, message: "Go on?"}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"s": SAMPLE, "m": MATRIX, "w": WORKFLOW}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_the_key_of_a_file_says_which_system_runs_it() -> None:
    sampled = run_file_sync("s.yaml").require()
    assert (sampled.kind, sampled.status, sampled.run_id) == ("sample", "done", None)
    assert [each["id"] for each in sampled.result] == ["a", "b"]

    crossed = run_file_sync("m.yaml", only=("model=sim:a*",)).require()
    assert (crossed.kind, len(crossed.result["cells"])) == ("matrix", 1)
    assert crossed.stats.peak["total"] == 1


def test_a_run_by_its_id_goes_on_and_asks_nothing_twice() -> None:
    first = run_file_sync("m.yaml", run="monday").require()
    again = run_file_sync("m.yaml", run="monday").require()
    assert first.run_id == again.run_id == "monday"
    assert first.result["digest"] == again.result["digest"]
    assert again.stats.peak["total"] == 0
    with open_run("monday", resume=True) as run:
        assert run.record is not None and run.record.kind == "matrix"


def test_a_workflow_that_pauses_is_not_ok_and_goes_on_with_an_answer() -> None:
    options: dict[str, Any] = {"run": "w", "input": {"who": "you"}}
    paused = run_file_sync("w.yaml", **options)
    assert (paused.ok, paused.status, paused.exit_code) == (False, "paused", 3)
    with pytest.raises(NotOk, match="workflow: paused; ok waits"):
        paused.require()
    assert run_file_sync("w.yaml", answer=("ok=approve",), **options).require().ok


@pytest.mark.parametrize("run", ["short", None])
def test_less_than_was_asked_is_halted_and_not_ok(run: str | None) -> None:
    result = run_file_sync("m.yaml", budget={"requests": 1}, run=run)
    assert (result.ok, result.status, result.run_id) == (False, "halted", run)


def test_failures_are_told_in_a_line_each(here: Path) -> None:
    (here / "bad.yaml").write_text(MATRIX.replace("0.001", "0.001&errors=1") + "  retry: 0\n")
    result = run_file_sync("bad.yaml")
    assert (result.ok, result.exit_code, len(result.failures)) == (False, 1, 2)
    assert "sim:a" in result.failures[0] and "ModelOverloaded" in result.failures[0]


def test_files_run_as_parts_of_another_run() -> None:
    async def main() -> None:
        async with open_run("all") as run:

            async def item(name: str) -> str | None:
                return (await run_file(name)).require().run_id

            done = await fan_out(item, ["s.yaml", "m.yaml"], run=run, name="files", key=str)
            assert done.values() == ["all", "all"]
            direct = await run_file("m.yaml", run=run, name="direct")
            assert direct.require().result["cells"][0]["calls"] == 1

    asyncio.run(main())


def test_what_is_wrong_is_said_before_anything_runs() -> None:
    with pytest.raises(UsageError, match="--apply is not an option of `sample`"):
        run_file_sync("s.yaml", apply=True)
    with pytest.raises(BadSpec, match="cannot be read"):
        run_file_sync("nowhere.yaml")


@pytest.mark.parametrize(("kind", "retry"), [("sample", Retry(1, 0.0)), ("matrix", 1)])
def test_retry_replaces_that_of_the_file(here: Path, kind: str, retry: RetryLike) -> None:
    """Of the simulated model, with this seed, the first reply is an error and the second is not."""
    model = "sim:a?median_s=0.001&errors=0.5&seed=20"
    calls = {"matrix": "models: [{model}], inputs: [a], prompts: hi", "sample": "model: {model}, "
             "prompt: hi, loop_budget: 1, concurrency_budget: 1"}  # fmt: skip
    text = f"{kind}: {{name: n, {calls[kind].format(model=repr(model))}, retry: 0}}"
    (here / "f.yaml").write_text(text)
    assert not run_file_sync("f.yaml").ok
    assert run_file_sync("f.yaml", retry=retry).require().ok


def test_a_retry_that_the_file_could_not_have_is_refused(here: Path) -> None:
    (here / "p.yaml").write_text('plan: {name: p, goal: go, each: {command: ["true"]}}')
    with pytest.raises(BadSpec, match=r"plan\.retry: must be a whole number"):
        run_file_sync("p.yaml", retry=Retry(1, 0.0))
    (here / "l.yaml").write_text("sample: [a]")
    with pytest.raises(BadSpec, match="needs a mapping to be in"):
        run_file_sync("l.yaml", retry=1)
