"""Parses the edits in a model's answer. Pure and strict: an ambiguous edit is rejected.

Taken are lines that say what comes, each with a block between fences after it:

    FILE: path        the whole file, new or in place of what is there
    EDIT: path        one or more of <<<<<<< SEARCH, =======, >>>>>>> REPLACE; fences may be missing
    DELETE: path      no block
    SUBPLANS:         a list as JSON, instead of edits
    NOTHING           no block: there is nothing to do

Text around them is ignored; a block without such a line before it is refused, because nobody knows
what it is. A search must match exactly once; see `near_match` for whitespace that differs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

MOST = 4 << 20
"""Characters of an answer."""
MOST_PAIRS = 1_000
"""The most searches in an answer: each scans a whole file, and cannot be interrupted."""
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_HEADER = re.compile(
    r"(?:[#*\s]*)(FILE|EDIT|DELETE|SUBPLANS|NOTHING)\b(?:\*\*)?(:?)(?:\*\*)?[ \t]*(.*)"
)
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}+|~{3,}+)([^`\n]*+)")
"""Without backtracking: a line may have millions of characters."""
_SEARCH, _DIVIDER, _REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"

Kind = Literal["FILE", "EDIT", "DELETE"]


class BadAnswer(Exception):
    """Why an answer cannot be used. It is sent back to whoever gave it."""


class Edit(NamedTuple):
    kind: Kind
    name: str
    """As the answer has it."""
    text: str = ""
    """For FILE: the whole content."""
    pairs: tuple[tuple[str, str], ...] = ()
    """For EDIT: the text to search for, and its replacement."""


class ParsedAnswer(NamedTuple):
    """What an answer says: edits, or sub-plans as plain data, or that there is nothing to do."""

    edits: tuple[Edit, ...] = ()
    subplans: Any = None


def read_answer(text: str) -> ParsedAnswer:
    if len(text) > MOST:
        raise BadAnswer(f"it is {len(text):,} characters long; the limit is {MOST:,}")
    if "\0" in text:
        raise BadAnswer("it contains a NUL character")
    text = _THOUGHTS.sub("", text.replace("\r\n", "\n"))
    answer = _Reading(text).answer()
    pairs = sum(len(each.pairs) for each in answer.edits)
    if pairs > MOST_PAIRS:
        raise BadAnswer(
            f"it has {pairs:,} searches; the limit is {MOST_PAIRS:,}: write whole files with "
            "`FILE:`"
        )
    if answer.subplans and answer.edits:
        raise BadAnswer("it has both edits and sub-plans: give only one of them")
    return answer


class _Reading:
    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._at = 0
        self._edits: list[Edit] = []
        self._subplans: Any = None
        self._nothing = False

    def answer(self) -> ParsedAnswer:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if (header := _HEADER.fullmatch(line)) and _announces(header):
                self._at += 1
                self._announced(header[1], header[3])
            elif _FENCE.fullmatch(line):
                raise BadAnswer(
                    f"the block at line {self._at + 1} has no line `FILE: path`, `EDIT: path` or "
                    "`SUBPLANS:` before it"
                )
            else:
                self._at += 1
        if not self._edits and self._subplans is None and not self._nothing:
            raise BadAnswer("it has no edits; if there is nothing to do, it must say NOTHING")
        if self._nothing and (self._edits or self._subplans):
            raise BadAnswer("it says NOTHING, but has edits")
        return ParsedAnswer(tuple(self._edits), self._subplans)

    def _announced(self, kind: str, rest: str) -> None:
        if kind == "NOTHING":
            self._nothing = True
        elif kind == "SUBPLANS":
            if self._subplans is not None:
                raise BadAnswer("it has two SUBPLANS")
            self._subplans = _decoded(self._block("SUBPLANS"), "SUBPLANS")
        elif kind == "DELETE":
            self._edits.append(Edit("DELETE", _name(rest, kind)))
        elif kind == "FILE":
            name = _name(rest, kind)
            self._edits.append(Edit("FILE", name, self._block(f"FILE: {name}")))
        else:
            name = _name(rest, kind)
            pairs = tuple(_pairs(self._marked() or self._block(f"EDIT: {name}"), name))
            self._edits.append(Edit("EDIT", name, pairs=pairs))

    def _marked(self) -> str:
        """Searches that come next without a fence around them; empty: there are none."""
        begin = end = self._at
        while True:
            self._skip_blank()
            if self._at == len(self._lines) or self._lines[self._at].rstrip() != _SEARCH:
                self._at = end
                return "".join(f"{line}\n" for line in self._lines[begin:end])
            while self._at < len(self._lines) and self._lines[self._at].rstrip() != _REPLACE:
                self._at += 1
            end = self._at = min(self._at + 1, len(self._lines))

    def _skip_blank(self) -> None:
        while self._at < len(self._lines) and not self._lines[self._at].strip():
            self._at += 1

    def _block(self, what: str) -> str:
        """What stands between the fences that come next."""
        self._skip_blank()
        opened = _FENCE.fullmatch(self._lines[self._at]) if self._at < len(self._lines) else None
        if opened is None:
            raise BadAnswer(f"after `{what}` there is no block between ``` and ```")
        begin = self._at + 1
        for at in range(begin, len(self._lines)):
            closed = _FENCE.fullmatch(self._lines[at])
            if closed and _closes(closed, opened):
                self._at = at + 1
                return "".join(f"{line}\n" for line in self._lines[begin:at])
        raise BadAnswer(f"the block after `{what}` does not end: it was cut off")


def _announces(header: re.Match[str]) -> bool:
    """NOTHING stands alone; the others have a colon."""
    if header[1] == "NOTHING":
        return not header[2] and header[3].strip(" .*") == ""
    return bool(header[2])


def _closes(fence: re.Match[str], opened: re.Match[str]) -> bool:
    same = fence[1][0] == opened[1][0] and len(fence[1]) >= len(opened[1])
    return same and not fence[2].strip()


def _name(given: str, kind: str) -> str:
    name = given.strip().removesuffix("**").strip()
    if name.startswith('"'):
        name = _decoded(name, kind)
    elif len(name) > 1 and name[0] == name[-1] == "`":
        name = name[1:-1]
    if not isinstance(name, str) or not name:
        raise BadAnswer(f"a line `{kind}:` has no path")
    return name


def _pairs(block: str, name: str) -> Iterator[tuple[str, str]]:
    lines = block.splitlines(keepends=True)
    marks = [(line.rstrip(), at) for at, line in enumerate(lines)]
    marks = [each for each in marks if each[0] in (_SEARCH, _DIVIDER, _REPLACE)]
    if [mark for mark, _ in marks] != [_SEARCH, _DIVIDER, _REPLACE] * (
        len(marks) // 3
    ) or not marks:
        raise BadAnswer(
            f"the block after `EDIT: {name}` must be made of {_SEARCH}, {_DIVIDER}, {_REPLACE}, "
            f"each on a line of its own, in this order; a text with such a line in it needs `FILE:`"
        )
    end = -1
    for number in range(0, len(marks), 3):
        (_, search), (_, divider), (_, replace) = marks[number : number + 3]
        if "".join(lines[end + 1 : search]).strip():
            raise BadAnswer(f"in the block after `EDIT: {name}` there is text before {_SEARCH}")
        end = replace
        yield "".join(lines[search + 1 : divider]), "".join(lines[divider + 1 : replace])
    if "".join(lines[end + 1 :]).strip():
        raise BadAnswer(f"in the block after `EDIT: {name}` there is text after {_REPLACE}")


def _decoded(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"{what} is not valid JSON: {error}") from None
