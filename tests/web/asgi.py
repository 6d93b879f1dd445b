"""Requests to an ASGI application, without a server in between."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote

from starlette.types import ASGIApp, Message

HOST = "127.0.0.1:7777"
ORIGIN = f"http://{HOST}"


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str


async def request(
    app: ASGIApp, address: str, *, method: str = "GET", body: str = "", **headers: str
) -> Answer:
    """One request; `sec_fetch_site="none"` is the header `Sec-Fetch-Site`."""
    path, _, query = address.partition("?")
    given = {"host": HOST, **{name.replace("_", "-"): text for name, text in headers.items()}}
    scope: dict[str, Any] = {
        "type": "http", "http_version": "1.1", "method": method, "scheme": "http",
        "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(),
        "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 7777),
        "headers": [(name.encode(), text.encode()) for name, text in given.items()],
    }  # fmt: skip
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body.encode(), "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    told = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
    return Answer(sent[0]["status"], told, b"".join(m["body"] for m in sent[1:]).decode())
