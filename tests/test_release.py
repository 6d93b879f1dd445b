"""What `make release` writes. Building and tagging is seen by doing it."""

from __future__ import annotations

import importlib.metadata
import runpy
import sys
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


METADATA = """\
Metadata-Version: 2.4
Version: 0.2.0
Requires-Python: >=3.11
Project-URL: Documentation, https://example.org/

# fanwise

[guide](https://example.org/guide)
"""


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        (METADATA.replace("0.2.0", "0.1.0"), "Version: 0.2.0"),
        (METADATA.replace("Project-URL", "Home-Page"), "Project-URL"),
        (METADATA.replace("https://example.org/guide", "docs/guide.md"), "docs/guide.md"),
        (METADATA.partition("\n\n")[0] + "\n\n", "no text"),
    ],
)
def test_metadata_that_an_index_cannot_show_is_refused(metadata: str, said: str) -> None:
    RELEASE["check_metadata"](METADATA, "0.2.0")
    with pytest.raises(SystemExit, match=said):
        RELEASE["check_metadata"](metadata, "0.2.0")


def test_a_python_is_found_by_its_version_or_not_at_all() -> None:
    version = "{}.{}".format(*sys.version_info)
    assert RELEASE["find_python"](version) is not None
    assert RELEASE["find_python"]("3.1") is None
