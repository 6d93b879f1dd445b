"""What all tests share: the profiles of hypothesis, and a real language model."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

import pytest

from tests import profiles
from tests.marks import slow
from tests.postgres import Server, running_server

profiles.register()
os.environ.setdefault("VIRTUAL_ENV", sys.prefix)  # projects of tests are tested with our packages


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What asks a real model is slow."""
    for item in items:
        if "smollm2" in getattr(item, "fixturenames", ()):
            item.add_marker(slow)


@pytest.fixture(autouse=True, scope="module")
def _what_stays_is_not_collected() -> None:
    """Let the collector look only at what tests make, not at all modules and all other tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def smollm2() -> str:
    """The name of a real model: pulled once, into the user's cache; without a network: skipped.

    Two workers may ask at once: one pulls and the other waits.
    """
    from fanwise.errors import PullFailed, WrongDigest
    from fanwise.models.local.pull import pull
    from fanwise.models.local.weights import KNOWN

    try:
        pull(KNOWN["smollm2"])
    except WrongDigest:
        raise
    except PullFailed as error:
        pytest.skip(str(error))
    return "local:smollm2?threads=1"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A real PostgreSQL; skipped, saying so, where its binaries are not installed."""
    with running_server() as server:
        yield server


@pytest.fixture
def postgres(postgres_server: Server) -> Server:
    """The same server for each test, with an empty database."""
    postgres_server.empty()
    return postgres_server
