"""Patterns of files, as `.gitignore` has them: `docs/**`, `*.lock`, `src/*/version.py`.

`*` stands for a part of a name, `**` for any folders. One without a slash is for a name in any
folder, one with a slash is relative to the top, and a folder stands for all that is in it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether any of the patterns is for this file."""
    return any(_compiled(pattern).fullmatch(path) is not None for pattern in patterns)


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    text = pattern.strip("/")
    anywhere = "" if "/" in pattern.rstrip("/") else "(?:.*/)?"
    return re.compile(f"{anywhere}{_regex(text)}(?:/.*)?", re.DOTALL)


def _regex(text: str) -> str:
    out, at = "", 0
    while at < len(text):
        if text.startswith("**/", at):
            out, at = out + "(?:.*/)?", at + 3
        elif text.startswith("**", at):
            out, at = out + ".*", at + 2
        elif text[at] == "*":
            out, at = out + "[^/]*", at + 1
        elif text[at] == "?":
            out, at = out + "[^/]", at + 1
        elif text[at] == "[" and (found := re.compile(r"\[(!?)([^\]/]+)\]").match(text, at)):
            inside = found[2].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
            out, at = f"{out}[{'^' if found[1] else ''}{inside}]", found.end()
        else:
            out, at = out + re.escape(text[at]), at + 1
    return out
