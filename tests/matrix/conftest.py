"""One matrix that really ran, for all tests that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.matrix.real_run import record


@pytest.fixture(scope="session")
def recorded_matrix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its journal."""
    journal = tmp_path_factory.mktemp("matrix") / "journal.db"
    record(journal)
    return journal
