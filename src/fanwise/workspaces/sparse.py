"""The folders of a sparse checkout, in the form that git reads (its "cone mode").

Written by us and not by `git sparse-checkout`, which sets `extensions.worktreeConfig` in the
configuration that the user's own work tree shares.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from fanwise.errors import UsageError

SETTINGS = ("core.sparseCheckout=true", "core.sparseCheckoutCone=true")

EVERYTHING = "/*\n"
"""For a checkout that was sparse before: git does not look at files again that it has left out,
unless it is told of a cone."""

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\*?["})


def cone(folders: Iterable[str]) -> str:
    """Return the patterns: the files at the top, and these folders with all that is in them.

    As in git, the files beside each of them, on the way down to it, are there too.
    """
    wanted = {_parts(folder) for folder in folders}
    whole = {one for one in wanted if not any(one[:n] in wanted for n in range(1, len(one)))}
    passed = {one[:n] for one in whole for n in range(1, len(one))}
    lines = ["/*", "!/*/"]
    for one in sorted(whole | passed):
        name = "/".join(one).translate(_SPECIAL)
        lines += [f"/{name}/"] if one in whole else [f"/{name}/", f"!/{name}/*/"]
    return "\n".join(lines) + "\n"


def _parts(folder: str) -> tuple[str, ...]:
    path = PurePosixPath(folder)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise UsageError(
            f"sparse names {folder!r}", "Name folders relative to the top of the repository"
        )
    return path.parts
