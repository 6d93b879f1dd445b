"""Where the item goes in a line of shell.

Pasting a quoted item into a line is not safe: inside "…" the quotes of `shlex.quote` are plain
characters, and `"{}"` with the item `$(rm x)` runs it. So the item is never part of the line: it
is the parameter $1, whose text the shell does not parse again. What is left to do is to quote
the *parameter*, so that it stays one word, and that depends on where it stands: bare, inside
"…", or inside '…'. This file follows the quotes for that, and for nothing else; where it were
mistaken, the item might be split at its spaces, but still not run.

Two places are refused: arithmetic, where some shells evaluate what a parameter contains, and
here-documents, which have quoting rules of their own.
"""

from __future__ import annotations

from fanwise.errors import UsageError

PLACEHOLDER = "{}"

_BARE, _DOUBLE, _BACKQUOTE = "bare", '"', "`"
_PARAMETER = {_BARE: '"${1}"', _BACKQUOTE: '"${1}"', _DOUBLE: "${1}"}


def place_parameter(line: str) -> str:
    """Replace each `{}` by the first parameter, quoted; add it at the end where there is none."""
    if PLACEHOLDER not in line:
        return f'{line} "${{1}}"'
    return _Placing(line).placed()


class _Placing:
    """One walk over the line, with the open quotes and substitutions as a stack."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0
        self.out: list[str] = []
        self.open = [_BARE]
        self.here_document = False

    def placed(self) -> str:
        while self.at < len(self.line):
            self._step()
        return "".join(self.out)

    def _step(self) -> None:
        char = self.line[self.at]
        inside = self.open[-1]
        if self._sees(PLACEHOLDER):
            self._refuse_if(self.here_document, "a here-document")
            self._take(2, _PARAMETER[inside])
        elif char == "\\":
            self._take(2)
        elif self._sees("$(("):
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
            end = self.line.find("\n", self.at)
            self._take((len(self.line) if end < 0 else end) - self.at)
        elif char == "(":
            self._enter(_BARE, 1)
        elif char == ")" and len(self.open) > 1:
            self._leave()
        else:
            self.here_document = self.here_document or self._sees("<<")
            self._take(1)

    def _single_quoted(self) -> None:
        end = self.line.find("'", self.at + 1)
        end = len(self.line) if end < 0 else end
        text = self.line[self.at : end + 1]
        self._refuse_if(self.here_document and PLACEHOLDER in text, "a here-document")
        self._take(len(text), text.replace(PLACEHOLDER, """'"${1}"'"""))

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
        self._refuse_if(PLACEHOLDER in self.line[self.at : end], "arithmetic")
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
            raise UsageError(
                f"{{}} stands inside {where} of the shell line {self.line!r}",
                "Assign it first: x={}; and use $x there, if it is safe to",
            )
