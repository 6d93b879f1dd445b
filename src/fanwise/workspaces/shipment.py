"""A repository as one file, for machines that do not have it: a commit, and what goes with it.

It is an archive of a small repository: the objects of one commit as a pack, without history, the
settings that decide how files are read and written, and the files that `copy` names. What was
changed there comes back as a pack of the new objects.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from fanwise.errors import UsageError
from fanwise.workspaces.copies import matching
from fanwise.workspaces.git import Git
from fanwise.workspaces.repository import read_origin
from fanwise.workspaces.source import files_of_commit, find

_LINK = "160000"


def write_shipment(repo: Path, base: str, copy: Sequence[str], target: Path) -> None:
    """Write the archive of a commit. A `UsageError` if the commit cannot be sent."""
    place = find(repo)
    if place.git_dir is None or place.common is None:
        raise UsageError(
            f"{repo} is not in a git repository, and cannot be sent to workers",
            "Run `git init` there and commit, or leave `on` out",
        )
    git = Git(place.top, git_dir=place.git_dir)
    files = files_of_commit(git, base)
    links = [path for path, (mode, _) in files.items() if mode == _LINK]
    if links:
        raise UsageError(
            f"the repository has submodules ({links[0]}), which are not sent to workers",
            "Leave `on` out",
        )
    origin = read_origin(git, place.common)
    small = {name: origin.files[name] for name in origin.files if name.startswith("info/")}
    small |= {
        "config": origin.config.encode("utf-8", "surrogateescape"),
        "HEAD": f"{base}\n".encode(),
        "shallow": f"{base}\n".encode(),
    }
    with (
        tempfile.TemporaryDirectory(prefix="fanwise-") as folder,
        tarfile.open(target, "w") as archive,
    ):
        objects = git.raw("rev-list", "--objects", "--no-walk", "--no-object-names", base)
        git("pack-objects", "--quiet", f"{folder}/pack", stdin=objects)
        for each in sorted(Path(folder).iterdir()):
            archive.add(each, f".git/objects/pack/{each.name}")
        for name, content in small.items():
            entry = tarfile.TarInfo(f".git/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        refs = tarfile.TarInfo(".git/refs")
        refs.type, refs.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(refs)
        for name in matching(place.top, copy, files) if copy else ():
            archive.add(place.top / name, name)


def pack_commit(git: Git, commit: str, base: str) -> bytes:
    """The objects of a commit that `base` does not have, as a pack."""
    objects = git.raw("rev-list", "--objects", "--no-object-names", commit, f"^{base}")
    return pack_objects(git, objects.decode().split())


def pack_objects(git: Git, names: Iterable[str]) -> bytes:
    """These objects as a pack; empty if there are none."""
    listed = "".join(f"{name}\n" for name in dict.fromkeys(names)).encode()
    return git.raw("pack-objects", "--quiet", "--stdout", stdin=listed) if listed else b""


def take_objects(git: Git, pack: bytes) -> None:
    """Add the objects of a pack to a repository."""
    if pack:
        git("unpack-objects", "-q", stdin=pack)
