"""A connection pool in front of the server is found and refused, with a real pgbouncer."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanwise.errors import JournalNotWritable
from fanwise.journal.open import open_journal
from tests.journal.conftest import a_run
from tests.marks import slow
from tests.postgres import IS_ROOT, USER, Server, free_port

FOUND = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


@pytest.fixture(params=["transaction", "session"])
def pooled(request: pytest.FixtureRequest, postgres: Server) -> Iterator[str]:
    """The address of a pool in front of the server."""
    if FOUND is None:
        pytest.skip("pgbouncer is not installed: that pools are refused is not tested")
    port = free_port()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        settings = Path(folder) / "settings.ini"
        settings.write_text(f"""[databases]
* = host=127.0.0.1 port={postgres.port} user=fanwise
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {request.param}
ignore_startup_parameters = extra_float_digits
""")
        if IS_ROOT:
            shutil.chown(folder, "nobody")
            settings.chmod(0o644)
        process = subprocess.Popen(
            [FOUND, "-q", settings], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **USER
        )
        try:
            wait_for(port, process)
            yield f"postgresql://fanwise@127.0.0.1:{port}/postgres"
        finally:
            process.kill()
            process.communicate()


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, process.communicate()[0]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("pgbouncer does not answer")


@slow
def test_a_pool_is_refused_and_says_what_to_give_instead(pooled: str, postgres: Server) -> None:
    with pytest.raises(JournalNotWritable, match="connection pool, such as pgbouncer") as caught:
        open_journal(pooled).create_run(a_run())
    assert "the address of the PostgreSQL server itself" in str(caught.value)
    assert postgres.query("SELECT 1 FROM pg_namespace WHERE nspname = 'fanwise'") == []
