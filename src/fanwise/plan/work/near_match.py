"""Lines that a model meant to copy, where only whitespace differs. Pure.

Models drop trailing blanks, and shift a block to the left. Both are harmless if the block is found
in one place only, and if all its lines are shifted alike: then the replacement is shifted, too.
Anything else could change what the code means, and is no match.
"""

from __future__ import annotations

from collections.abc import Sequence


def replace_near(text: str, search: str, replace: str) -> str | None:
    """Return the text with the replacement; None if there is not exactly one place for it."""
    lines, wanted = text.splitlines(keepends=True), search.splitlines()
    at = _only_place([line.strip() for line in lines], [line.strip() for line in wanted])
    if at is None:
        return None
    there = lines[at : at + len(wanted)]
    shift = _shift(wanted, there)
    if shift is None:
        return None
    made = [_shifted(line, *shift) for line in replace.splitlines(keepends=True)]
    if any(line is None for line in made):
        return None
    new = "".join(line for line in made if line is not None)
    if not there[-1].endswith(("\n", "\r")):
        new = new.rstrip("\r\n")
    return "".join(lines[:at]) + new + "".join(lines[at + len(wanted) :])


def _only_place(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    if not any(wanted):
        return None
    count = len(wanted)
    starts = (at for at, line in enumerate(lines) if line == wanted[0])
    found = [at for at in starts if lines[at : at + count] == wanted]
    return found[0] if len(found) == 1 else None


def _shift(wanted: Sequence[str], there: Sequence[str]) -> tuple[str, str] | None:
    """The indentation that the search has, and the one in its place; None: they differ unevenly."""
    pairs = [(_indent(a), _indent(b)) for a, b in zip(wanted, there, strict=True) if a.strip()]
    old, new = min(pairs, key=lambda pair: len(pair[0]))
    return (old, new) if all(_moved(a, old, new) == b for a, b in pairs) else None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _moved(indent: str, old: str, new: str) -> str | None:
    return new + indent[len(old) :] if indent.startswith(old) else None


def _shifted(line: str, old: str, new: str) -> str | None:
    if not line.strip():
        return line
    moved = _moved(_indent(line), old, new)
    return None if moved is None else moved + line.lstrip()
