"""The paths of nested fan-outs: name/key/name/key/name, from the outermost inwards."""

from __future__ import annotations


def path_part(text: str) -> str:
    """Escape a key or name so that its slashes do not split the path."""
    return text.replace("%", "%25").replace("/", "%2F") if "/" in text or "%" in text else text


def is_top(path: str) -> bool:
    """Whether the fan-out at this path is not inside an item."""
    return "/" not in path
