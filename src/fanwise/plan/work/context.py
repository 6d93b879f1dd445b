"""The part of a prompt that shows what a leaf's files import: signatures, nearest first. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence

from fanwise.plan.work.names import Names
from fanwise.plan.work.prompt import quoted, shown
from fanwise.plan.work.signatures import language_of

BYTES_A_TOKEN = 4
MOST_FILES = 200
"""Files that are looked at."""


def files_imported_by(files: Iterable[str], imports: Mapping[str, Sequence[str]]) -> list[str]:
    """The files that these import and that are not among them: the nearest and most used first."""
    own = set(files)
    users: dict[str, list[str]] = {}
    for path in sorted(own):
        for used in imports.get(path, ()):
            if used not in own:
                users.setdefault(used, []).append(path)
    found = sorted(users, key=lambda used: (_distance(used, users[used]), -len(users[used]), used))
    return [path for path in found if language_of(path)][:MOST_FILES]


def context(
    paths: Sequence[str], declared: Callable[[str], Sequence[str]], *, tokens: int, names: Names
) -> str:
    """What files declare, up to so many tokens; what does not fit is counted."""
    room = tokens * BYTES_A_TOKEN
    parts: list[str] = []
    left_out = 0
    for path in paths:
        lines = () if left_out else declared(path)
        if not lines and not left_out:
            continue
        part = _part(path, lines, names, room) if lines else ""
        left_out += not part
        parts += [part] if part else []
        room -= _size(part)
    if left_out:
        parts.append(f"({left_out} further files are left out: {tokens:,} tokens are the most.)")
    return "\n\n".join(parts)


def _part(path: str, lines: Sequence[str], names: Names, room: int) -> str:
    """As many of its lines as there is room for; none: empty."""
    title = f"`{shown(names.here(path))}`:"
    room -= _size(title) + 30
    kept = 0
    for line in lines:
        room -= _size(line) + 1
        if room < 0:
            break
        kept += 1
    if not kept:
        return ""
    more = [] if kept == len(lines) else [f"… {len(lines) - kept} more"]
    return f"{title}\n\n{quoted(chr(10).join([*lines[:kept], *more]), language_of(path))}"


def _distance(path: str, users: Iterable[str]) -> int:
    """Folders between a file and the nearest of those that use it."""
    return min(posixpath.relpath(path, posixpath.dirname(user) or ".").count("/") for user in users)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
