"""One Ray for all tests of a process: it takes seconds to start."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from fanwise.cluster import Ray
from fanwise.kernel.workers import On


@pytest.fixture(scope="session")
def cluster() -> Iterator[Ray]:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray has no wheel for this Python and platform")
    with Ray(workers=2) as place:
        yield place


@pytest.fixture(params=["here", pytest.param("ray", marks=pytest.mark.slow)])
def on(request: pytest.FixtureRequest) -> On | None:
    """Where attempts run: each test that takes this runs in both places."""
    if request.param == "here":
        return None
    found: Ray = request.getfixturevalue("cluster")
    return found
