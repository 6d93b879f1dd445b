"""Where values go in a line of shell.

Pasting a quoted item into a line is not safe: inside "…" the quotes of `shlex.quote` are plain
characters, and `"{}"` with the item `$(rm x)` runs it. So the item is never part of the line: it
is a parameter, whose text the shell does not parse again. What is left to do is to quote
the *parameter*, so that it stays one word, and that depends on where it stands: bare, inside
"…", inside '…', or in a here-document. This file follows the quotes for that, and for nothing else;
where it were mistaken, the item might be split at its spaces, but still not run.

Refused are places where a shell (bash, which is `sh` on some systems) evaluates what a parameter
contains: arithmetic, subscripts, offsets, numbers that `[[ ]]` compares, arguments of builtins (see
`shell_builtins.py`); and here-documents whose delimiter is quoted, in which nothing is replaced. A
variable of the line that holds a value (`y={}; echo $((y))`) is refused where the value would be.

What a line hands to another interpreter is beyond this: `sh -c "echo {}"`, `ssh`, `awk`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

from fanwise.errors import UsageError
from fanwise.processes.shell_builtins import (
    LINE_EVALUATES,
    POSITIONAL,
    evaluating,
    held_by,
    is_evaluator,
    may_become_an_option,
    may_hold,
)

PLACEHOLDER = "{}"
MARK = "\0"
"""Stands for a value in what `place_values` takes; no line of shell can hold it otherwise."""

_BARE, _DOUBLE, _BACKQUOTE, _HERE = "bare", '"', "`", "<<"
_ARITHMETIC, _GROUP, _SQUARE, _BRACES = "((", "(", "[", "${"
_EVALUATED = {_ARITHMETIC: "", _GROUP: ")", _SQUARE: "]", _BRACES: "}"}
"""Where the shell computes, and what ends it; that of arithmetic is `))`."""
_SUBSCRIPT = re.compile(r"\$\{[!#]?\w+\[")
_OFFSET = re.compile(r"\$\{[\w@*]+(\[[^\]]*\])?:(?![-=?+])")
"""`${x:2}`; after one of these signs comes a word instead: `${x:-none}`."""
_ELEMENT = re.compile(r"\[[^\]\n]*\]\+?=")
_TEST = re.compile(r"\[\[\s.*?(\s\]\]|$)", re.DOTALL)
_COMPUTES = re.compile(r"\s-(eq|ne|lt|le|gt|ge|v|R)\s")
_LET = re.compile(r"\blet\b[^;&|\n]*")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*|[0-9@*])")
_LENGTH = re.compile(r"\$\{#\w+\}")
"""`${#x}` is a number, whatever x is."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_NO_QUOTES = str.maketrans("", "", "'\"\\")


def place_parameter(line: str) -> str:
    """Replace each `{}` by the first parameter, quoted; add it at the end where there is none."""
    if PLACEHOLDER not in line:
        return f'{line} "${{1}}"'
    return _Placing(line, PLACEHOLDER, repeat("1")).placed()


def place_values(line: str, rest: Sequence[bool] = ()) -> str:
    """Replace the first `MARK` by the first parameter, and so on, each quoted.

    The parameters get names first: inside a function `$1` is another. Where `rest` is true, for a
    mark, all parameters stand there that are left behind those of the other marks.
    """
    number = line.count(MARK)
    if not number:
        return line
    places = [f"fanwise_{n}" for n in range(1, number + 1)]
    for n, is_rest in enumerate(rest):
        places[n] = "@" if is_rest else places[n]
    names = [name for name in places if name != "@"]
    given = " ".join(f"{name}=${{{n}}}" for n, name in enumerate(names, 1))
    placed = _Placing(line, MARK, iter(places)).placed()
    return f"{given}; shift {len(names)}; {placed}" if names else placed


class _HereDocument(NamedTuple):
    delimiter: str
    quoted: bool
    indented: bool

    def ends(self, line: str) -> bool:
        """Whether this line ends the document."""
        text = line.removesuffix("\n")
        return (text.lstrip("\t") if self.indented else text) == self.delimiter


class _Placing:
    """One walk over the line, with the open quotes and substitutions as a stack."""

    def __init__(
        self,
        line: str,
        mark: str,
        names: Iterator[str],
        inside: str = _BARE,
        held: frozenset[str] | None = None,
    ) -> None:
        self.line = line
        self.first = held
        """The variables that hold a value; None: they are to be found."""
        self.held = set(held or ())
        self.mark = mark
        self.names = names
        self.at = 0
        self.out: list[str] = []
        self.open = [inside]
        self.begins = {1: 0}
        """Where the current simple command begins, by the number of open contexts."""
        self.into: dict[int, set[str]] = {1: set()}
        """The variables that get what such a context gives: `y=$(…)`."""
        self.here_documents: list[_HereDocument] = []
        """Here-documents whose text begins on the next line."""

    def placed(self) -> str:
        if self.first is None and self.mark in self.line:
            indirect = LINE_EVALUATES.search(self.line) or "${!" + self.mark in self.line
            where = "a line with ${!x}, ${x@P}, `declare -i` or `declare -n`, which evaluate,"
            self._refuse_if(bool(indirect), where)
            self._find_variables()
            computed = any(map(self._mentions, _LET.findall(self.line)))
            self._refuse_if(computed, "an argument of `let`")
        self._walk()
        return "".join(self.out)

    def _find_variables(self) -> None:
        """The variables that hold a value, also through one another, in whatever order."""
        self.held = may_hold(self.line)
        while True:
            known = frozenset(self.held)
            walk = _Placing(self.line, self.mark, repeat("1"), self.open[0], known)
            walk._walk()
            self.held |= walk.held
            if self.held == known:
                return

    def _walk(self) -> None:
        while self.at < len(self.line):
            self._step()

    def _mentions(self, text: str) -> bool:
        """Whether there is a variable in it that holds a value."""
        return any(self._holds(found[1]) for found in _VARIABLE.finditer(text)) or any(
            self._holds(found[0]) for found in _NAME.finditer(text)
        )

    def _holds(self, name: str) -> bool:
        return (name if name.isidentifier() else POSITIONAL) in self.held

    def _step(self) -> None:
        char = self.line[self.at]
        inside = self.open[-1]
        if char == "$" and (found := _VARIABLE.match(self.line, self.at)) and self._holds(found[1]):
            self._check("")
        if self._sees(self.mark):
            variable = self._variable()
            plain = inside in (_DOUBLE, _HERE)
            self._take(len(self.mark), variable if plain else f'"{variable}"')
        elif char == "\\":
            self._refuse_if(self._sees("\\" + self.mark), "an escape")
            self._take(2)
        elif char == "$" and self._substitution():
            pass
        elif char == "`":
            self._backquote()
        elif char == '"' and inside != _HERE:
            self._double_quote()
        elif inside in (_DOUBLE, _HERE):
            self._take(1)
        elif inside in _EVALUATED:
            self._evaluated(char)
        else:
            self._bare(char)

    def _substitution(self) -> bool:
        """Enter a substitution, if one begins here."""
        if found := _LENGTH.match(self.line, self.at):
            self._take(len(found[0]))
        elif self._sees("$(("):
            self._enter(_ARITHMETIC, 3)
        elif self._sees("$("):
            self._enter(_BARE, 2)
        elif self._sees("$[") and "]" in self.line[self.at :]:
            self._enter(_SQUARE, 2)
        elif found := _OFFSET.match(self.line, self.at):
            self._refuse_if(self.mark in found[0], "a subscript")
            self._enter(_BRACES, len(found[0]))
        elif found := _SUBSCRIPT.match(self.line, self.at):
            self._enter(_SQUARE, len(found[0]))
        elif self._sees("${") and self.open[-1] in _EVALUATED:
            self._enter(_BRACES, 2)
        else:
            return False
        return True

    def _evaluated(self, char: str) -> None:
        inside = self.open[-1]
        if found := _NAME.match(self.line, self.at):
            self._refuse_if(self._holds(found[0]), "arithmetic")
            self._take(len(found[0]))
        elif char == "'":
            self._single_quoted()
        elif char in "([":
            self._enter(_GROUP if char == "(" else _SQUARE, 1)
        elif char == _EVALUATED[inside]:
            self._leave()
        elif inside == _ARITHMETIC and self._sees("))"):
            self._take(1)
            self._leave()
        elif inside == _ARITHMETIC and char == ")":  # no arithmetic: one subshell in another
            self._take(1)
            self.open[-1] = _BARE
        else:
            self._take(1)

    def _bare(self, char: str) -> None:
        if char == "'":
            self._single_quoted()
        elif char == "#" and (self.at == 0 or self.line[self.at - 1] in " \t\n;|&("):
            text = self.line[self.at :].partition("\n")[0]
            self._take(len(text), self._replaced(text, "{}"))
        elif char == "(":
            arithmetic = self._sees("((")
            self._enter(_ARITHMETIC if arithmetic else _BARE, 2 if arithmetic else 1)
        elif char == "[":
            self._bracket()
        elif char == ")":
            if len(self.open) > 1:
                self._leave()
            else:
                self._take(1)
            self._next_command()
        elif char in ";&|" and not self.line[: self.at].endswith((">", "<")):
            self._take(1)
            self._next_command()
        elif char == "\n":
            self._take(1)
            while self.here_documents:
                self._here_document(self.here_documents.pop(0))
            self._next_command()
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

    def _bracket(self) -> None:
        """`[[ … ]]` may compare numbers, and `a[…]=` has a subscript; all else is plain."""
        if found := _TEST.match(self.line, self.at):
            has_one = self.mark in found[0] or self._mentions(found[0])
            computes = has_one and _COMPUTES.search(found[0])
            self._refuse_if(bool(computes), "a comparison of numbers")
            self._take(1)
        elif found := _ELEMENT.match(self.line, self.at):
            has_one = self.mark in found[0] or self._mentions(found[0])
            self._refuse_if(has_one, "a subscript")
        self._take(1)

    def _here_document(self, document: _HereDocument) -> None:
        """In its text a variable is replaced and not split: it needs no quotes.

        The shell looks for its end first, and only then for what is in it.
        """
        begin = self.at
        while self.at < len(self.line):
            end = self.line.find("\n", self.at) + 1 or len(self.line)
            last = document.ends(self.line[self.at : end])
            self.at = end
            if last:
                break
        text = self.line[begin : self.at]
        self._refuse_if(self.mark in text and document.quoted, "a quoted here-document")
        if not document.quoted:
            held = frozenset(self.held)
            text = _Placing(text, self.mark, self.names, _HERE, held).placed()
        self.out.append(text)

    def _variable(self, before: str = "") -> str:
        """The next value, if one can stand here; `before`: what comes after `at`, and before it."""
        if may_become_an_option(self._check(before)):
            self._end_options()
        return f"${{{next(self.names)}}}"

    def _check(self, before: str) -> str:
        """Refuse what would evaluate a value here. The text of the command up to it."""
        self._refuse_if(any(each in _EVALUATED for each in self.open), "arithmetic")
        if self.open[0] == _HERE and len(self.open) == 1:
            return ""
        command = f"{self._command()}{before}"
        evaluates = evaluating(command, self.mark)
        self._refuse_if(evaluates is not None, str(evaluates))
        self.held |= held_by(command) | self.into[len(self.open)]
        return command

    def _command(self) -> str:
        """The text of the current command so far."""
        return self.line[self.begins[len(self.open)] : self.at]

    def _end_options(self) -> None:
        """Put `--` before the word that begins here, whose quotes may be open already."""
        at = len(self.out)
        while at and self.out[at - 1] in ("'", '"', "''"):
            at -= 1
        self.out.insert(at, "-- ")

    def _replaced(self, text: str, quoted: str) -> str:
        """The text with each mark replaced."""
        done, *rest = text.split(self.mark)
        seen = done
        for each in rest:
            done += quoted.format(self._variable(seen)) + each
            seen += f"_{each}"
        return done

    def _single_quoted(self) -> None:
        end = self.line.find("'", self.at + 1)
        end = len(self.line) if end < 0 else end
        text = self.line[self.at : end + 1]
        if self.held and is_evaluator(self._command()):
            held = frozenset(self.held)
            _Placing(text[1:-1], self.mark, repeat("1"), held=held).placed()
        self._take(len(text), self._replaced(text, """'"{}"'"""))

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

    def _enter(self, what: str, width: int) -> None:
        begin, into = self.begins[len(self.open)], self.into[len(self.open)]
        into = into if what == _DOUBLE else into | held_by(self._command())
        self._take(width)
        self.open.append(what)
        self.begins[len(self.open)] = begin if what == _DOUBLE else self.at
        self.into[len(self.open)] = into

    def _leave(self) -> None:
        self._take(1)
        self.open.pop()

    def _next_command(self) -> None:
        self.begins[len(self.open)] = self.at

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
                "The shell would evaluate its text. Give a number (`{{ x | from_json }}`), compare "
                "texts with `=`, or pass the value to a program as an argument",
            )
