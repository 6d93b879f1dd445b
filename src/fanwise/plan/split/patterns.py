"""Patterns of paths, as in `.gitignore`. Pure.

`*` and `?` stay inside a name, `**` matches any folders. A pattern without a slash matches a name
at any depth, one with a slash from the top; a folder stands for everything in it. `!` before a
pattern excludes what it matches; the last pattern that matches counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import lru_cache

_ANY = "**"
_BRACKETS = re.compile(r"\[[!^]?\]?[^]]*\]")
"""A slash in them is one of the characters: it does not end a name."""


class Patterns:
    """Patterns that files are chosen by. None at all: every file."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._given = tuple(patterns)
        self._all = all(each.startswith("!") for each in self._given)
        self._rules = [(_names(each.removeprefix("!")), not each.startswith("!"))
                       for each in self._given]  # fmt: skip

    def match(self, path: str) -> bool:
        chosen = self._all
        names = path.split("/")
        for wanted, adds in self._rules:
            if chosen != adds and _matches(wanted, names):
                chosen = adds
        return chosen

    def unmatched(self, paths: Iterable[str]) -> list[str]:
        """Patterns that match no file, which are usually typos."""
        known = [path.split("/") for path in paths]
        rules = zip(self._rules, self._given, strict=True)
        return [
            given for (wanted, _), given in rules if not any(_matches(wanted, p) for p in known)
        ]


_Names = tuple[re.Pattern[str] | None, ...]
"""An expression for each name of a path; None: any number of names."""


@lru_cache(maxsize=1024)
def _names(pattern: str) -> _Names:
    pattern = pattern.removeprefix("./").rstrip("/") or _ANY
    anywhere = [] if "/" in pattern else [_ANY]
    hidden = _BRACKETS.sub(lambda found: found[0].replace("/", "\0"), pattern.lstrip("/"))
    names = [*anywhere, *(name.replace("\0", "/") for name in hidden.split("/"))]
    return tuple(None if name == _ANY else _expression(name) for name in names)


def _expression(name: str) -> re.Pattern[str]:
    closed = (
        name.rfind("]") + 1
    )  # a bracket after it is never closed: `translate` would look for it
    return re.compile(translate(name[:closed] + name[closed:].replace("[", "[[]")))


def _matches(wanted: _Names, names: Sequence[str]) -> bool:
    """Whether a path, or a folder that it is in, has these names.

    What follows a `**` is taken where it is found first, because that leaves most for the rest.
    """
    if len(wanted) == 2 and wanted[0] is None and wanted[1] is not None:  # most have no slash
        return any(map(wanted[1].match, names))
    at = place = 0
    last: tuple[int, int] | None = None
    """Where the last `**` stands, and how many names it is tried with."""
    while place < len(wanted):
        name = wanted[place]
        if name is None:
            last = place, at
            if place == len(wanted) - 1:
                return at < len(names)  # `a/**` is everything in the folder, and not a file `a`
        elif at < len(names) and name.match(names[at]):
            at += 1
        elif last is not None and last[1] < len(names):
            place, at = last = last[0], last[1] + 1
        else:
            return False
        place += 1
    return True
