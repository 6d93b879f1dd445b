"""A throw-away repository that has the user's objects, and nothing else of theirs.

For commits and merges that nobody has checked out. What is made there is in the user's object
store; refs, index and crash reports of git's are in a folder that goes away. And nothing that is
configured runs: a merge driver, which a `.gitattributes` in the repository may ask for by name, is
a program in the configuration of the user, and here is none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fanwise.workspaces.git import Git

_NO_CONFIGURATION = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
}
_SETTINGS = ("core.attributesFile=/dev/null", "core.logAllRefUpdates=false")


@contextmanager
def apart(git: Git) -> Iterator[Git]:
    """git in such a repository, for a block.

    `cwd` is an empty folder, its work tree; beside it is room for files of the caller's.
    """
    asked = ("--git-path", "objects", "--show-object-format")
    found = git.raw("rev-parse", "--path-format=absolute", *asked)
    objects, kind = found.decode("utf-8", "surrogateescape").splitlines()
    shared = git.run("config", "--get", "core.sharedRepository")[1].decode().strip()
    with tempfile.TemporaryDirectory(prefix="fanwise-") as name:
        folder = Path(name)
        env = {**_NO_CONFIGURATION, "GIT_OBJECT_DIRECTORY": objects}
        options = ("--quiet", "--bare", "--template=", f"--object-format={kind}")
        Git(folder, env=_NO_CONFIGURATION)("init", *options, "apart.git")
        settings = [*_SETTINGS, *([f"core.sharedRepository={shared}"] if shared else [])]
        (folder / "tree").mkdir()
        yield Git(folder / "tree", git_dir=folder / "apart.git", settings=settings, env=env)
