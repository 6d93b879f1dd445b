"""Jobs in workspaces of workers: sub-plans of a plan, checks of optimize. The driver merges."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fanwise import Ray, run_plan
from fanwise.kernel.events import Event, ItemEnded
from fanwise.plan import PlanResult
from tests.optimize.project import BROKEN, FAST, WRONG, give, judge, make_project
from tests.workspaces.support import git, make_repo

FILES = {
    ".gitignore": "data.txt\n",
    "lib/base.py": "VALUE = 1\n",
    "lib/user.py": "from lib.base import VALUE\n\nprint(VALUE)\n",
    "lib/other.py": "OTHER = 1\n",
    "lib/bad.py": "BAD = 1\n",
}
LINE = (
    "ps -o args= $PPID; cat data.txt; for f in {files}; do sed -i s/1/2/ $f; "
    "echo '# done' >> $f; done; cat lib/base.py; case {files} in *bad*) exit 3; esac"
)


def plan(repo: Path, **where: Any) -> PlanResult:
    work = run_plan(
        "tidy", each={"command": LINE}, repo=repo, files=["lib/*.py"],
        split={"mode": "dependency", "max_files": 1, "min_files": 1}, retry=0,
        verify="grep -q done {files}", fields={"copy": ["data.txt"]}, **where,
    )  # fmt: skip
    return asyncio.run(work)


def repository(path: Path) -> Path:
    repo = make_repo(path, FILES)
    (repo / "data.txt").write_text("copied\n")
    return repo


def same(result: PlanResult, repo: Path) -> list[Any]:
    """What must not depend on where it was made."""
    leaves = [(each.files, each.state, each.reason) for each in result.leaves]
    return [leaves, git(repo, "rev-parse", f"{result.commit}^{{tree}}")]


@pytest.mark.slow
def test_sub_plans_are_done_by_workers_and_come_to_the_same(cluster: Ray, tmp_path: Path) -> None:
    here = plan(one := repository(tmp_path / "here"))
    where = {"run": "r", "journal": tmp_path / "j.db", "on": cluster}
    there = plan(two := repository(tmp_path / "there"), **where)
    assert same(there, two) == same(here, one)
    states = {each.files[0]: each for each in there.leaves}
    said = {name: each.result.said for name, each in states.items() if each.result is not None}
    assert said.keys() == {"lib/base.py", "lib/user.py", "lib/other.py"}
    assert all("RayWorker" in each and "copied" in each for each in said.values())
    assert "VALUE = 2" in said["lib/user.py"], "it begins with what it imports"
    bad = states["lib/bad.py"]
    assert bad.state == "failed" and "# done" in Path(str(bad.kept)).read_text()
    assert git(two, "status", "--porcelain") == ""


@pytest.mark.slow
def test_candidates_are_checked_by_workers_and_judged_the_same(
    cluster: Ray, tmp_path: Path
) -> None:
    """What is measured is not compared: the verdict on it is the machine's."""
    verdicts = []
    seen: list[Event] = []
    place = {"run": "r", "journal": tmp_path / "j.db", "on": cluster, "subscribers": [seen.append]}
    for name, where in {"here": {}, "there": place}.items():
        make_project(tmp_path / name / "project")
        give(tmp_path / name, fast=FAST, wrong=WRONG, broken=BROKEN)
        bench = {"calls": "recorded", "budget": "2s"}
        found = judge(tmp_path / name, bench=bench, **where)
        verdicts.append({each.candidate.name: each for each in found.verdicts})
    here, there = verdicts
    for name in ("candidates/wrong.py", "candidates/broken.py"):
        assert (there[name].status, there[name].reason) == (here[name].status, here[name].reason)
    assert "benchmark" in there["candidates/fast.py"].seconds, "it has passed its checks"
    ended = [each.outcome for each in seen if isinstance(each, ItemEnded)]
    checks = [each for each in ended if each.key.startswith("check:")]
    workers = {each.worker for one in checks for each in one.attempts}
    assert len(checks) == 3 and None not in workers
