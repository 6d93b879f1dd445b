"""Three nodes on this machine, one of which dies and one of which joins; prints what happened.

A program of its own: a process can be connected to one Ray only.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on loopback

import ray
from ray.cluster_utils import Cluster

from fanwise import Outcome, Ray, fan_out_stream, open_run
from fanwise.kernel.events import NodeGone, WorkerGone, WorkerJoined
from tests.cluster import works

MOST = 2_000


async def main(cluster: Any, node: Any, journal: Path) -> dict[str, Any]:
    seen: list[WorkerGone | WorkerJoined] = []
    nodes: list[NodeGone] = []

    def note(event: object) -> None:
        if isinstance(event, NodeGone):
            nodes.append(event)
        if isinstance(event, WorkerGone | WorkerJoined):
            seen.append(event)

    outcomes: list[Outcome[float]] = []
    killed_at, added = 0.0, False

    def items() -> Iterator[float]:
        """Until the worker that joins last has made an attempt."""
        while len(outcomes) < MOST:
            joined = [each.worker for each in seen if isinstance(each, WorkerJoined)]
            if len(joined) == 4 and any(o.attempts[0].worker == joined[-1] for o in outcomes):
                return
            yield 0.1

    async with open_run("r", journal=journal, subscribers=[note], on=Ray("auto")) as run:
        stream = fan_out_stream(works.sleep_for, items(), cap=6, run=run)
        async with stream:
            async for outcome in stream:
                outcomes.append(outcome)
                if len(outcomes) == 6:
                    killed_at = asyncio.get_running_loop().time()
                    cut_off(node, [each.worker for each in seen if isinstance(each, WorkerJoined)])
                if not added and isinstance(seen[-1], WorkerGone):
                    added = True
                    cluster.add_node(num_cpus=1)
    gone = [each for each in seen if isinstance(each, WorkerGone)]
    return {
        "pulled": len(outcomes),
        "status": sorted({each.status for each in outcomes}),
        "indices": sorted(each.index for each in outcomes),
        "attempts": sorted({len(each.attempts) for each in outcomes}),
        "twice": sorted(each.key for each in outcomes if each.may_have_run_twice),
        "gone": [[each.worker, each.reason, sorted(each.keys)] for each in gone],
        "nodes": [each.node for each in nodes],
        "gone_after_s": [round(each.at - killed_at, 3) for each in gone],
        "joined": [each.worker for each in seen if isinstance(each, WorkerJoined)],
        "used": sorted({each.attempts[0].worker or "" for each in outcomes}),
    }


def cut_off(node: Any, workers: list[str]) -> None:
    """As if its network cable were pulled: connections stay open, and nobody answers."""
    raylet = node.all_processes["raylet"][0].process.pid
    pids = [int(each.partition("/")[2]) for each in workers]
    stopped.extend([raylet, *(pid for pid in pids if parent_of(pid) == raylet)])
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


stopped: list[int] = []


if __name__ == "__main__":
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        ray.init(address=cluster.address, log_to_driver=False)
        found = asyncio.run(main(cluster, nodes[1], Path(sys.argv[1])))
        found["stopped"] = len(stopped)
        Path(sys.argv[1]).with_suffix(".json").write_text(json.dumps(found))
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGKILL)
        ray.shutdown()
        cluster.shutdown()  # type: ignore[no-untyped-call]
