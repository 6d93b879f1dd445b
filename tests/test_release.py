"""What `make release` writes. Building and tagging is seen by doing it."""

from __future__ import annotations

import importlib.metadata
import runpy
from pathlib import Path
from typing import Any

import pytest

import fanwise

RELEASE: dict[str, Any] = runpy.run_path(
    str(Path(__file__).parent.parent / "scripts" / "release.py"), run_name="release"
)
LOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n"


def test_what_was_unreleased_is_moved_under_its_version() -> None:
    done = RELEASE["cut"](LOG, "0.2.0", "2026-01-02")
    assert done == (
        "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-01-02\n\n### Added\n\n- A thing.\n"
    )


@pytest.mark.parametrize(
    ("log", "version", "said"),
    [
        ("# Changelog\n", "0.2.0", "no line"),
        ("# Changelog\n\n## [Unreleased]\n\n## [0.1.0]\n", "0.2.0", "says nothing"),
        ("# Changelog\n\n## [Unreleased]\n", "0.2.0", "says nothing"),
        (LOG + "\n## [0.2.0] - 2026-01-01\n", "0.2.0", "already"),
    ],
)
def test_a_release_without_changes_or_of_a_known_version_is_refused(
    log: str, version: str, said: str
) -> None:
    with pytest.raises(SystemExit, match=said):
        RELEASE["cut"](log, version, "2026-01-02")


def test_the_version_stands_in_one_place() -> None:
    assert importlib.metadata.version("fanwise") == fanwise.__version__
    module = Path(fanwise.__file__).read_text()
    changed = RELEASE["with_version"](module, "9.9.9")
    assert '__version__ = "9.9.9"' in changed
    assert changed.replace("9.9.9", fanwise.__version__) == module
