"""Where pulled weights are kept, and whether they are whole."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fanwise.cache_folder import cache_folder
from fanwise.models.local.weights import Weights

_PIECE = 1 << 20


def weights_folder() -> Path:
    """Where weights are kept; it may not exist yet."""
    return cache_folder() / "models"


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
