"""The paths of fan-outs: name/key/name/key/name, from the run down to the innermost."""

from __future__ import annotations


def path_part(text: str) -> str:
    """A key or a name as one part of a path: its own slashes do not make it two."""
    return text.replace("%", "%25").replace("/", "%2F") if "/" in text or "%" in text else text


def is_top(path: str) -> bool:
    """Whether the fan-out at this path stands in no item."""
    return "/" not in path
