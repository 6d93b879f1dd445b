"""A workflow from Python: from its inputs to its end, or to a gate and on."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from fanwise import fan_out, open_run, run_workflow, run_workflow_sync
from fanwise.errors import BadSpec, NotOk, UsageError

GREET: dict[str, Any] = {
    "schema_version": "1.0",
    "workflow": {"id": "greet", "name": "Greet", "version": "1.0.0"},
    "inputs": {"name": {"type": "string", "required": True}},
    "steps": [
        {"id": "hello", "type": "shell", "run": "echo hello {{ inputs.name }} | tee -a log"},
    ],
}
GATE = {"id": "ok", "type": "gate", "message": "Go on?"}
AFTER = {"id": "after", "type": "shell", "run": "echo after | tee -a log"}
GATED = {**GREET, "steps": [*GREET["steps"], GATE, AFTER]}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_mapping_runs_as_a_file_does(here: Path) -> None:
    result = run_workflow_sync(GREET, {"name": "world"}).require()
    assert (result.ok, result.status, result.run_id) == (True, "completed", None)
    assert result.steps["hello"].output["stdout"] == "hello world\n"
    assert result.stats.peak["total"] == 1


COUNT: dict[str, Any] = {
    "workflow": {"id": "count", "name": "Count"},
    "inputs": {"number": {"type": "number", "default": 1}, "who": {"required": True}},
    "steps": [{"id": "a", "type": "shell", "run": "echo {{ inputs.number }} {{ inputs.who }}"}],
}


def test_inputs_are_keywords() -> None:
    result = run_workflow_sync(COUNT, number=3, who="me", stop_after="a")
    assert result.steps["a"].output["stdout"] == "3 me\n"
    result = asyncio.run(run_workflow(COUNT, {"number": 4}, who="you")).require()
    assert result.steps["a"].output["stdout"] == "4 you\n"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"nmber": 3}, "there is no input or option 'nmber'; did you mean `number`"),
        ({"stop_aftr": "a"}, "there is no input or option 'stop_aftr'; did you mean `stop_after`"),
        ({"zzz": 1}, "there is no input or option 'zzz'; its inputs: number, who"),
        ({"number": "many"}, "the input 'number': it must be a number"),
        ({"inputs": {"who": "x"}}, "the input 'who' is given twice"),
    ],
)
def test_what_is_wrong_with_a_keyword_is_said(given: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told.replace("|", "")):
        run_workflow_sync(COUNT, **{"who": "me", **given})


def test_an_input_with_the_name_of_an_option_stands_in_inputs() -> None:
    result = run_workflow_sync(GREET, inputs={"name": "world"}).require()
    assert result.steps["hello"].output["stdout"] == "hello world\n"
    with pytest.raises(UsageError, match=r"`name` is an option too: give inputs=\{'name': …\}"):
        run_workflow_sync(GREET, name="world")


def test_a_file_runs_and_another_folder_can_be_the_project(here: Path) -> None:
    (here / "project").mkdir()
    lines = [
        "workflow: {id: w, name: W, version: 1.0.0}",
        "steps: [{id: where, type: shell, run: pwd}]",
    ]
    (here / "w.yaml").write_text("\n".join(lines))
    result = run_workflow_sync(here / "w.yaml", project=here / "project")
    assert result.steps["where"].output["stdout"] == f"{here / 'project'}\n"


def test_a_gate_pauses_it_and_the_same_run_goes_on_with_an_answer(here: Path) -> None:
    given: dict[str, Any] = {"inputs": {"name": "world"}, "run": "greeting"}
    paused = run_workflow_sync(GATED, **given)
    assert (paused.ok, paused.status, paused.run_id) == (False, "paused", "greeting")
    assert paused.gate is not None and paused.gate["step_id"] == "ok"
    with pytest.raises(NotOk, match="paused; ok waits for an answer: Go on"):
        paused.require()

    result = run_workflow_sync(GATED, answers={"ok": "approve"}, **given).require()
    assert (result.status, result.gate) == ("completed", None)
    assert (here / "log").read_text() == "hello world\nafter\n", "what was done ran again"


def test_a_step_that_fails_is_a_failure_with_its_reason(here: Path) -> None:
    broken = {**GREET, "steps": [{"id": "no", "type": "shell", "run": "echo why >&2; exit 3"}]}
    result = run_workflow_sync(broken, {"name": "x"})
    assert (result.ok, result.status, list(result.failures)) == (False, "failed", ["no"])
    with pytest.raises(NotOk, match=r"failed; no: .*3"):
        result.require()


def test_where_it_was_told_to_stop_is_as_far_as_was_asked(here: Path) -> None:
    result = run_workflow_sync(GATED, {"name": "x"}, stop_after="hello").require()
    assert (result.status, list(result.steps)) == ("paused", ["hello"])


def test_what_is_wrong_is_said_before_anything_runs(here: Path) -> None:
    with pytest.raises(UsageError, match="name"):
        run_workflow_sync(GREET)
    with pytest.raises(BadSpec, match="stepz"):
        run_workflow_sync({**GREET, "stepz": []}, {"name": "x"})
    assert not (here / "log").exists()


def test_in_an_item_of_a_durable_run_it_leaves_that_run_alone(here: Path) -> None:
    async def main() -> None:
        async with open_run("all") as run:

            async def item(name: str) -> str:
                result = await run_workflow(GATED, {"name": name}, answers={"ok": "approve"})
                assert result.run_id == "all"
                assert result.stats.peak["total"] == 1
                return str(result.require().steps["hello"].output["stdout"])

            done = await fan_out(item, ["a", "b"], run=run, name="each", key=str)
            assert done.values() == ["hello a\n", "hello b\n"]
            paused = await run_workflow(GATED, {"name": "c"}, run=run, name="alone")
            assert (paused.status, paused.run_id) == ("paused", "all")

    asyncio.run(main())
    with open_run("all", resume=True) as run:
        assert run.journal is not None
        assert {event.kind for event in run.journal.events("all")} <= {"caps"}


def test_gates_are_answered_by_a_callback(here: Path) -> None:
    asked: list[tuple[str, list[str]]] = []

    async def ask(message: str, shown: str | None, options: list[str]) -> str | None:
        asked.append((message, options))
        return "approve" if len(asked) > 1 else None

    given: dict[str, Any] = {"inputs": {"name": "world"}, "run": "greeting", "ask": ask}
    assert run_workflow_sync(GATED, **given).status == "paused", "nobody has decided yet"
    assert run_workflow_sync(GATED, **given).require().status == "completed"
    assert asked == [("Go on?", ["approve", "reject"])] * 2


def test_a_step_calls_a_function_with_json_in_and_out(here: Path) -> None:
    (here / "counting_words.py").write_text(
        "async def count(text, least):\n"
        "    words = text.split()\n"
        "    if len(words) < least:\n"
        "        raise ValueError('too few')\n"
        "    return {'n': len(words)}\n"
        "def first(words):\n"
        "    return words[0]\n"
        "def bad():\n"
        "    return object()\n"
        "def leave(code):\n"
        "    raise SystemExit(code)\n"
        "async def leave_later(code):\n"
        "    raise SystemExit(code)\n"
    )

    def work(*steps: dict[str, Any]) -> dict[str, Any]:
        return {**GREET, "inputs": {}, "steps": list(steps)}

    count = {"id": "a", "type": "call", "call": "counting_words:count"}
    first = {"id": "b", "type": "call", "call": "counting_words:first"}
    result = run_workflow_sync(
        work(
            {**count, "input": {"text": "one two", "least": 1}},
            {**first, "input": {"words": ["{{ steps.a.output.n }}", 5]}},
            {**count, "id": "c", "input": {"text": "one", "least": 2}, "continue_on_error": True},
            {"id": "d", "type": "call", "call": "counting_words:bad", "continue_on_error": True},
            *(
                {
                    "id": name,
                    "type": "call",
                    "call": f"counting_words:{name}",
                    "input": {"code": 0},
                    "continue_on_error": True,
                }
                for name in ("leave", "leave_later")
            ),
            {"id": "last", "type": "shell", "run": "echo here"},
        )
    ).require()
    assert result.steps["a"].output == {"n": 2}
    assert result.steps["b"].output == {"result": 2}
    assert "too few" in result.failures["c"]
    assert "not JSON" in result.failures["d"]
    assert "sys.exit(0)" in result.failures["leave"]
    assert "sys.exit(0)" in result.failures["leave_later"]
    assert result.steps["last"].output["stdout"] == "here\n"
    with pytest.raises(BadSpec, match="has no `cuont`; did you mean `count`"):
        run_workflow_sync(work({**count, "call": "counting_words:cuont"}))


def test_the_folder_of_a_workflow_is_where_the_file_really_is(here: Path) -> None:
    (here / "shared").mkdir()
    (here / "shared" / "w.yaml").write_text(
        "workflow: {id: w, name: W}\n"
        "steps:\n"
        "- {id: a, type: shell, run: 'echo $SPECKIT_WORKFLOW_DIR {{ context.workflow_dir }}'}"
    )
    (here / "link.yaml").symlink_to(here / "shared" / "w.yaml")
    result = run_workflow_sync(here / "link.yaml")
    folder = (here / "shared").resolve()
    assert result.steps["a"].output["stdout"] == f"{folder} {folder}\n"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("{3, 1}", "type set is not JSON serializable"),
        ("[frozenset()]", "type frozenset is not JSON"),
        ("b'x'", "type bytes is not JSON"),
        ("float('nan')", "Out of range float values"),
    ],
)
def test_what_a_function_returns_is_json(
    value: str, told: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "returning_values.py").write_text(f"def give():\n    return {value}\n")
    monkeypatch.delitem(sys.modules, "returning_values", raising=False)
    call = {"id": "a", "type": "call", "call": "returning_values:give"}
    result = run_workflow_sync({"workflow": {"id": "w", "name": "W"}, "steps": [call]})
    error = str(result.steps["a"].error)
    assert "returning_values:give returned what is not JSON: " in error and told in error
    assert "Return dicts, lists" in error and "sorted(…)" in error
