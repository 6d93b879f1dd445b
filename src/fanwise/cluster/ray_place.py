"""`Ray`: workers on a Ray cluster, one of this machine's cores or one that is there."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from fanwise.cluster.nodes import Nodes, WorkerNeeds
from fanwise.errors import ClusterError, MissingExtra, UsageError, one_line
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.lasting_thread import LastingThread

if TYPE_CHECKING:
    from fanwise.cluster.pool import WorkerPool

ONLY_LOCAL = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"


class Ray:
    """Attempts run on a Ray cluster: `fan_out(…, on=Ray())`.

    `address`: None starts a Ray of this machine's cores, on loopback only, and stops it at the end
    (about 5 s); "auto", "ray://HOST:PORT" or "HOST:PORT" join one that is there. Each worker is a
    process that takes `cpus`, `gpus`, `memory` (bytes) and `resources` of a node; every node gets
    as many as it has room for, and at most `workers`. `runtime_env`: Ray's, for nodes that lack
    your project or its packages. In `with Ray() as ray`, several fan-outs share the workers.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        workers: int | None = None,
        cpus: float = 1,
        gpus: float = 0,
        memory: int | None = None,
        resources: Mapping[str, float] | None = None,
        runtime_env: Mapping[str, Any] | None = None,
    ) -> None:
        for name, value in (("workers", workers), ("cpus", cpus), ("memory", memory)):
            if value is not None and (isinstance(value, bool) or not value > 0):
                raise UsageError(f"{name} is {value!r}", "Give a number above 0")
        self.address = address
        self._needs = WorkerNeeds(
            cpus=cpus, gpus=gpus, memory=memory, resources=dict(resources or {}), most=workers
        )
        self._runtime_env = runtime_env
        self._lock = threading.Lock()
        self._users = 0
        self._started = False
        """Whether it was started or joined here, and not by the program itself."""
        self._pool: WorkerPool | None = None
        self._keeper: LastingThread | None = None
        """Ray's own processes die with the thread that starts them."""

    def __repr__(self) -> str:
        return f"Ray({'' if self.address is None else repr(self.address)})"

    def __enter__(self) -> Ray:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        with self._lock:
            if self._users == 0:
                keeper = LastingThread("fanwise-ray")
                try:
                    self._started = keeper.call(lambda: _join(self.address, self._runtime_env))
                except BaseException:
                    keeper.close()
                    raise
                self._keeper = keeper
            self._users += 1

    def stop(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users > 0:
                return
            pool, self._pool = self._pool, None
            keeper, self._keeper = self._keeper, None
            assert keeper is not None
            try:
                if pool is not None:
                    pool.close()
            finally:
                if self._started:
                    keeper.call(_shut_down)
                keeper.close()

    @asynccontextmanager
    async def workers(self) -> AsyncIterator[WorkerPool]:
        """The workers, for one fan-out on the running loop."""
        if not self._one_more():
            await in_thread(self.start)
        try:
            pool = await self._pool_here()
            await pool.ready()
            yield pool
        finally:
            if not self._one_less():
                await in_thread(self.stop)

    def _one_more(self) -> bool:
        """Count one more user, if that takes no time."""
        if self._users == 0 or not self._lock.acquire(blocking=False):
            return False
        try:
            there = self._users > 0
            self._users += there
            return there
        finally:
            self._lock.release()

    def _one_less(self) -> bool:
        if self._users < 2 or not self._lock.acquire(blocking=False):
            return False
        try:
            more = self._users > 1
            self._users -= more
            return more
        finally:
            self._lock.release()

    async def _pool_here(self) -> WorkerPool:
        from fanwise.cluster.pool import WorkerPool

        loop = asyncio.get_running_loop()
        found = self._pool
        if found is not None and found.loop is not loop:
            if not found.loop.is_closed():
                raise UsageError(
                    "these workers are in use on another event loop", "Give each loop a Ray(…)"
                )
            found = self._pool = WorkerPool(found.nodes, loop, found.release())
        if found is None:
            given = "working_dir" in (self._runtime_env or {})
            nodes = await in_thread(Nodes, self._needs, None if given else os.getcwd())  # noqa: PTH109
            if self.address is None and self._started and not any(nodes.missing()):
                raise ClusterError(
                    f"this machine has no room for a worker that takes {self._needs.told()}",
                    "Ask for less, or join a cluster that has it: Ray('auto')",
                )
            found = self._pool  # another fan-out may have been quicker
        if found is None:
            found = self._pool = WorkerPool(nodes, loop)
        return found


def _join(address: str | None, runtime_env: Mapping[str, Any] | None) -> bool:
    """Start or join a Ray; False: this process is connected to one already, which is used."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Otherwise Ray hides the GPUs from workers that take none, and warns that it will not.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise MissingExtra("workers on Ray", "ray") from None
    if ray.is_initialized():
        return False
    options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if runtime_env is not None:
        options["runtime_env"] = dict(runtime_env)
    if address is None:
        options |= {
            "address": "local",
            "include_dashboard": False,
            "num_cpus": os.cpu_count(),
        }
    else:
        options["address"] = address
    try:
        with _quietly(), _on_loopback() if address is None else nullcontext():
            ray.init(**options)
    except Exception as error:
        where = "started" if address is None else f"joined at {address!r}"
        step = "See that `ray.init` works by itself there, with the same versions"
        raise ClusterError(f"Ray could not be {where}: {one_line(error)}", step) from error
    return True


def _shut_down() -> None:
    import ray

    ray.shutdown()


@contextmanager
def _quietly() -> Iterator[None]:
    """Leave out what Ray says to people who call `ray.init` themselves.

    Of a worker that died it would also write to stdout, which is for results; `WorkerGone` says it.
    """
    from ray._private import worker

    logger = logging.getLogger("ray")
    before, listen = logger.level, worker.listen_error_messages
    logger.setLevel(logging.ERROR)
    worker.listen_error_messages = lambda *_: None
    try:
        yield
    finally:
        logger.setLevel(before)
        worker.listen_error_messages = listen


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Let Ray listen on 127.0.0.1 alone.

    It takes the address that other machines can reach, even if it is told another one, except
    where it supports no clusters: there it stays on loopback. So it is told that.
    """
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    os.environ[ONLY_LOCAL] = "0"
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
        del os.environ[ONLY_LOCAL]
