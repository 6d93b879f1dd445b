"""A run that did less than it was asked is never called done: not in one of the systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fanwise import Halt, fan_out_sync, open_run
from fanwise.cli.app import run
from tests.cli.support import Place, numbers
from tests.optimize.sleepy import judge, sleepy
from tests.plan.support import make_repo, packages

__all__ = ["sleepy"]

SIM = "sim:quick?median_s=0.001"
SAMPLE = f"""
sample:
  name: s
  model: {SIM}
  prompt: "Good or bad? {{{{ input.text }}}}"
  inputs: [{{id: a, text: x}}, {{id: b, text: y}}, {{id: c, text: z}}]
  cap: 1
  loop_budget: 1
  concurrency_budget: 1
  budget: {{requests: 2}}
"""
MATRIX = f"""
matrix:
  name: m
  models: ["{SIM}"]
  inputs: [{{id: a, text: x}}, {{id: b, text: y}}, {{id: c, text: z}}]
  prompts: {{one: {{prompt: "{{{{ input.text }}}}"}}}}
  caps: {{sim: 1}}
  budget: {{requests: 2}}
"""
JUDGED = (
    MATRIX
    + """
  score:
    - {name: quality, judge: "Is it polite?", model: "MODEL"}
""".replace("MODEL", SIM)
)
WORKFLOW = """
workflow: {id: w, name: w}
steps:
  - id: all
    type: fan-out
    items: "{{ [1, 2, 3] }}"
    step: {id: one, type: shell, run: "test {{ item }} != 2"}
"""


class Seen:
    """The command line, in this process."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def run(self, *args: str) -> tuple[int, str]:
        """The exit code, and what was said."""
        code = run([*args])
        return code, self._capfd.readouterr().err

    def json(self, *args: str) -> Any:
        run([*args, "--json"])
        return json.loads(self._capfd.readouterr().out)


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Seen:
    monkeypatch.chdir(tmp_path)
    return Seen(capfd)


def test_a_map_that_was_halted_says_where_and_how_many_lines_were_not_started(place: Place) -> None:
    script = "[ {} != 2 ] || [ -e mended ]"
    args = ("map", "--run", "r", "--halt", "failure", "--cap", "1", "--", "sh", "-c", script)
    halted = place.run(*args, given=numbers(100))
    told = (
        b"fanwise: 1 failed:\n"
        b"  line 2 (2): the command exited with code 1\n"
        b"fanwise: halted at line 2: 98 lines not started\n"
        b"  to continue: fanwise resume r --retry-failed (runs line 2 again, then the rest)\n"
    )
    assert (halted.returncode, halted.stderr) == (130, told)
    (listed,) = json.loads(place.run("runs", "--json").stdout)["runs"]
    names = ("status", "done", "failed", "total", "error")
    why = "at line 2: 98 lines not started"
    assert [listed[name] for name in names] == ["halted", 1, 1, 100, why]
    assert b"status    halted at line 2: 98 lines not started\n" in place.run("show", "r").stdout
    again = place.run("resume", "r")
    assert (again.returncode, again.stderr) == (130, told)
    (place.path / "mended").touch()
    whole = place.run("resume", "r", "--retry-failed", "--json")
    assert whole.returncode == 0
    assert json.loads(whole.stdout)["counts"] == {"done": 100, "failed": 0, "cancelled": 0}


def test_a_map_whose_last_line_fails_has_done_all_that_it_was_asked(place: Place) -> None:
    args = ("map", "--run", "r", "--halt", "failure", "--cap", "1", "--", "test", "2", "!=")
    assert place.run(*args, given=numbers(2)).returncode == 1
    assert json.loads(place.run("show", "r", "--json").stdout)["status"] == "done"


def test_lines_that_ended_before_the_halt_but_come_after_it_are_told_apart(place: Place) -> None:
    """Lines 3 to 5 end before line 6 begins, and line 2 waits for that; a loop would run none."""
    script = """case $0 in 2) until [ -e 6 ]; do sleep 0.01; done; exit 1;; esac
        echo; touch $0; case $0 in 6) sleep 100;; esac"""
    args = ("map", "--run", "r", "--halt", "failure", "--cap", "2", "--", "sh", "-c", script)
    first = place.run(*args, given=numbers(6))
    why = b"3 lines finished too, but not printed"
    for done in (first, place.run("resume", "r")):
        assert (done.returncode, why in done.stderr) == (130, True), done.stderr
        assert b"halted at line 2: " in done.stderr
        shown = place.run("show", "r").stdout
        assert b"lines     1 done, 1 failed, of 6\n" in shown and why in shown


@pytest.mark.parametrize(
    ("text", "run_id", "why"),
    [
        (SAMPLE, "s", "the budget is used up: 1 of 3 prompts not sampled to the end"),
        (MATRIX, "m", "the budget is used up: 1 not run, of 3 cells"),
        (JUDGED, "m", "the budget is used up: "),
    ],
    ids=["sample", "matrix", "matrix-judged"],
)
def test_a_run_that_the_budget_cut_off_is_halted(
    here: Seen, text: str, run_id: str, why: str
) -> None:
    Path("f.yaml").write_text(text)
    code, said = here.run("run", "f.yaml", "--run", run_id)
    assert code == 130
    assert f"fanwise: halted: {why}" in said
    assert "\n  to continue: raise the budget" in said
    detail = here.json("show", run_id)
    assert detail["status"] == "halted"
    assert detail["error"].startswith(why)
    code, said = here.run("resume", run_id)
    assert (code, f"halted: {why}" in said) == (130, True)


def test_a_workflow_whose_fan_out_was_halted_has_failed(here: Seen) -> None:
    Path("f.yaml").write_text(WORKFLOW)
    assert here.run("run", "f.yaml", "--run", "w")[0] == 1
    assert here.json("show", "w")["status"] == "failed"


def test_a_workflow_that_may_go_on_after_the_failure_is_done(here: Seen) -> None:
    Path("f.yaml").write_text(WORKFLOW + "    continue_on_error: true\n")
    assert here.run("run", "f.yaml", "--run", "w")[0] == 0
    assert here.json("show", "w")["status"] == "done"


def test_a_plan_that_failed_fast_is_halted_until_it_is_resumed(here: Seen, tmp_path: Path) -> None:
    make_repo(tmp_path / "repo", packages(3, files=1))
    spec = {
        "goal": "g", "repo": "repo", "fail_fast": True, "max_parallel": 1, "retry": 0,
        "each": {"command": f"case {{files}} in p01*) test -e {tmp_path}/mended;; esac"},
        "split": {"mode": "directory", "max_files": 1, "min_files": 1}, "sandbox": False,
    }  # fmt: skip
    Path("plan.json").write_text(json.dumps({"plan": spec}))
    code, said = here.run("run", "plan.json", "--yes")
    why = "at p01/m0.py (fail_fast): 1 sub-plan not done, nothing was merged"
    assert code == 130
    assert said.count(f"fanwise: halted {why}\n") == 1
    assert said.endswith("  to continue: fanwise resume plan --retry-failed\n")
    detail = here.json("show", "plan")
    assert (detail["status"], detail["error"]) == ("halted", why)
    Path("mended").touch()
    assert here.run("resume", "plan", "--retry-failed")[0] == 0
    assert here.json("show", "plan")["status"] == "done"


def test_a_plan_that_the_budget_cut_off_is_halted(here: Seen, tmp_path: Path) -> None:
    make_repo(tmp_path / "repo", packages(3, files=1))
    spec = {
        "goal": "g", "repo": "repo", "retry": 0, "max_parallel": 1,
        "each": {"model": SIM}, "budget": {"requests": 2},
        "split": {"mode": "directory", "max_files": 1, "min_files": 1}, "sandbox": False,
    }  # fmt: skip
    Path("plan.json").write_text(json.dumps({"plan": spec}))
    code, said = here.run("run", "plan.json", "--yes")
    assert code == 130
    assert "halted: the budget is used up: 1 of 3 sub-plans not done\n" in said
    assert here.json("show", "plan")["status"] == "halted"


def test_an_optimize_that_the_budget_cut_off_is_halted(sleepy: Path, here: Seen) -> None:
    judge(
        sleepy,
        candidates={"propose": {"model": SIM, "n": 2}},
        fields={"budget": {"requests": 1}},
        journal=sleepy / "j.db",
        run="o",
    )
    detail = here.json("show", "o", "--journal", str(sleepy / "j.db"))
    assert detail["status"] == "halted"
    assert detail["error"].startswith("the budget is used up: ")


@pytest.mark.parametrize(
    ("halt", "items", "status"),
    [
        (Halt.on_failure(), [1, 2, 3], "halted"),
        (Halt.on_failure(), [1, 3, 2], "done"),
        (Halt.on_success(), [1, 2, 3], "done"),
        (Halt.never(), [1, 2, 3], "done"),
    ],
    ids=["failure", "last-failure", "success", "never"],
)
def test_a_program_whose_fan_out_a_failure_halted_is_halted(
    here: Seen, halt: Halt, items: list[int], status: str
) -> None:
    def work(number: int) -> int:
        return 1 // (number - 2)

    with open_run("p") as made:
        fan_out_sync(work, items, cap=1, halt=halt, run=made, name="divisions")
    detail = here.json("show", "p")
    assert detail["status"] == status
    told = "item 1 of divisions failed, and halted it"
    assert detail["error"] == (told if status == "halted" else None)
