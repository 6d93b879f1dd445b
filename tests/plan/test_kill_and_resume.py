"""A random plan, killed at a crash point and resumed: all that tell of it tell the same."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fanwise.plan.model.states import MARKS, WRONG
from fanwise.plan.state.plan_state import CUT_OFF
from fanwise.testing import CRASH_POINTS
from tests.marks import slow
from tests.plan.support import make_repo, write_plan
from tests.plan.views.test_one_story import without_times

# Runs commands in forks of itself, so that the imports are paid for once.
SERVER = """
import json, os, sys
import fanwise.crashpoint as crashpoint
import fanwise.kernel.fan_out, fanwise.plan.system, fanwise.view.html
from fanwise.cli.app import run

for line in sys.stdin:
    folder, argv, point, visit, out = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        crashpoint._target, crashpoint._left = point, visit
        code = run(argv)
        sys.stdout.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
FATES = {
    "changed": "echo more >> $f",
    "nothing": "true",
    "failed": "exit 3",
    "clash": "echo {id} > shared.txt",
    "bad": "echo BAD >> $f",
}


class Server:
    """The command line, in processes that may be killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def __call__(self, folder: Path, *argv: str, at: tuple[str, int] = ("", 1)) -> tuple[int, str]:
        """Run a command there; its exit code, and what it printed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        out = folder / "out"
        asked = [str(folder), argv, *at, str(out)]
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline()), out.read_text()

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stories")


def random_plan(folder: Path, seed: int) -> list[str]:
    """Write a plan and its repository; return the options that it is run with.

    Sub-plans of a split, of one whose leaves follow their imports, or tasks that need others.
    """
    random = Random(seed)
    kind = random.choice(["directory", "dependency", "tasks"])
    fates = [random.choice(list(FATES)) for _ in range(random.randint(3, 5))]
    needs = [random.sample(range(n), min(n, random.randint(0, 2))) for n in range(len(fates))]
    files = {
        f"p{n}.py": "".join(f"import p{each}\n" for each in needs[n]) + f"V = {n}\n"
        for n in range(len(fates))
    }
    make_repo(folder / "repo", {**files, "shared.txt": "shared\n"})
    cases = [f"p{number}.py) {FATES[fate]};;" for number, fate in enumerate(fates)]
    fields: dict[str, Any] = {
        "each": {"command": f"f=$FANWISE_PLAN_TITLE; case $f in {' '.join(cases)} esac"},
        "retry": random.randint(0, 1),
        "fail_fast": random.random() < 0.3,
        "sandbox": False,
    }
    if random.random() < 0.7:
        fields["check"] = "! grep -q BAD p*"
    if kind == "tasks":  # those that finish first are merged first, so one at a time
        tasks = [
            {"id": f"p{n}.py", "goal": f"g{n}", "needs": [f"p{each}.py" for each in needs[n]]}
            for n in range(len(fates))
        ]
        plan = {"goal": "do it", "repo": "repo", "tasks": tasks, "max_parallel": 1, **fields}
        (folder / "plan.json").write_text(json.dumps({"plan": plan}))
    else:
        split = {"mode": kind, "max_files": 1, "min_files": 1}
        write_plan(folder, split=split, files=["p*.py"], shared=["shared.txt"], **fields)
    return ["--bisect"] if random.random() < 0.5 else []


def plain(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Without times, and without what only a run that was killed has."""
    told = without_times(json.loads(json.dumps(document).replace(str(folder), "")))
    checks = [{**each, "seconds": 0} for each in told["checks"]]
    leaves = [{k: v for k, v in row.items() if k != "seconds"} for row in told["leaves"]]
    for leaf in leaves:
        leaf["tries"] = [{**each, "seconds": 0} for each in leaf["tries"]]
    names = ("ok", "complete", "halted", "counts", "conflicts", "broken", "merged", "result",
              "innocent", "work_tree", "outside")  # fmt: skip
    return {**{name: told[name] for name in names}, "checks": checks, "leaves": leaves}


def told_by_all(server: Server, folder: Path) -> dict[str, Any]:
    """What `report --json` says, if `show --json`, `show`, `export` and the page say the same."""
    page = folder / "page.html"
    code, text = server(folder, "report", "plan", "--json", "--output", str(page))
    assert code == 0
    document: dict[str, Any] = json.loads(text)
    table = server(folder, "export", "plan", "--format=jsonl")[1].splitlines()
    rows = [{k: v for k, v in json.loads(row).items() if v is not None} for row in table]
    assert rows == document["leaves"]
    counts = document["counts"]
    assert counts == Counter(row["state"] for row in rows)
    shown = json.loads(server(folder, "show", "plan", "--json")[1])
    fine = sum(counts.get(state, 0) for state in ("done", "unchanged", "split"))
    wrong = len(rows) - fine - counts.get("queued", 0)
    assert (shown["done"], shown["failed"], shown["total"]) == (fine, wrong, len(rows))
    assert (shown["status"] == "halted") == bool(document["halted"]), shown["status"]
    lines = server(folder, "show", "plan")[1]
    html = page.read_text()
    for state, number in counts.items():
        assert f"{number} {state}" in lines
        chips = html.partition('id="sub-plans"')[2].partition("</section>")[0]
        assert chips.count(f">{MARKS[state]} {state}</span>") == number, state
    badge = html.partition("</header>")[0]
    if shown["status"] == "done":
        assert ("not in the result" in badge) == any(row["state"] in WRONG for row in rows)
    assert (document["result"] is None) == ("the branch fanwise/" not in lines)
    return document


def check_every_story(server: Server, stories: Path, seed: int, at: tuple[str, int]) -> None:
    whole, killed = stories / f"whole-{seed}", stories / f"killed-{seed}"
    if not whole.exists():
        whole.mkdir()
        options = random_plan(whole, seed)
        (whole / "options").write_text(json.dumps(options))
        shutil.copytree(whole, stories / f"new-{seed}", symlinks=True)
        code, text = server(whole, "run", "plan.json", "--yes", "--json", *options)
        (whole / "result").write_text(text)
        assert code in (0, 1, 130), text
        assert plain(json.loads(text)["result"], whole) == plain(told_by_all(server, whole), whole)
    shutil.rmtree(killed, ignore_errors=True)
    shutil.copytree(stories / f"new-{seed}", killed, symlinks=True)
    run = ("run", "plan.json", "--yes", "--json", *json.loads((whole / "options").read_text()))
    code, text = server(killed, *run, at=at)
    if code == -signal.SIGKILL:
        there = server(killed, "show", "plan", "--json")[0] == 0
        if there:
            told = told_by_all(server, killed)
            counts = told["counts"].keys()
            assert counts.isdisjoint({"running", "verifying", "merging"}), "nothing runs any more"
            assert told["halted"] or "queued" not in counts or not told["complete"]
        code, text = server(killed, *(("resume", "plan", "--json") if there else run))
    found = plain(json.loads(text)["result"], killed)
    assert found == plain(told_by_all(server, killed), killed)
    for leaf in found["leaves"]:
        if leaf.get("reason") == CUT_OFF:  # a halt kept the resume from doing it again
            assert leaf["state"] == "queued"
            del leaf["reason"]
    assert found == plain(json.loads((whole / "result").read_text())["result"], whole)


@pytest.mark.parametrize(
    "point", [("item.recorded", 2), ("item.started", 3), ("run.before_end", 1)]
)
def test_killed_and_resumed_all_tell_the_same_as_a_run_that_was_not(
    server: Server, folder: Path, point: tuple[str, int]
) -> None:
    check_every_story(server, folder, 5, point)


@slow
@pytest.mark.parametrize("seed", range(4, 12))
def test_killed_at_every_crash_point_random_plans_tell_one_story(
    server: Server, folder: Path, seed: int
) -> None:
    visits = Random(seed)
    for point in CRASH_POINTS:
        check_every_story(server, folder, seed, (point, visits.randint(1, 8)))
