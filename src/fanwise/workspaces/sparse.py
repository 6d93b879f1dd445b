"""The folders of a sparse checkout, in the form that git reads (its "cone mode").

Written by us and not by `git sparse-checkout`, which sets `extensions.worktreeConfig` in the
configuration that the user's own work tree shares.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

from fanwise.errors import UsageError

SETTINGS = ("core.sparseCheckout=true", "core.sparseCheckoutCone=true")

EVERYTHING = "/*\n"
"""For a checkout that was sparse before: git does not look at files again that it has left out,
unless it is told of a cone."""

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\*?["})


FILES_ONLY = "/*"
"""At the end of a folder's name: the files in it, and not the folders."""


def cone(folders: Iterable[str]) -> str:
    """Return the patterns: the files at the top, and these folders with all that is in them.

    As in git, the files beside each of them, on the way down to it, are there too.
    """
    wanted = set(folders)
    flat = {_parts(each.removesuffix(FILES_ONLY)) for each in wanted if each.endswith(FILES_ONLY)}
    deep = {_parts(each) for each in wanted if not each.endswith(FILES_ONLY)}
    whole = {one for one in deep if not _below(one, deep)}
    passed = {one[:n] for one in whole | flat for n in range(1, len(one) + (one in flat))}
    passed = {one for one in passed - whole if not _below(one, whole)}
    lines = ["/*", "!/*/"]
    for one in sorted(whole | passed):
        name = "/".join(one).translate(_SPECIAL)
        lines += [f"/{name}/"] if one in whole else [f"/{name}/", f"!/{name}/*/"]
    return "\n".join(lines) + "\n"


def _below(one: tuple[str, ...], folders: Collection[tuple[str, ...]]) -> bool:
    return any(one[:n] in folders for n in range(1, len(one)))


def _parts(folder: str) -> tuple[str, ...]:
    path = PurePosixPath(folder)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise UsageError(
            f"sparse names {folder!r}", "Name folders relative to the top of the repository"
        )
    return path.parts
