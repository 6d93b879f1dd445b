"""As much HTTP/1.1 as the scripted server needs: keep-alive, JSON answers, event streams.

The standard library has no async server, and a framework would be a dependency of every user's
tests. It is written for clients that behave; it is no server for anything else.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
from collections.abc import Callable, Mapping
from typing import Any

import msgspec


class HttpRequest(msgspec.Struct, frozen=True):
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(self.body)
        return found


class Connection:
    """One client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._buffer = b""
        self.before_end: Callable[[], None] = lambda: None
        """Called before the last bytes of an answer, after which the client may ask again."""

    async def request(self) -> HttpRequest | None:
        """The next request; None when the client has gone."""
        while b"\r\n\r\n" not in self._buffer:
            if not await self._more():
                return None
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split()
        headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
        size = int(headers.get("content-length", "0"))
        while len(self._buffer) < size:
            if not await self._more():
                return None
        body, self._buffer = self._buffer[:size], self._buffer[size:]
        return HttpRequest(method, path, headers, body)

    async def gone(self) -> None:
        """Return when the client closes. What it sends meanwhile is its next request."""
        with contextlib.suppress(ConnectionError):
            while await self._more():
                pass

    def has_left(self) -> bool:
        """Whether the client has closed its side, even if this loop had no turn to notice it."""
        hung_up = getattr(select, "POLLRDHUP", 0)  # only Linux has it
        poll = select.poll()
        poll.register(self._writer.get_extra_info("socket").fileno(), hung_up)
        return bool(poll.poll(0))

    async def _more(self) -> bool:
        data = await self._reader.read(65536)
        self._buffer += data
        return bool(data)

    async def send_json(self, status: int, body: Any, headers: Mapping[str, str] = {}) -> None:
        content = msgspec.json.encode(body)
        sent = {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}
        self.before_end()
        await self._send(_head(status, sent) + content)

    async def begin_events(self) -> None:
        """The head of an event stream."""
        sent = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
        await self._send(_head(200, sent))

    async def send_event(self, data: Any) -> None:
        await self._send(_piece(b"data: " + msgspec.json.encode(data) + b"\n\n"))

    async def end_events(self) -> None:
        """The end of the stream; the connection goes on."""
        self.before_end()
        await self._send(_piece(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    def cut(self) -> None:
        """Break off in the middle."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Close, also when the client has gone."""
        self._writer.close()
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await self._writer.wait_closed()

    async def _send(self, data: bytes) -> None:
        if self._writer.is_closing():
            raise ConnectionResetError
        self._writer.write(data)
        await self._writer.drain()


def _piece(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{n}: {v}" for n, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
