"""A plan, and checks of candidates, on three nodes of which two are killed while they run.

A program of its own: a process can be connected to one Ray only.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on loopback

import ray
from ray.cluster_utils import Cluster

from fanwise import Ray
from fanwise.journal.open import open_journal
from fanwise.kernel.events import Event, ItemStarted, WorkerGone, WorkerJoined
from fanwise.plan import PlanResult, run_plan_sync
from fanwise.view.run_detail import run_detail
from tests.cluster.matrix_program import alive, ends
from tests.cluster.nodes_program import parent_of
from tests.optimize.project import BROKEN, WRONG, give, judge, make_project
from tests.workspaces.support import git, make_repo

FILES = {f"m{n}.py": f"N = {n}\n" for n in range(12)}
LINE = "sleep 0.5; for f in {files}; do echo '# done' >> $f; done"


class Killer:
    """Kills a node at the start of some item, chosen by chance."""

    def __init__(self, rng: random.Random, starts: int) -> None:
        self.at = rng.randint(3, starts)
        self.workers: list[int] = []
        self.lost: list[str] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, WorkerJoined):
            self.workers.append(int(event.worker.rpartition("/")[2]))
        if isinstance(event, WorkerGone):
            self.lost += event.keys
        if isinstance(event, ItemStarted):
            self.at -= 1
            if self.at == 0:
                self.kill(nodes.pop())

    def kill(self, node: Any) -> None:
        raylet = node.all_processes["raylet"][0].process.pid
        theirs = [pid for pid in self.workers if alive(pid) and parent_of(pid) == raylet]
        for pid in (raylet, *theirs):
            os.kill(pid, signal.SIGKILL)


def plan(repo: Path, **where: Any) -> list[Any]:
    make_repo(repo, FILES)
    split = {"mode": "independent", "max_files": 1, "min_files": 1}
    found: PlanResult = run_plan_sync("tidy", {"command": LINE}, repo=repo, split=split, **where)
    leaves = [(each.files, each.state) for each in found.leaves]
    return [leaves, git(repo, "rev-parse", f"{found.commit}^{{tree}}")]


def candidates(folder: Path, **where: Any) -> list[Any]:
    make_project(folder / "project")
    more = {f"wrong{n}": f"{WRONG}\n# {n}\nX = {n}\n" for n in range(4)}
    give(folder, broken=BROKEN, **more)
    found = judge(folder, **where)
    return sorted([each.candidate.name, each.status, each.stage] for each in found.verdicts)


def main(folder: Path, seed: int) -> dict[str, Any]:
    rng, found = random.Random(seed), dict[str, Any]()
    for name, work, starts in (("plan", plan, 8), ("optimize", candidates, 10)):
        expected = work(folder / f"{name}-here")
        killer = Killer(rng, starts)
        where = {"run": name, "journal": folder / "j.db", "on": Ray("auto")}
        same = work(folder / f"{name}-there", subscribers=[killer], **where) == expected
        with closing(open_journal(folder / "j.db", read_only=True)) as journal:
            run = journal.run(name)
            assert run is not None
            twice = [each["key"] for each in run_detail(journal, run)["may_have_run_twice"]]
        found[name] = {
            "same": same, "lost": sorted(killer.lost), "twice": sorted(twice),
            "killed": killer.at <= 0,
        }  # fmt: skip
        found.setdefault("pids", []).extend(killer.workers)
    return found


if __name__ == "__main__":
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        ray.init(address=cluster.address, log_to_driver=False)
        found = main(Path(sys.argv[1]), int(sys.argv[2]))
    finally:
        ray.shutdown()
        cluster.shutdown()  # type: ignore[no-untyped-call]
    found["left"] = [pid for pid in found["pids"] if not ends(pid)]
    (Path(sys.argv[1]) / "found.json").write_text(json.dumps(found))
