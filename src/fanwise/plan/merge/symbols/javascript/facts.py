"""What a JavaScript or TypeScript file exports, and what it imports. Pure.

More names than there are do no harm: they count as there. Where names may come to be by other
ways, the file is `dynamic`, and none is missed there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from fanwise.plan.merge.symbols.javascript.tokens import MOST, ScriptToken, tokens

DEFAULT = "default"
_VALUES = {"const", "let", "var", "using"}
_MADE = {"function", "class", "interface", "enum", "namespace", "module", "type"}
_BEFORE = {"async", "abstract", "declare", "const", "import"}
_STARTS = {"export", "import", "function", "class", *_VALUES}
_OPEN, _CLOSE = "([{", ")]}"
_FAR = 2_000
"""Words and signs after which nobody looks for the end any more."""


class ExportOrigin(NamedTuple):
    """Where an exported name comes from: another file, and its name there; None: all of it."""

    path: str
    name: str | None


class ScriptExports(msgspec.Struct, frozen=True):
    """What a file exports."""

    names: dict[str, ExportOrigin | None]
    """None: made here."""
    stars: tuple[str, ...] = ()
    """Files all of whose names it has."""
    dynamic: bool = False
    common: bool = False
    """It is no ECMAScript module, or not only: what is its default cannot be told."""


def module_of(text: str) -> ScriptExports:
    """Read a file."""
    return _Reader(tokens(text)).module() if len(text) <= MOST else ScriptExports({}, dynamic=True)


class ListedName(NamedTuple):
    """One of `{ a, b as c }` or `{ a, b: c }`."""

    name: str
    local: str
    sure: bool
    """Without a value that stands in for it."""


def brackets(found: list[ScriptToken]) -> dict[int, int]:
    """Of each bracket that opens, the place of that which closes it, if it is near."""
    closed, opened = dict[int, int](), list[int]()
    for number, token in enumerate(found):
        if token.kind == "sign" and token.text in _OPEN:
            opened.append(number)
        elif token.kind == "sign" and token.text in _CLOSE and opened:
            if number - opened[-1] < _FAR:
                closed[opened[-1]] = number
            opened.pop()
    return closed


def listed(found: list[ScriptToken], at: int, end: int) -> Iterator[ListedName]:
    """Read a list in braces: of exports, of imports, or a pattern."""
    for part in parts(found, at, end):
        words = [each.text for each in part if each.kind in ("word", "quoted")]
        if words[:1] == ["type"] and len(words) > 1 and words[1] != "as":
            words = words[1:]
        signs = {each.text for each in part if each.kind == "sign"}
        if words and "..." not in signs and "[" not in signs:
            yield ListedName(words[0], words[-1], sure="=" not in signs)


def parts(found: list[ScriptToken], at: int, end: int) -> Iterator[list[ScriptToken]]:
    """What stands between the commas of a bracket; if its end is not near, nothing."""
    part, depth = list[ScriptToken](), 0
    if end == len(found):
        return
    for token in found[at + 1 : end]:
        if token.kind == "sign":
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if depth == 0 and token[:2] == ("sign", ","):
            yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


class _Reader:
    def __init__(self, found: list[ScriptToken]) -> None:
        self._found = found
        self._brackets = brackets(found)
        self._inside = 0
        """Up to here it has been read what is in brackets."""
        self._names: dict[str, ExportOrigin | None] = {}
        self._stars: list[str] = []
        self._dynamic = False
        self._lost = False
        """A bracket has no end that is near."""
        self._common = False
        self._is_es = any(each[:2] == ("word", "export") for each in found)

    def module(self) -> ScriptExports:
        for at, token in enumerate(self._found):
            if self._lost:
                break  # nothing can be missed here any more
            if token.kind == "word" and self._text(at - 1) not in (".", "?."):
                if token.text == "export" and at >= self._inside:
                    self._export(at + 1)
                elif token.text in ("exports", "module"):
                    self._common_js(at)
            elif token[:2] == ("word", "exports"):
                self._of_module(at)
            elif token[:2] == ("sign", "`"):
                self._dynamic = True  # a template without an end: it was not one
        common = self._common or not self._is_es
        return ScriptExports(self._names, tuple(self._stars), self._dynamic, common)

    def _text(self, at: int) -> str:
        in_it = 0 <= at < len(self._found) and self._found[at].kind in ("word", "sign")
        return self._found[at].text if in_it else ""

    def _closing(self, at: int) -> int:
        end = self._brackets.get(at, len(self._found))
        self._lost |= end == len(self._found)
        self._dynamic |= self._lost
        return end

    def _from(self, at: int) -> str | None:
        """The path, if `from "path"` stands here."""
        if self._text(at) == "from" and at + 1 < len(self._found):
            return self._found[at + 1].text if self._found[at + 1].kind == "quoted" else None
        return None

    # -- ECMAScript -------------------------------------------------------------------------------

    def _export(self, at: int) -> None:
        if self._text(at) == "type" and self._text(at + 1) in ("{", "*"):
            at += 1
        word = self._text(at)
        if word == "default":
            self._names[DEFAULT] = None
        elif word == "{":
            self._list(at)
        elif word == "*":
            self._star(at)
        elif word == "=":
            self._dynamic = True
        else:
            self._declared(at)

    def _list(self, at: int) -> None:
        self._inside = end = self._closing(at)
        path = self._from(end + 1)
        for each in listed(self._found, at, end):
            self._names[each.local] = None if path is None else ExportOrigin(path, each.name)

    def _star(self, at: int) -> None:
        named = self._text(at + 1) == "as"
        path = self._from(at + 3 if named else at + 1)
        if path is None:
            self._dynamic = True
        elif named:
            self._names[self._found[at + 2].text] = ExportOrigin(path, None)
        else:
            self._stars.append(path)

    def _declared(self, at: int) -> None:
        while self._text(at) in _BEFORE and self._text(at + 1) in _MADE | _VALUES | _BEFORE:
            at += 1
        if self._text(at) in _VALUES and self._text(at + 1) != "enum":
            self._values(at + 1)
        elif self._text(at) in _MADE or self._text(at) in ("import", "const"):
            at += 1 + (self._text(at + 1) in ("*", "enum"))
            if at < len(self._found):
                self._names[self._found[at].text] = None
        elif self._text(at) not in ("as", ":", ",", "", ")", "="):
            self._dynamic = True  # decorators, or what the language has learnt since

    def _values(self, at: int) -> None:
        """`a = 1, b = 2`, or a pattern: all words that may be names of it."""
        if self._text(at) in ("{", "["):
            end = self._closing(at)
            inside = self._found[at : min(end, at + _FAR)]
            self._names |= {each.text: None for each in inside if each.kind == "word"}
            self._inside = end
            at = end + 1
        begins, until = True, at + _FAR
        while at < min(until, len(self._found)):
            token = self._found[at]
            sign = token.text if token.kind == "sign" else ""
            if sign == ";" or (sign != "" and sign in _CLOSE):
                return
            if token.kind == "word" and token.text in _STARTS:
                return
            if token.kind == "word" and begins:
                self._names[token.text] = None
            begins = sign == ","
            at = 1 + (self._brackets.get(at, until) if sign != "" and sign in _OPEN else at)
        self._dynamic |= until < max(at, len(self._found))

    # -- CommonJS ---------------------------------------------------------------------------------

    def _common_js(self, at: int) -> None:
        """`exports.x = …`; if exports are handed on to somebody, all may come of it."""
        if self._found[at].text == "exports":
            self._common = True
            self._member(at + 1)
        elif not self._is_es and self._text(at + 1) != ".":
            self._dynamic = True

    def _of_module(self, at: int) -> None:
        """`module.exports = {…}`, `module.exports.x = …`."""
        if self._text(at - 2) != "module":
            return
        self._common = True
        if self._text(at + 1) != "=":
            self._member(at + 1)
        elif self._text(at + 2) == "{":
            self._object(at + 2)
        else:
            self._dynamic = True

    def _member(self, at: int) -> None:
        if self._text(at) == "." and at + 1 < len(self._found):
            self._names[self._found[at + 1].text] = None
        elif self._text(at) != "=" or self._text(at + 1) != "module":
            self._dynamic = True  # handed on, or by a name that is not written here

    def _object(self, at: int) -> None:
        end = self._closing(at)
        if at < self._inside:
            self._dynamic = True  # in another: nobody writes that
            return
        self._inside = end
        for part in parts(self._found, at, end):
            if not part or part[0].kind not in ("word", "quoted"):
                self._dynamic = True
                continue
            word = part[0].text
            if word in ("async", "get", "set") and len(part) > 1 and part[1].kind == "word":
                word = part[1].text
            self._names[word] = None
        # What stands behind the object (`|| other`) may have more.
        after = self._text(end + 1)
        self._dynamic |= after in ("||", "&&", "??", ".", "[", "?")
