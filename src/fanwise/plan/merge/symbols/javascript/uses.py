"""Which names of other files a JavaScript or TypeScript file uses. Pure.

What somebody is prepared to do without is no use: in a `try`, with a value that stands in, asked
for before it is taken.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from fanwise.plan.merge.symbols.javascript.facts import DEFAULT, brackets, listed
from fanwise.plan.merge.symbols.javascript.tokens import ScriptToken, tokens

_PREPARED = ("?", "?.", "&&", "||", "??", "=")
_MEMBER = (".", "?.")


class ScriptUse(NamedTuple):
    """A name of another file, by the path that is written; None: the file itself."""

    path: str
    name: str | None


def uses_in(text: str) -> dict[ScriptUse, int]:
    """Return what a file uses of those that it names by relative paths, with the first lines."""
    found = _Reader(tokens(text)).found
    ends = [each.start() for each in re.finditer("\n", text)]
    return {use: bisect_left(ends, at) + 1 for use, at in found.items() if use.path[:1] == "."}


class _Reader:
    def __init__(self, found: list[ScriptToken]) -> None:
        self.found: dict[ScriptUse, int] = {}
        self._tokens = found
        self._spaces: dict[str, str] = {}
        """Names that stand for whole files."""
        self._places: dict[str, list[int]] = {}
        """Of each word, where it is no member of another."""
        self._brackets = brackets(found)
        self._opened = {end: at for at, end in self._brackets.items()}
        self._caught = self._tries()
        self._inside = 0
        """Up to here it has been read what is in braces."""
        for at, token in enumerate(found):
            if token.kind != "word" or self._sign(at - 1) in _MEMBER:
                continue
            self._places.setdefault(token.text, []).append(at)
            if at < self._inside:
                continue
            if token.text == "import" and self._sign(at + 1) not in ("(", "."):
                self._import(at)
            elif token.text == "export" and self._sign(at + 1) in ("{", "*", "type"):
                self._again(at)
            elif token.text in ("require", "import") and self._sign(at + 1) == "(":
                self._call(at)
        for name, path in self._spaces.items():
            self._members(name, path)

    def _sign(self, at: int) -> str:
        in_it = 0 <= at < len(self._tokens) and self._tokens[at].kind in ("word", "sign")
        return self._tokens[at].text if in_it else ""

    def _quoted(self, at: int) -> str | None:
        in_it = at < len(self._tokens) and self._tokens[at].kind == "quoted"
        return self._tokens[at].text if in_it else None

    def _note(self, path: str, name: str | None, at: int) -> None:
        self.found.setdefault(ScriptUse(path, name), self._tokens[at].at)

    def _tries(self) -> bytearray:
        """Of each place whether it is in a `try`."""
        caught, until = bytearray(len(self._tokens)), 0
        for at, token in enumerate(self._tokens):
            if token[:2] == ("word", "try") and self._sign(at + 1) == "{":
                until = max(until, self._closing(at + 1))
            caught[at] = at < until
        return caught

    def _closing(self, at: int) -> int:
        return self._brackets.get(at, len(self._tokens))

    # -- ECMAScript -------------------------------------------------------------------------------

    def _import(self, at: int) -> None:
        """`import "x"`, `import a, {b as c} from "x"`, `import * as d from "x"`."""
        path = self._quoted(at + 1)
        if path is not None:
            self._note(path, None, at)
            return
        at += 1
        if self._sign(at) == "type" and self._sign(at + 1) not in ("from", ",", "="):
            at += 1
        start, local, braces, space = at, None, None, None
        if self._sign(at) not in ("{", "*"):
            local, at = self._sign(at), at + 1
            at += self._sign(at) == ","
        if self._sign(at) == "{":
            braces, at = at, self._closing(at) + 1
        elif self._sign(at) == "*" and self._sign(at + 1) == "as":
            space, at = self._sign(at + 2), at + 3
        path = self._quoted(at + 1) if self._sign(at) == "from" else None
        if path is None:
            return  # `import a = require("x")` is found as a call
        self._note(path, None, start)
        if local:
            self._note(path, DEFAULT, start)
        if space:
            self._spaces[space] = path
        if braces is not None:
            self._named(path, braces)

    def _named(self, path: str, at: int) -> None:
        self._inside = end = self._closing(at)
        places = {self._tokens[n].text: n for n in range(end - 1, at, -1)}
        for each in listed(self._tokens, at, end):
            self._note(path, each.name, places.get(each.name, at))

    def _again(self, at: int) -> None:
        """`export {a} from "x"`, `export * from "x"`."""
        at += 1 + (self._sign(at + 1) == "type")
        end = self._closing(at) + 1 if self._sign(at) == "{" else at + 1
        end += 2 * (self._sign(end) == "as")
        path = self._quoted(end + 1) if self._sign(end) == "from" else None
        if path is not None:
            self._note(path, None, at)
            if self._sign(at) == "{":
                self._inside = self._closing(at)
                for each in listed(self._tokens, at, self._inside):
                    self._note(path, each.name, at)

    # -- CommonJS ---------------------------------------------------------------------------------

    def _call(self, at: int) -> None:
        """`require("x")`: as it is, a part of it, or taken apart."""
        path, end = self._quoted(at + 2), at + 3
        if path is None or self._sign(end) != ")" or self._caught[at]:
            return
        waits = self._tokens[at].text == "import"
        if waits and self._sign(at - 1) != "await":
            return  # a promise: somebody may see to what fails
        self._note(path, None, at)
        front = at - 1 - waits
        if self._sign(end + 1) == "." and not waits:
            if self._sign(end + 3) not in _PREPARED:
                self._note(path, self._sign(end + 2), at)
        elif self._sign(front) == "=" and self._sign(end + 1) not in _PREPARED:
            self._taken(path, front - 1)

    def _taken(self, path: str, at: int) -> None:
        if self._sign(at) == "}":
            begin = self._opened.get(at, at)
            if begin < at and not any(self._sign(n) == "{" for n in range(begin + 1, at)):
                for each in listed(self._tokens, begin, at):
                    if each.sure:
                        self._note(path, each.name, begin)
        elif self._sign(at - 1) in ("const", "let", "var", "import"):
            self._spaces[self._sign(at)] = path

    # -- members ----------------------------------------------------------------------------------

    def _members(self, name: str, path: str) -> None:
        """`name.a`, if nothing else can be called so in this file."""
        places = self._places.get(name, ())
        # Once it is imported.
        if sum(self._sign(at + 1) not in _MEMBER for at in places) != 1:
            return
        used: dict[str, int] = {}
        prepared = set()
        for at in places:
            if self._sign(at + 1) == ".":
                used.setdefault(self._sign(at + 2), at)
            if self._sign(at + 1) in _MEMBER and self._asks(at):
                prepared.add(self._sign(at + 2))
        for member, at in used.items():
            if member and member not in prepared:
                self._note(path, member, at)

    def _asks(self, at: int) -> bool:
        """Whether it is looked at whether it is there, or it is set."""
        asked = self._sign(at - 1) in ("typeof", "!", "delete")
        asked = asked or (self._sign(at - 1) == "(" and self._sign(at - 2) in ("if", "while"))
        asked = asked or self._sign(at + 1) == "?." or self._sign(at + 3) in _PREPARED
        return asked or bool(self._caught[at])
