"""Start the view's server, and say where it is."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

import uvicorn

from fanwise.errors import UsageError
from fanwise.web.access import Access
from fanwise.web.app import View

LOOPBACK = "127.0.0.1"
STOP_S = 1
"""How long the end waits for open pages: they are always open."""


def serve(
    location: str | None,
    *,
    ready: Callable[[str], None],
    host: str = LOOPBACK,
    port: int = 0,
    origin: str = "",
    read_only: bool = False,
    user_header: str = "",
) -> None:
    """Serve until Ctrl-C. `ready` is called with the address, which has the token."""
    listening = _listen(host, port)
    with listening:
        access = _access(host, listening.getsockname()[1], origin)
        view = View(location, read_only=read_only, user_header=user_header)
        config = uvicorn.Config(
            view.app(access), log_level="critical", access_log=False, lifespan="off",
            server_header=False, timeout_graceful_shutdown=STOP_S,
        )  # fmt: skip
        ready(f"{_address(host, access.port)}/?token={access.token}")
        try:
            uvicorn.Server(config).run([listening])
        finally:
            view.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen()  # from now on who knows the address can connect
    except OSError as error:
        made.close()
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror}",
            "Choose another port: --port N, or leave it out for a free one",
        ) from error
    return made


def _access(host: str, port: int, origin: str) -> Access:
    here = {_address(host, port)}
    if host in (LOOPBACK, "::1", "localhost"):
        here |= {_address(each, port) for each in (LOOPBACK, "localhost", "::1")}
    if origin:
        here.add(origin.rstrip("/").lower())
    return Access(secrets.token_urlsafe(24), port, here)


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
