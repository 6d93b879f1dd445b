"""The servers of this process: one for each file and settings, shared by all that ask."""

from __future__ import annotations

import atexit
import os
import threading

from fanwise.models.local.server import Server
from fanwise.models.local.settings import LocalFile

_servers: dict[LocalFile, Server] = {}
_lock = threading.Lock()  # event loops of several threads may come at once
_owner = os.getpid()


def server_for(name: str, place: LocalFile) -> Server:
    """The server, which is up, is starting, or is started now: the last one may have died."""
    with _lock:
        _after_a_fork()
        server = _servers.get(place)
        if server is None or server.is_gone():
            if server is not None:
                server.stop()
            server = _servers[place] = Server(name, place)
            atexit.unregister(stop_all)
            atexit.register(stop_all)  # after the guard has, so that it runs before it
        return server


def running(place: LocalFile) -> Server | None:
    """The server, if there is one now."""
    with _lock:
        _after_a_fork()
        server = _servers.get(place)
        return None if server is None or server.is_gone() else server


def stop(place: LocalFile) -> None:
    """End this server, if it runs."""
    with _lock:
        _after_a_fork()
        server = _servers.pop(place, None)
        if server is not None:
            server.stop()


def stop_all() -> None:
    """End all. At the end of the process."""
    for place in list(_servers):
        stop(place)


def _after_a_fork() -> None:
    """A fork has servers of its own: those of its parent end with the parent."""
    global _owner
    if _owner != os.getpid():
        _owner = os.getpid()
        while _servers:
            _servers.popitem()[1].forget()
