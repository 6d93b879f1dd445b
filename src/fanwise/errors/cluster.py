"""Errors about workers in other processes and on other machines."""

from __future__ import annotations

from fanwise.errors.base import FanwiseError, UsageError


class NotShippable(UsageError):
    """Something that cannot be sent to a worker, or back: a lock, a connection, a missing module.

    Raised for the work itself before anything starts, and for an item or a value as the error of
    that item.
    """

    def __init__(self, what: str, why: str) -> None:
        self.what = what
        self.why = why
        super().__init__(
            f"{what} cannot travel between the driver and a worker: {why}",
            "Send plain data, and open files, locks and connections inside the function",
        )


class ClusterError(FanwiseError):
    """The cluster could not be started, joined or used."""


class WorkersNotReady(ClusterError):
    """No worker came up in time: the nodes lack the room, or what a worker imports takes long."""

    def __init__(self, seconds: float, starting: int) -> None:
        self.seconds = seconds
        self.starting = starting
        """Workers that were asked for and did not answer."""
        told = f"{starting} still starting" if starting else "no node has room for one"
        super().__init__(
            f"no worker was ready within {seconds:g} s ({told})",
            "Look at `ray status`: are the CPUs, GPUs and memory of a worker free on a node?",
        )


class WorkerLost(ClusterError):
    """Every worker that was given an item died: most likely the item kills them."""

    def __init__(self, workers: tuple[str, ...], reason: str) -> None:
        self.workers = workers
        self.reason = reason
        super().__init__(
            f"{len(workers)} workers died of this item: {', '.join(workers)} ({reason})",
            "Look at the memory it takes, and at what it does to its own process",
        )


class ProcessDied(FanwiseError):
    """The process in which a worker ran a sync function ended before the function did."""

    def __init__(self, exit_code: int | None) -> None:
        self.exit_code = exit_code
        how = f"signal {-exit_code}" if exit_code and exit_code < 0 else f"exit code {exit_code}"
        super().__init__(
            f"the process of the function ended with {how}",
            "Look for os._exit, a crash in an extension, or too little memory",
        )
