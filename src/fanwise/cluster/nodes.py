"""The nodes of a Ray cluster, and the workers on each: what fanwise asks of Ray itself."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from time import monotonic
from typing import Any

import msgspec

from fanwise.cluster.link import WorkerInfo, versions
from fanwise.cluster.worker import RayWorker
from fanwise.errors import ClusterError

END_S = 2.0
FORGIVE_S = 60.0
"""A node that fell silent is tried again after so long, if Ray still believes in it: it may have
been a paused machine, or a network that is back."""


class WorkerNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker takes of a node, in Ray's words."""

    cpus: float = 1
    gpus: float = 0
    memory: int | None = None
    resources: Mapping[str, float] = {}
    most: int | None = None
    """Workers on each node, at most."""

    def room(self, node: Mapping[str, float]) -> int:
        """How many of them a node with these resources has room for."""
        rooms = [int(node.get(name, 0) // need) for name, need in self._asked().items()]
        return min([*rooms, *([] if self.most is None else [self.most])], default=1)

    def told(self) -> str:
        """As text: "1 CPU and 2 tpu"."""
        return " and ".join(f"{need:,.12g} {name}" for name, need in self._asked().items())

    def _asked(self) -> dict[str, float]:
        asked = {"CPU": self.cpus, "GPU": self.gpus, "memory": self.memory or 0, **self.resources}
        return {name: need for name, need in asked.items() if need}

    def options(self, *, alone: bool) -> dict[str, Any]:
        """Options of a Ray actor. One for a single attempt comes on top of what is planned."""
        found: dict[str, Any] = {"num_cpus": 0 if alone else self.cpus, "num_gpus": self.gpus}
        if self.memory is not None and not alone:
            found["memory"] = self.memory
        return {**found, "resources": dict(self.resources)}


class Nodes:
    """Which nodes live, and who works there."""

    def __init__(self, needs: WorkerNeeds, folder: str | None) -> None:
        """`folder`: where workers work; None: where Ray puts them."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._ray: Any = ray
        self._on_node: Callable[..., Any] = NodeAffinitySchedulingStrategy
        self._needs = needs
        self._folder = folder
        self._class = ray.remote(RayWorker)
        self._rooms: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._workers: Counter[str] = Counter()
        self._suspects: dict[str, float] = {}
        """Nodes whose workers fell silent, and when. Ray may believe in them for a minute."""
        self.learn(self.ask())

    def ask(self) -> list[dict[str, Any]] | None:
        """The nodes that live, by Ray, which takes a while to see a death. Blocks."""
        try:
            return [node for node in self._ray.nodes() if node["Alive"]]
        except Exception:  # Ray does not answer now: what was known stays
            return None

    def learn(self, alive: list[dict[str, Any]] | None) -> list[str]:
        """Note which nodes live. Returns those that left, unless they were silent before."""
        if alive is None:
            return []
        there = {node["NodeID"] for node in alive}
        left = [each for each in self._rooms if each not in there and each not in self._suspects]
        recent = monotonic() - FORGIVE_S
        self._suspects = {
            each: at for each, at in self._suspects.items() if each in there and at > recent
        }
        self._rooms = {node["NodeID"]: self._needs.room(node["Resources"]) for node in alive}
        self._names |= {node["NodeID"]: node["NodeManagerHostname"] for node in alive}
        return [self.node_name(each) for each in left]

    def node_name(self, node_id: str) -> str:
        """Its host, with the beginning of Ray's id: a host may have several nodes."""
        return f"{self._names.get(node_id, 'node')}-{node_id[:6]}"

    def missing(self) -> Iterator[str]:
        """A node for each worker that there is room for."""
        trusted = [each for each in self._rooms if each not in self._suspects]
        for node_id in trusted or self._rooms:
            for _ in range(self._rooms[node_id] - self._workers[node_id]):
                yield node_id

    def least_used(self, sure: Collection[str]) -> str:
        """A node for a worker on top of what is planned; best one that is `sure` to live."""
        known = [each for each in self._rooms if each in sure]
        return min(known or self._rooms, key=lambda each: self._workers[each])

    def start_worker(self, node_id: str, *, alone: bool) -> Any:
        """An actor on this node. Retries are the driver's, so Ray makes none."""
        self._workers[node_id] += not alone
        return self._class.options(
            max_concurrency=8,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=self._on_node(node_id=node_id, soft=False),
            **self._needs.options(alone=alone),
        ).remote(self._folder)

    def hello(self, actor: Any, then: Callable[[Future[WorkerInfo]], None]) -> None:
        """Call `then` in a thread of Ray's, when the worker is ready or could not be started."""
        actor.hello.remote().future().add_done_callback(then)

    def put(self, data: bytes) -> Any:
        """Put this into the object store of the cluster. Blocks."""
        return self._ray.put(data)

    def name(self, node_id: str, info: WorkerInfo) -> str:
        """The name of a worker that is ready. Raises `ClusterError` if its versions are others."""
        for what, here in versions().items():
            there = info.versions.get(what)
            if there != here:
                raise ClusterError(
                    f"the driver has {what} {here}, and the worker on {info.node} has {there}",
                    "Install the same version on all nodes",
                )
        self._names.setdefault(node_id, info.node)
        return f"{self.node_name(node_id)}/{info.pid}"

    def lost(self, node_id: str, actor: Any, *, alone: bool, silent: bool = False) -> None:
        """A worker is gone, or is made to go."""
        self._workers[node_id] -= not alone
        if silent:
            self._suspects[node_id] = monotonic()
        with contextlib.suppress(Exception):
            self._ray.kill(actor)

    def end(self, actors: list[Any]) -> None:
        """End workers that have nothing to do."""
        with contextlib.suppress(Exception):
            self._ray.wait(
                [each.close.remote() for each in actors], num_returns=len(actors), timeout=END_S
            )
        for actor in actors:
            with contextlib.suppress(Exception):
                self._ray.kill(actor)
