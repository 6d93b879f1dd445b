"""What a command finds in its environment.

By default all that we have, as with any program that a person starts. Code that nobody has read
shall not have the keys in it: for that there is a list of names, and no other passes.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from fnmatch import fnmatchcase

from fanwise.processes.command import Command
from fanwise.processes.guard_program import VARIABLE

PLAIN = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "TMPDIR",
    "VIRTUAL_ENV", "LD_LIBRARY_PATH",
)  # fmt: skip
"""Names that say where things are and which language is spoken, and carry no secrets."""

OF_A_REPOSITORY = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_CONFIG",
    "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_QUARANTINE_PATH",
)  # fmt: skip
"""What git sets for its hooks and `rebase --exec`. In another folder, it would make every git work
on the repository that fanwise was started from."""


def environment(command: Command, mark: str, *, sandboxed: bool) -> dict[bytes, bytes]:
    found = _inherited(_names(command))
    if command.cwd is not None and os.path.realpath(command.cwd) != os.path.realpath("."):
        for name in OF_A_REPOSITORY:
            found.pop(name.encode(), None)
    if sandboxed:
        found[b"TMPDIR"] = found[b"HOME"] = b"/tmp"
    for name, value in (command.env or {}).items():
        found[os.fsencode(name)] = os.fsencode(value)
    # Commands may run fanwise in turn: the marks add up, and the outermost finds them all.
    outer = os.environb.get(VARIABLE.encode(), b"")
    found[VARIABLE.encode()] = outer + mark.encode()
    return found


def _names(command: Command) -> Collection[str] | None:
    if command.inherit is None and command.sandbox is not None:
        return PLAIN
    return command.inherit


def _inherited(names: Collection[str] | None) -> dict[bytes, bytes]:
    if names is None:
        return dict(os.environb)
    return {
        name: value
        for name, value in os.environb.items()
        if any(fnmatchcase(os.fsdecode(name), each) for each in names)
    }
