"""Patterns of paths beside a slow reading of the same words."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fanwise.plan.split.patterns import Patterns
from tests.profiles import examples


def by_the_book(pattern: str, path: str) -> bool:
    """Try everything, letter by letter."""
    pattern = pattern.removeprefix("./").rstrip("/") or "**"
    start = "" if "/" in pattern else "**/"
    words = re.findall(
        r"(?<![^/])\*\*/|/\*\*$|^\*\*$|\[[^\]]+\]|.", start + pattern.lstrip("/"), re.DOTALL
    )

    @cache
    def from_(word: int, at: int) -> bool:
        if word == len(words):
            return at == len(path) or path[at] == "/"
        this, ends = words[word], range(at, len(path) + 1)
        if this == "**/":
            return any(from_(word + 1, end) for end in ends if end == at or path[end - 1] == "/")
        if this == "**":
            return any(from_(word + 1, end) for end in ends)
        if this == "/**":
            return path[at : at + 1] == "/"
        if this == "*":
            return any(from_(word + 1, end) for end in ends if "/" not in path[at:end])
        letter = path[at : at + 1]
        if letter and this == "?" and letter != "/":
            return from_(word + 1, at + 1)
        if letter and len(this) > 1:
            inside = (letter in this[2:-1]) is not True if this[1] == "!" else letter in this[1:-1]
            return inside and letter != "/" and from_(word + 1, at + 1)
        return letter == this and from_(word + 1, at + 1)

    return from_(0, 0)


WORDS = st.sampled_from([*"aab/?**", "**", "**/", "/**", "[ab]", "[!a]", "[!b]", "[a/]"])
PATTERN = st.lists(WORDS, max_size=8).map("".join)
PATH = st.lists(st.sampled_from([*"aaab//"]), max_size=12).map("".join)


@examples(4)
@given(pattern=PATTERN, path=PATH)
@example("**a*b", "a/ab")
@example("a*b/c", "ab/ab/c")
@example("**/a/b", "a/a/b")
@example("[!a]", "/")
def test_every_pattern_matches_what_trying_everything_matches(pattern: str, path: str) -> None:
    assert Patterns([pattern]).match(path) is by_the_book(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 30 + "*b", "a" * 200 + ".py"),
        ("**a" * 30 + "**b", "a" * 200 + ".py"),
        ("**/x/" * 20 + "y", "x/" * 100 + "z"),
        ("**/*x*/" * 20 + "y", "axa/" * 100 + "z"),
        ("a*/**b*" * 20 + "y", "ab/" * 100 + "z"),
        ("*" * 2_000 + "b", "a" * 200),
        ("?*" * 200 + "b", "a" * 300),
        ("[" * 30_000, "a"),
        ("[!" * 30_000 + "*", "a"),
        ("[a-c]*" * 100 + "]", "a" * 300),
    ],
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    patterns = Patterns([pattern])
    assert not patterns.match(path)
    assert patterns.unmatched([path]) == [pattern]
