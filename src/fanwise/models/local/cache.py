"""Where pulled weights are kept: the user's cache directory, for all projects of the user.

`FANWISE_CACHE` names another, for machines whose home directory is small, shared or not there.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from fanwise.errors import UsageError
from fanwise.models.local.weights import Weights

VARIABLE = "FANWISE_CACHE"
_PIECE = 1 << 20


def weights_folder() -> Path:
    """Where weights are kept; it may not exist yet."""
    return _cache() / "models"


def weights_path(weights: Weights) -> Path:
    """Where these are, once they are pulled."""
    return weights_folder() / weights.file_name


def is_whole(path: Path, weights: Weights) -> bool:
    """Whether the file has the size and the digest that it must have."""
    if not path.is_file() or path.stat().st_size != weights.size:
        return False
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest() == weights.sha256


def _cache() -> Path:
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
