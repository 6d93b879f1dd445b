from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from fanwise.models.local.server import stop_all
from fanwise.processes import Command, run_command
from tests.processes.support import children, open_files


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    """Each test leaves no child, no zombie and no open file behind."""
    stop_all()  # of another test in this process: a local model's server is a child, too
    asyncio.run(run_command(Command("true")))  # the guard is there before we count
    before, others = open_files(), children()  # a cluster that tests share may be a child
    yield
    gc.collect()  # what was dropped without being closed warns now, in the test that dropped it
    assert children().keys() <= others.keys()
    after = open_files()
    assert len(after) <= len(before), after.items() - before.items()
