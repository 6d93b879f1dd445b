"""Where values go in a line of shell.

Pasting a quoted item into a line is not safe: inside "…" the quotes of `shlex.quote` are plain
characters, and `"{}"` with the item `$(rm x)` runs it. So the item is never part of the line: it
is a parameter, whose text the shell does not parse again. What is left to do is to quote
the *parameter*, so that it stays one word, and that depends on where it stands: bare, inside
"…", inside '…', or in a here-document. This file follows the quotes for that, and for nothing else;
where it were mistaken, the item might be split at its spaces, but still not run.

Two places are refused: arithmetic, where some shells evaluate what a parameter contains, and
here-documents whose delimiter is quoted, in which nothing is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

from fanwise.errors import UsageError

PLACEHOLDER = "{}"
MARK = "\0"
"""Stands for a value in what `place_values` takes; no line of shell can hold it otherwise."""

_BARE, _DOUBLE, _BACKQUOTE = "bare", '"', "`"
_NO_QUOTES = str.maketrans("", "", "'\"\\")


def place_parameter(line: str) -> str:
    """Replace each `{}` by the first parameter, quoted; add it at the end where there is none."""
    if PLACEHOLDER not in line:
        return f'{line} "${{1}}"'
    return _Placing(line, PLACEHOLDER, repeat("1")).placed()


def place_values(line: str) -> str:
    """Replace the first `MARK` by the first parameter, and so on, each quoted.

    The parameters get names first: inside a function `$1` is another.
    """
    number = line.count(MARK)
    if not number:
        return line
    names = [f"fanwise_{n}" for n in range(1, number + 1)]
    given = " ".join(f"{name}=${{{n}}}" for n, name in enumerate(names, 1))
    return f"{given}; shift {number}; {_Placing(line, MARK, iter(names)).placed()}"


class _HereDocument(NamedTuple):
    delimiter: str
    quoted: bool
    indented: bool

    def ends(self, line: str) -> bool:
        """Whether the line is the one after its text."""
        text = line.removesuffix("\n")
        return (text.lstrip("\t") if self.indented else text) == self.delimiter


class _Placing:
    """One walk over the line, with the open quotes and substitutions as a stack."""

    def __init__(self, line: str, mark: str, names: Iterator[str]) -> None:
        self.line = line
        self.mark = mark
        self.names = names
        self.at = 0
        self.out: list[str] = []
        self.open = [_BARE]
        self.here_documents: list[_HereDocument] = []
        """Those whose text begins at the next line."""

    def placed(self) -> str:
        while self.at < len(self.line):
            self._step()
        return "".join(self.out)

    def _step(self) -> None:
        char = self.line[self.at]
        inside = self.open[-1]
        if self._sees(self.mark):
            variable = f"${{{next(self.names)}}}"
            self._take(len(self.mark), variable if inside == _DOUBLE else f'"{variable}"')
        elif char == "\\":
            self._refuse_if(self._sees("\\" + MARK), "an escape")
            self._take(2)
        elif self._sees("$((") or (inside != _DOUBLE and self._sees("((")):
            self._arithmetic()
        elif self._sees("$("):
            self._enter(_BARE, 2)
        elif char == "`":
            self._backquote()
        elif char == '"':
            self._double_quote()
        elif inside == _DOUBLE:
            self._take(1)
        else:
            self._bare(char)

    def _bare(self, char: str) -> None:
        if char == "'":
            self._single_quoted()
        elif char == "#" and (self.at == 0 or self.line[self.at - 1] in " \t\n;|&("):
            text = self.line[self.at :].partition("\n")[0]
            self._take(len(text), self._replaced(text, "${{{}}}"))
        elif char == "(":
            self._enter(_BARE, 1)
        elif char == ")" and len(self.open) > 1:
            self._leave()
        elif char == "\n":
            self._take(1)
            while self.here_documents:
                self._here_document(self.here_documents.pop(0))
        elif self._sees("<<<"):
            self._take(3)
        elif self._sees("<<"):
            self._announced()
        else:
            self._take(1)

    def _announced(self) -> None:
        """`<<WORD`, `<<-'WORD'`: the text comes after this line."""
        self._take(2)
        indented = self._sees("-")
        self._take(int(indented))
        while self._sees(" ") or self._sees("\t"):
            self._take(1)
        begin = self.at
        while self.at < len(self.line) and self.line[self.at] not in " \t\n;|&<>()":
            self.at += 1
        word = self.line[begin : self.at]
        self._refuse_if(self.mark in word, "the delimiter of a here-document")
        self.out.append(word)
        bare = word.translate(_NO_QUOTES)
        self.here_documents.append(_HereDocument(bare, quoted=bare != word, indented=indented))

    def _here_document(self, document: _HereDocument) -> None:
        """In its text a variable is replaced and not split: it needs no quotes."""
        while self.at < len(self.line):
            end = self.line.find("\n", self.at) + 1 or len(self.line)
            text = self.line[self.at : end]
            self._refuse_if(self.mark in text and document.quoted, "a quoted here-document")
            self._take(len(text), self._replaced(text, "${{{}}}"))
            if document.ends(text):
                return

    def _replaced(self, text: str, variable: str) -> str:
        """The text with all marks in it replaced."""
        first, *rest = text.split(self.mark)
        return first + "".join(variable.format(next(self.names)) + each for each in rest)

    def _single_quoted(self) -> None:
        end = self.line.find("'", self.at + 1)
        end = len(self.line) if end < 0 else end
        text = self.line[self.at : end + 1]
        self._take(len(text), self._replaced(text, """'"${{{}}}"'"""))

    def _double_quote(self) -> None:
        if self.open[-1] == _DOUBLE:
            self._leave()
        else:
            self._enter(_DOUBLE, 1)

    def _backquote(self) -> None:
        if _BACKQUOTE in self.open:
            while self.open[-1] != _BACKQUOTE:
                self.open.pop()
            self._leave()
        else:
            self._enter(_BACKQUOTE, 1)

    def _arithmetic(self) -> None:
        end = self.line.find("))", self.at)
        end = len(self.line) if end < 0 else end + 2
        self._refuse_if(self.mark in self.line[self.at : end], "arithmetic")
        self._take(end - self.at)

    def _enter(self, what: str, width: int) -> None:
        self._take(width)
        self.open.append(what)

    def _leave(self) -> None:
        self._take(1)
        self.open.pop()

    def _take(self, width: int, instead: str | None = None) -> None:
        taken = self.line[self.at : self.at + width]
        self.out.append(taken if instead is None else instead)
        self.at += width

    def _sees(self, text: str) -> bool:
        return self.line.startswith(text, self.at)

    def _refuse_if(self, refused: bool, where: str) -> None:
        if refused:
            line = self.line.replace(MARK, "…")
            raise UsageError(
                f"a value stands inside {where} of the shell line {line!r}",
                "Assign it to a variable first, and use that there, if it is safe to",
            )
