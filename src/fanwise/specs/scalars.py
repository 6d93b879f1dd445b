"""What a word without quotes means.

YAML 1.1, which PyYAML speaks, makes False of `no`, 90 of `1:30`, 8 of `010` and a date of
`2026-01-02`. Here only this is not text: true, false, null (also True, TRUE, ~ and nothing at all),
and numbers as JSON writes them. So the version of YAML is 1.2, with one step further: what would
not be written again as it stands (`007`, `+49`, `0x1f`, `.inf`) is text.
"""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None

WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
INT = re.compile(r"-?(?:0|[1-9][0-9]*)")
FLOAT = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
LEAST, MOST = -(2**63), 2**64 - 1
"""Whole numbers that every JSON library accepts."""

TAGS = {
    f"tag:yaml.org,2002:{name}": name
    for name in ("str", "int", "float", "bool", "null", "map", "seq")
}


def plain(text: str) -> Scalar:
    """An unquoted scalar. `ValueError` for a number that is too large."""
    if text in WORDS:
        return WORDS[text]
    if INT.fullmatch(text):
        return _whole(text)
    return _real(text) if FLOAT.fullmatch(text) else text


def tagged(text: str, tag: str) -> Scalar:
    """A scalar with one of `TAGS`. `ValueError`."""
    if tag == "str":
        return text
    value = plain(text)
    if tag == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    kinds = {"int": int, "float": float, "bool": bool, "null": type(None)}
    if tag not in kinds or type(value) is not kinds[tag]:
        raise ValueError(f"{text!r} is no {tag}")
    return value


def _whole(text: str) -> int:
    # Twenty digits are checked before they are read: reading a million of them takes minutes.
    value = int(text) if len(text) <= 21 else MOST + 1
    if not LEAST <= value <= MOST:
        raise ValueError(f"{_short(text)} is too large a number; if it is a name, put it in quotes")
    return value


def _real(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{_short(text)} is too large a number; if it is a name, put it in quotes")
    return value


def _short(text: str) -> str:
    return text if len(text) <= 30 else text[:29] + "…"
