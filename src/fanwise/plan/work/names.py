"""What a file is called where the work is done: in the folder that the plan is for.

In the tree of a plan names are relative to the top of the repository. Commands run in the folder
of `repo:`, which may be a part of that, and there a file has another name. A name that begins with
a dash would be an option to most programs, so it gets a `./` in front.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence

import msgspec

from fanwise.workspaces import Workspace


class NotInside(ValueError):
    """A path that is outside the repository, or invalid."""


class Names(msgspec.Struct, frozen=True):
    """Names in a folder of the repository: `inside` is that folder; empty: its top."""

    inside: str = ""

    def here(self, path: str) -> str:
        """The name in the folder of a path in the repository."""
        name = posixpath.relpath(path, self.inside) if self.inside else path
        return f"./{name}" if name.startswith("-") else name

    def top(self, name: str) -> str:
        """The path in the repository of a name in the folder. `NotInside`."""
        if not name or "\0" in name or name.startswith("/") or name.endswith("/"):
            raise NotInside(f"{name!r} is not the name of a file here")
        try:
            os.fsencode(name)
        except UnicodeEncodeError:
            raise NotInside(f"{name!r} is not a valid file name") from None
        path = posixpath.normpath(posixpath.join(self.inside, name))
        parts = path.split("/")
        if parts[0] == ".." or path == "." or any(part.lower() == ".git" for part in parts):
            raise NotInside(f"{name!r} is not a file of the repository")
        return path

    def patterns(self, given: Sequence[str]) -> tuple[str, ...]:
        """Patterns that are relative to the folder, for paths of the repository."""
        return tuple(map(self._pattern, given))

    def _pattern(self, given: str) -> str:
        if not self.inside:
            return given
        sign = "!" if given.startswith("!") else ""
        plain = given.removeprefix("!").removeprefix("./")
        # One without a slash is for a name anywhere, but not outside of the folder.
        anywhere = "" if "/" in plain.rstrip("/") else "**/"
        return f"{sign}{self.inside}/{anywhere}{plain.lstrip('/')}"


def names_of(workspace: Workspace) -> Names:
    inside = workspace.path.relative_to(workspace.root).as_posix()
    return Names("" if inside == "." else inside)
