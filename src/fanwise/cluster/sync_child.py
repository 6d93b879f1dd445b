"""The process in which a worker runs sync functions: `python -m fanwise.cluster.sync_child FD`.

A thread cannot be killed, a process can. One call at a time comes over the socket FD; while it
runs, a thread waits for the message that it should end, which `fanwise.cancelled()` then tells.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

from fanwise.cluster.shipping import pack, pack_error, unpack
from fanwise.core.outcome import Outcomes
from fanwise.errors import UsageError
from fanwise.kernel.home import CallEnd, CallRequest, home
from fanwise.kernel.inside_call import InsideCall
from fanwise.kernel.work import is_awaitable

SIZE = struct.Struct("!I")
CANCEL = b""


class _NoWayHome:
    """A sync function on a worker is in a process of its own, which does not talk to the driver."""

    async def permit(self, request: CallRequest) -> Callable[[CallEnd], None]:
        raise UsageError("a sync function on a worker cannot use `call`", "Make it async")

    async def fan_out(self, work: Any, items: Any, options: dict[str, Any]) -> Outcomes[Any]:
        raise UsageError("a sync function on a worker cannot fan out", "Make it async")

    async def fetch(self, name: str) -> bytes:
        raise UsageError("a sync function on a worker has no workspaces", "Make it async")


def main() -> None:
    home.set(_NoWayHome())
    connection = socket.socket(fileno=int(sys.argv[1]))
    works: dict[int, Callable[[Any], Any]] = {}
    calls = InsideCall(lambda: _read(connection), CANCEL)
    while True:
        number, work, item = pickle.loads(calls.next_message())
        with calls.call() as call:
            value, error = _perform(works, number, work, item)
        reply = pickle.dumps((value, error, call.was_told), protocol=5)
        connection.sendall(SIZE.pack(len(reply)) + reply)


def _perform(
    works: dict[int, Callable[[Any], Any]], number: int, work: bytes | None, item: bytes
) -> tuple[bytes | None, bytes | None]:
    try:
        if work is not None:
            works[number] = unpack(work, "the work")
        value = works[number](unpack(item, "the item"))
        if is_awaitable(value):
            value = asyncio.run(_awaited(value))
        return pack(value, "the value"), None
    except BaseException as error:
        return None, pack_error(error)


async def _awaited(value: Any) -> Any:
    return await value


def _read(connection: socket.socket) -> bytes | None:
    """One message; None: the worker is gone."""
    head = _exactly(connection, SIZE.size)
    return None if head is None else _exactly(connection, SIZE.unpack(head)[0])


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(size - len(data), 1 << 20))
        if not piece:
            return None
        data += piece
    return bytes(data)


if __name__ == "__main__":
    main()
