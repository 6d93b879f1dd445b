"""Archives that workers need: a machine gets each once, when something there first asks for it.

A driver keeps a parcel as a file while workers may ask for it. On a worker's machine it is
unpacked in the cache folder, where all workers of the machine use it. Each holds a lock on the
folder: what nobody holds is of workers that ended or died, and is removed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from io import BytesIO
from pathlib import Path

from fanwise.cache_folder import cache_folder
from fanwise.errors import ClusterError
from fanwise.kernel.home import home
from fanwise.kernel.in_thread import in_thread, thread_context
from fanwise.workspaces.folders import alone, remove_tree

kept_parcels: dict[str, list[Path]] = {}
"""The archives that workers of this driver may ask for, by their names; the same one several times
where several items need it."""
_held: dict[str, tuple[Path, int]] = {}
"""On a worker: the folders that it uses, with their locks."""


@asynccontextmanager
async def parcel(write: Callable[[Path], None]) -> AsyncIterator[str]:
    """Have an archive written and keep it for a block. Its name is its digest."""
    async with thread_context(tempfile.TemporaryDirectory(prefix="fanwise-")) as folder:
        path = Path(folder) / "parcel.tar"
        await in_thread(write, path)
        name = await in_thread(_digest, path)
        kept_parcels.setdefault(name, []).append(path)
        try:
            yield name
        finally:
            kept_parcels[name].remove(path)


async def unpacked(name: str) -> Path:
    """Where a parcel is on this machine. Call it inside an item on a worker."""
    if name not in _held:
        folder = cache_folder() / "parcels"
        await in_thread(folder.mkdir, parents=True, exist_ok=True, mode=0o700)
        async with thread_context(alone(folder)):  # one process of the machine asks
            await in_thread(_remove_unused, folder, name)
            if name not in _held and not (folder / name).is_dir():
                driver = home.get()
                if driver is None:
                    raise ClusterError("a parcel is asked for outside of a worker", "Report this")
                await in_thread(_unpack, await driver.fetch(name), folder / name)
            await in_thread(_hold, folder / name)
    return _held[name][0]


def let_go_of_parcels() -> None:
    """This worker ends: the last one of a machine removes them."""
    while _held:
        _, (path, lock) = _held.popitem()
        os.close(lock)
        with suppress(OSError), alone(path.parent):
            _remove_unused(path.parent, "")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def _unpack(data: bytes, target: Path) -> None:
    made = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        with tarfile.open(fileobj=BytesIO(data)) as archive:
            archive.extractall(made, filter="data")
        made.rename(target)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _hold(path: Path) -> None:
    if path.name not in _held:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_SH)
        _held[path.name] = (path, lock)


def _remove_unused(folder: Path, wanted: str) -> None:
    """Remove parcels that no process holds. Call it while `alone`."""
    for path in folder.iterdir():
        if path.name == wanted:
            continue
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        finally:
            os.close(lock)
        remove_tree(path)
