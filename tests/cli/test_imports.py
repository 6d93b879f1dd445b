"""What the quick commands import: the modules are counted, since seconds depend on the machine."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from fanwise.journal.port import FanOutRecord, ItemEndWrite
from fanwise.journal.sqlite import SqliteJournal
from tests.journal.conftest import a_run, write

HEAVY = {
    "alembic", "asyncio", "concurrent.futures", "fanwise.journal.schema", "fanwise.journal.writer",
    "fanwise.kernel", "fanwise.models", "fanwise.processes", "fanwise.specs", "jinja2", "numpy",
    "opentelemetry", "pydantic", "rich", "sqlalchemy", "yaml",
}  # fmt: skip
MOST_MODULES = 330

CODE = """
import sys
from fanwise.cli.app import run_and_flush
code = run_and_flush(sys.argv[1:])
print(code, *sys.modules, file=sys.stderr)
"""


@pytest.fixture
def journal(tmp_path: Path) -> str:
    path = tmp_path / "j.db"
    journal = SqliteJournal(path)
    digest = hashlib.sha256(a_run().spec.encode()).hexdigest()
    run = journal.create_run(msgspec.structs.replace(a_run(), digest=digest))
    fan_out = FanOutRecord(run.number << 32 | 1, "r", "lines", 1, "never", 1.0)
    write(journal, fan_out, ItemEndWrite(fan_out.id, "0", 0, "failed", 2.0))
    spec = '{"data": {"steps": [{"id": "first"}]}}'
    digest = hashlib.sha256(spec.encode()).hexdigest()
    journal.create_run(
        msgspec.structs.replace(a_run("flow"), kind="workflow", spec=spec, digest=digest)
    )
    journal.close()
    return str(path)


@pytest.mark.parametrize(
    "command", ["runs", "runs --json", "show r", "show r --json", "show flow", "--help"]
)
def test_a_quick_command_imports_little(command: str, journal: str) -> None:
    place = [] if command == "--help" else ["--journal", journal]
    done = subprocess.run(
        [sys.executable, "-c", CODE, *command.split(), *place],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    code, *modules = done.stderr.splitlines()[-1].split()
    assert (code, sorted(HEAVY & {*modules})) == ("0", [])
    assert len(modules) < MOST_MODULES
