"""Patches and other long texts on a page: as text, coloured, and bounded."""

from __future__ import annotations

from fanwise.view.markup import Child, Html, element

MOST = 20_000
"""Characters of a text in a list: a page with two hundred patches shall still open."""


def diff(patch: str, most: int | None = None) -> Html:
    """A patch, its lines coloured by what they do."""
    shown = bounded(patch, most) if most is not None else patch
    lines = [_line(line) for line in shown.rstrip("\n").split("\n")]
    return element("pre", lines, class_="diff", tabindex="0")


def bounded(text: str, most: int = MOST) -> str:
    """The head of a text."""
    return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} more characters"


def _line(line: str) -> Child:
    kinds = (("+++", ""), ("---", ""), ("+", "plus"), ("-", "minus"), ("@@", "hunk"))
    class_ = next((kind for start, kind in kinds if line.startswith(start)), "")
    return element("span", f"{line}\n", class_=class_) if class_ else f"{line}\n"
