"""Thoughts that come with a reply: between `<think>` and `</think>`, or in details of their own.

Servers that know their model send thoughts apart. Others leave the tags in the text, so they are
taken out here, piece by piece: a stream must not show thoughts as the answer and call them
thoughts only at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

OPEN, CLOSE = "<think>", "</think>"


class ThinkTags:
    """Feed it the pieces of a text: it says which part is thought and which is answer."""

    def __init__(self) -> None:
        self._held = ""
        """The end of what came, which may be the beginning of a tag."""
        self._at: Literal["begin", "thought", "after", "answer"] = "begin"

    def feed(self, piece: str, *, last: bool = False) -> tuple[str, str]:
        """The thought and the answer that are known now. `last`: nothing more will come."""
        if self._at == "answer":
            return "", piece
        text, self._held, thought = self._held + piece, "", ""
        if self._at == "begin":
            begin = text.lstrip()
            if begin.startswith(OPEN):
                text, self._at = begin[len(OPEN) :], "thought"
            elif last or not OPEN.startswith(begin):
                self._at = "answer"
            else:
                self._held, text = text, ""
        if self._at == "thought":
            thought, closed, text = text.partition(CLOSE)
            if closed:
                self._at = "after"
            elif not last:
                kept = _begun(thought)
                self._held = thought[len(thought) - kept :]
                thought = thought[: len(thought) - kept]
        if self._at == "after":
            text = text.lstrip()
            self._at = "answer" if text else "after"
        return thought, text


def _begun(text: str) -> int:
    """How many characters at the end may be the beginning of the closing tag."""
    return next((n for n in range(len(CLOSE) - 1, 0, -1) if text.endswith(CLOSE[:n])), 0)


def take_detail(piece: Mapping[str, Any], found: list[dict[str, Any]]) -> None:
    """OpenRouter's form, with signatures: pieces of one detail have the same index."""
    last = found[-1] if found else {}
    if "index" not in piece or any(piece.get(n) != last.get(n) for n in ("index", "type")):
        return found.append(dict(piece))
    for name, value in piece.items():
        if name in ("text", "summary", "data") and isinstance(value, str):
            last[name] = (last.get(name) or "") + value
        elif value is not None:
            last[name] = value
    return None
