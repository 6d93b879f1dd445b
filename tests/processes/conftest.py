from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from fanwise.processes import Command, run_command
from tests.processes.support import children, open_files


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    """Each test leaves no child, no zombie and no open file behind."""
    asyncio.run(run_command(Command("true")))  # the guard is there before we count
    before = open_files()
    yield
    gc.collect()  # what was dropped without being closed warns now, in the test that dropped it
    assert children() == {}
    after = open_files()
    assert len(after) <= len(before), after.items() - before.items()
