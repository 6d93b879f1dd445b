"""A matrix on three nodes, two of which are killed while it runs; prints what differs from none.

A program of its own: a process can be connected to one Ray only.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import select
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on loopback
os.environ["OPENAI_API_KEY"] = "not-used"

import ray
from ray.cluster_utils import Cluster

from fanwise import Ray, run_matrix
from fanwise.journal.open import open_journal
from fanwise.kernel.events import Event, NodeGone, WorkerGone, WorkerJoined
from fanwise.matrix import Matrix, MatrixResult, exact
from fanwise.testing import Answer, ScriptedServer
from fanwise.view.run_detail import run_detail
from tests.cluster.nodes_program import parent_of

CELLS = 60
ROWS = [{"id": str(n), "text": f"{n}", "label": f"about {n}"} for n in range(CELLS)]


def answer(body: dict[str, Any]) -> Answer:
    return Answer(text=f"about {body['messages'][0]['content']}", first_byte_s=0.1)


def matrix(url: str) -> Matrix:
    model = {"name": "openai:tiny", "base_url": url}
    prompts = {"p": "{{ input.text }}"}
    return Matrix(
        "m", models=model, inputs=ROWS, prompts=prompts, score=exact("label"), caps={"openai": 6}
    )


def same(result: MatrixResult) -> list[Any]:
    """What must not depend on who asked, and how often."""
    return [
        [each.cell.input, each.status, repr(each.answer), repr(each.scores)]
        for each in result.cells
    ]


class Killer:
    """Ends nodes after so many answers, each in its own way: killed, or cut off."""

    def __init__(self, nodes: list[Any], rng: random.Random) -> None:
        self.nodes = nodes
        self.at = sorted(rng.sample(range(8, 40), 2))
        self.ways: list[Callable[[Any], None]] = [self.kill, self.cut_off]
        rng.shuffle(self.ways)
        self.workers: list[int] = []
        self.stopped: list[int] = []
        self.answered = 0

    def __call__(self, body: dict[str, Any]) -> Answer:
        self.answered += 1
        if self.at and self.answered >= self.at[0] and self.ways:
            self.at.pop(0)
            self.ways.pop()(self.nodes.pop())
        return answer(body)

    def processes(self, node: Any) -> list[int]:
        raylet = node.all_processes["raylet"][0].process.pid
        return [raylet, *(pid for pid in self.workers if alive(pid) and parent_of(pid) == raylet)]

    def kill(self, node: Any) -> None:
        for pid in self.processes(node):
            os.kill(pid, signal.SIGKILL)

    def cut_off(self, node: Any) -> None:
        """As if its network cable were pulled: connections stay open, and nobody answers."""
        self.stopped = self.processes(node)
        for pid in self.stopped:
            os.kill(pid, signal.SIGSTOP)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def ends(pid: int) -> bool:
    """Whether the process ends soon: a worker hears from its raylet that it must go."""
    try:
        waiting = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([waiting], [], [], 30)[0])
    finally:
        os.close(waiting)


async def main(nodes: list[Any], file: Path, seed: int) -> dict[str, Any]:
    async with ScriptedServer(answer) as server:
        expected = same(await run_matrix(matrix(server.base_url)))
    killer, seen = Killer(nodes, random.Random(seed)), list[Event]()

    def note(event: Event) -> None:
        seen.append(event)
        if isinstance(event, WorkerJoined):
            killer.workers.append(int(event.worker.rpartition("/")[2]))

    async with ScriptedServer(killer) as server:
        made = matrix(server.base_url)
        result = await run_matrix(made, run="m", journal=file, on=Ray("auto"), subscribers=[note])
        for pid in killer.stopped:
            os.kill(pid, signal.SIGKILL)
        await server.idle()
        requests, most = len(server.requests), server.most_in_flight
    with closing(open_journal(file, read_only=True)) as journal:
        run = journal.run("m")
        assert run is not None
        detail = run_detail(journal, run)
    gone = [each for each in seen if isinstance(each, WorkerGone)]
    return {
        "ok": result.ok,
        "differs": [
            pair for pair in zip(same(result), expected, strict=True) if pair[0] != pair[1]
        ],
        "cells": len(expected),
        "requests": requests,
        "most": most,
        "lost": sorted({key for each in gone for key in each.keys}),
        "gone": len(gone),
        "nodes": sorted({each.node for each in seen if isinstance(each, NodeGone)}),
        "twice": sorted(each["key"] for each in detail["may_have_run_twice"]),
        "noted": sorted(each["kind"] for each in detail["events"]),
        "workers": detail["workers"],
    }


if __name__ == "__main__":
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    pids: list[int] = []
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        ray.init(address=cluster.address, log_to_driver=False)
        found = asyncio.run(main(nodes, Path(sys.argv[1]), int(sys.argv[2])))
        pids = [int(each.rpartition("/")[2]) for each in found["workers"]]
    finally:
        ray.shutdown()
        cluster.shutdown()  # type: ignore[no-untyped-call]
    found["left"] = [pid for pid in pids if not ends(pid)]
    Path(sys.argv[1]).with_suffix(".json").write_text(json.dumps(found))
