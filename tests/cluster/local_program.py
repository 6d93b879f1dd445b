"""A Ray of its own: what it listens on, and what it refuses. Prints JSON.

A program of its own: a process can be connected to one Ray only.
"""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from fanwise import Ray, fan_out
from fanwise.cluster.link import versions
from fanwise.errors import ClusterError
from tests.cluster import works

LISTENING = "0A"


def children_of(pid: int) -> set[int]:
    found: set[int] = set()
    for thread in Path("/proc").glob(f"{pid}/task/*/children"):
        with suppress(OSError):  # the thread has ended
            for each in map(int, thread.read_text().split()):
                found |= {each, *children_of(each)}
    return found


def listens_on(pids: set[int]) -> set[str]:
    """The addresses on which these processes accept connections, as /proc writes them."""
    sockets: set[str] = set()
    for pid in pids:
        for each in Path("/proc").glob(f"{pid}/fd/*"):
            with suppress(OSError):
                sockets.add(str(each.readlink()))
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in sockets:
                found.add(fields[1].partition(":")[0])
    return found


def refusal(**options: object) -> str:
    try:
        asyncio.run(fan_out(works.double, [1], on=Ray(**options)))  # type: ignore[arg-type]
    except ClusterError as error:
        return str(error)
    return "not refused"


def main() -> dict[str, object]:
    with Ray(workers=1) as ray:
        values = asyncio.run(fan_out(works.double, [1, 2], on=ray)).values()
        pids = children_of(os.getpid())
        addresses = sorted(listens_on(pids))
    no_room = refusal(resources={"absent": 1})
    with patch("fanwise.cluster.nodes.versions", lambda: {**versions(), "fanwise": "0.0.1"}):
        mismatch = refusal(workers=1)
    return {
        "values": values,
        "addresses": addresses,
        "processes": len(pids),
        "no_room": no_room,
        "mismatch": mismatch,
        "version": versions()["fanwise"],
        "left": sorted(children_of(os.getpid())),
    }


if __name__ == "__main__":
    print(json.dumps(main()))
