"""Where fanwise keeps what it can make again: the user's cache directory, for all projects.

`FANWISE_CACHE` names another, for machines whose home directory is small, shared or not there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fanwise.errors import UsageError

VARIABLE = "FANWISE_CACHE"


def cache_folder() -> Path:
    """The folder; it may not exist yet."""
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given).absolute()
    try:
        home = Path.home()
    except RuntimeError:
        raise UsageError("this user has no home directory", f"Set {VARIABLE} to a folder") from None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "fanwise"
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (xdg if xdg.is_absolute() else home / ".cache") / "fanwise"
