"""One walk over a line of shell: its quotes, its substitutions, and the words of each command.

Words are built up as the shell would, quotes removed, and judged as commands when all of the line
is known. A library for the grammar of bash would have to be trusted where it guesses; this walk
refuses instead, since it only has to know where values may stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

from fanwise.processes.shell_builtins import ASSIGNMENT, POSITIONAL, LineFacts, SimpleCommand, judge
from fanwise.processes.shell_words import (
    ARITHMETIC,
    ARRAY,
    BACKQUOTE,
    BARE,
    BRACES,
    DOUBLE,
    EVALUATED,
    GROUP,
    HERE,
    MARK,
    SQUARE,
    SUBSHELL,
    Context,
    ShellWords,
)

_PARAMETER = re.compile(r"\$\{([!#]?)(\w+|[@*#?$!-])(?=[]}[:=?+%#/^,@-])")
_LISTS_NAMES = re.compile(r"\$\{!\w+([*@]|\[[@*]\])\}")
_SETS = re.compile(r":?=[^}]*[\0$`]")
_COMPUTED = re.compile(r"\[|:(?![-=?+])")
"""A subscript, or the offset in `${x:2}`; after one of these signs comes a word instead."""
_VARIABLE = re.compile(r"\$([A-Za-z_]\w*|[0-9@*#?$!-])")
_NAME = re.compile(r"[A-Za-z_]\w*")
_ANSI = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_REDIRECTION = re.compile(r"<<<|<<-?|<>|<&|>&|>>|>\||[<>]\(|[<>]")
_NO_PARAMETERS = re.compile(r"\(\s*\)")
_NO_QUOTES = str.maketrans("", "", "'\"\\")


class _HereDocument(NamedTuple):
    delimiter: str
    quoted: bool
    indented: bool
    command: SimpleCommand
    depth: int
    """In how many substitutions it was announced."""

    def ends(self, line: str) -> bool:
        """Whether this line ends the document."""
        text = line.removesuffix("\n")
        return (text.lstrip("\t") if self.indented else text) == self.delimiter


class ShellWalk(ShellWords):
    """One walk over the line. `Refused`."""

    def __init__(
        self, line: str, names: Iterator[str], held: set[str], *, strict: bool, inside: str = BARE
    ) -> None:
        super().__init__(line, names, LineFacts(line, held, strict, self._scan), inside)
        self.here_documents: list[_HereDocument] = []
        """Those whose text begins on the next line."""

    def run(self) -> None:
        while self.at < len(self.line):
            self._step()
        for context in self.stack:
            self._end_command(context)
        for command in self.commands:
            judge(command, self.known)

    def _scan(self, code: str) -> None:
        """Look at code that stands in quotes."""
        held, strict = self.known.held, self.known.strict
        ShellWalk(code.replace(MARK, ""), repeat("1"), held, strict=strict).run()

    def _step(self) -> None:
        char, kind = self.line[self.at], self.stack[-1].kind
        if char == MARK:
            dollar = (
                self.line[: self.at].endswith("$") and self.line[self.at - 2 : self.at] != "\\$"
            )
            self._refuse_if(dollar, "`$`, which would stand before it,")
            self._value(len(self.out), '"' if kind not in (DOUBLE, HERE) else "")
            self.at += 1
        elif char == "\\":
            self._escape()
        elif char == "$" and self._dollar():
            pass
        elif char == "`":
            self._backquote()
        elif char == '"' and kind != HERE:
            self._double_quote()
        elif kind in (DOUBLE, HERE):
            self._text(1)
        elif kind in EVALUATED:
            self._evaluated(char)
        else:
            self._bare(char, self.stack[-1])

    # -- what is expanded -------------------------------------------------------------------------

    def _dollar(self) -> bool:
        """Enter or take an expansion, if one begins here."""
        rest = self.line[self.at : self.at + 3]
        bare = self.stack[-1].has_commands
        if rest == "$((":
            self._expand()
            self._enter(ARITHMETIC, 3)
        elif rest.startswith("$("):
            self._expand(runs=True)
            self._enter(BARE, 2)
        elif rest.startswith("$[") and "]" in self.line[self.at :]:
            self._expand()
            self._enter(SQUARE, 2)
        elif rest.startswith("${"):
            self._parameter()
        elif rest.startswith("$'") and bare:
            found = _ANSI.match(self.line, self.at)
            unclear = found is None or "\\'" in found[0] or MARK in found[0]
            self._refuse_if(unclear, "$'…', or a line with a quote in one,")
            self._expand()
            self._take(len(found[0]) if found else 1)
        elif rest.startswith('$"') and bare:
            self._expand()
            self._take(1)
        elif found := _VARIABLE.match(self.line, self.at):
            self._named(found[1], splits=found[1] == "@")
            self._take(len(found[0]))
        else:
            return False
        return True

    def _named(self, name: str, *, splits: bool = False) -> None:
        """A variable is expanded."""
        if (name if _NAME.match(name) or name in "#?$!-" else POSITIONAL) in self.known.held:
            self._hold(f"${name}", splits=splits)
        else:
            self._expand(f"${name}")

    def _parameter(self) -> None:
        """`${…}`: what computes in it ends at its brace; all else is like a text."""
        if found := _LISTS_NAMES.match(self.line, self.at):
            self._expand()
            return self._take(len(found[0]))
        found = _PARAMETER.match(self.line, self.at)
        indirect = found is None or found[1] == "!" or self.line.startswith("@P", found.end())
        self._refuse_if(indirect, "a line with ${!x}, ${x@P} or the like, which evaluate,")
        assert found is not None
        rest = self.line[found.end() :]
        if found[1] == "#":  # a number, whatever it is
            self._expand()
        else:
            self._named(found[2], splits=found[2] == "@" or rest.startswith(("[@]", "[*]")))
        if _SETS.match(rest):
            self.known.held.add(found[2])
        if _COMPUTED.match(rest):
            return self._enter(BRACES, len(found[0]))
        return self._take(len(found[0]) + rest.startswith("}"))

    def _evaluated(self, char: str) -> None:
        inside = self.stack[-1].kind
        self._refuse_if(inside == BRACES and self._sees("@P"), "a line with ${x@P}")
        if found := _NAME.match(self.line, self.at):
            self._refuse_if(found[0] in self.known.held, "arithmetic")
            self._take(len(found[0]))
        elif char == "'":
            self._single_quoted()
        elif char in "([":
            self._enter(GROUP if char == "(" else SQUARE, 1)
        elif char == EVALUATED[inside]:
            self._leave()
        elif inside == ARITHMETIC and self._sees("))"):
            self._take(1)
            self._leave()
        elif inside == ARITHMETIC and char == ")":  # no arithmetic: one subshell in another
            self._take(1)
            self.stack[-1].kind = SUBSHELL
        else:
            self._take(1)

    # -- outside of quotes ------------------------------------------------------------------------

    def _bare(self, char: str, context: Context) -> None:
        command = context.command
        if char == "'":
            self._single_quoted()
        elif char in " \t":
            self._end_word(context)
            self._take(1)
        elif char == "#" and context.word is None:
            text, *rest = self.line[self.at :].partition("\n")[0].split(MARK)
            shown = (f"${{{next(self.names)}}}{each}" for each in rest)
            self._take(len(text) + sum(len(each) + 1 for each in rest), text + "".join(shown))
        elif char in "<>":
            self._redirection(context)
        elif command.tests and char in "();&|\n":
            self._end_word(context)
            self._take(1)
        elif char in "()":
            self._parenthesis(char, context)
        elif char == "[" and self._is_subscript(context):
            self._text(0, "[]")
            self._enter(SQUARE, 1)
        elif self._sees("&>"):
            self._end_word(context)
            command.either = True
            self._take(1)
        elif char in ";&|\n":
            (self._end_word if context.kind == ARRAY else self._end_command)(context)
            self._take(1)
            while char == "\n" and self.here_documents:
                self._here_document(self.here_documents.pop(0))
        else:
            self._text(1)
            self._word(context).fixed &= char not in "{}*?~"

    def _is_subscript(self, context: Context) -> bool:
        """Whether it may be one: what is in it then ends at its bracket."""
        after = self.line[self.at + 1 : self.at + 3]
        is_test = not after.strip() or after[:1].isspace() or (after[0] == "[" and after[1:] < "!")
        begins = context.word is None or context.word.text == "["
        return not (is_test and begins) and "]" in self.line[self.at :]

    def _parenthesis(self, char: str, context: Context) -> None:
        word = context.word
        if char == ")":
            (self._end_word if context.kind == ARRAY else self._end_command)(context)
            closes = len(self.stack) > 1 and context.kind != BACKQUOTE and not context.cases
            (self._leave if closes else self._take)()
        elif word is not None and ASSIGNMENT.fullmatch(word.text):
            self._enter(ARRAY, 1)
        elif word is None and self._sees("(("):
            self._enter(ARITHMETIC, 2)
        else:
            defines = _NO_PARAMETERS.match(self.line, self.at)
            self._refuse_if(word is not None and not defines, "a line with `(` in a word")
            self._end_command(context)
            self._enter(SUBSHELL, 1)

    def _redirection(self, context: Context) -> None:
        found = _REDIRECTION.match(self.line, self.at)
        assert found is not None
        operator = found[0]
        if operator.endswith("("):
            self._expand(runs=True)
            return self._enter(BARE, 2)
        if context.command.tests:
            self._end_word(context)
            return self._take(1)
        if context.word is not None and re.fullmatch(r"\d+|\{\w+\}", context.word.text):
            context.word = None  # the number of a file
        self._end_word(context)
        self._take(len(operator))
        if operator in ("<<", "<<-"):
            return self._announced(context.command, indented=operator == "<<-")
        context.command.redirects = operator
        return None

    def _announced(self, command: SimpleCommand, *, indented: bool) -> None:
        """`<<WORD`, `<<-'WORD'`: the text comes after this line."""
        while self._sees(" ") or self._sees("\t"):
            self._take(1)
        begin = self.at
        while self.at < len(self.line) and self.line[self.at] not in " \t\n;|&<>()":
            self.at += 1
        word = self.line[begin : self.at]
        self._refuse_if(MARK in word, "the delimiter of a here-document")
        self.out.append(word)
        bare = word.translate(_NO_QUOTES)
        self.here_documents.append(
            _HereDocument(bare, bare != word, indented, command, self._depth())
        )

    def _depth(self) -> int:
        return sum(each.kind != SUBSHELL for each in self.stack)

    def _here_document(self, document: _HereDocument) -> None:
        """In its text a variable is replaced and not split: it needs no quotes.

        The shell looks for its end first, and only then for what is in it.
        """
        apart = document.depth != self._depth()  # shells look for its text in different places
        self._refuse_if(apart, "a line with a here-document that begins or ends inside `$( )`")
        begin = self.at
        while self.at < len(self.line):
            end = self.line.find("\n", self.at) + 1 or len(self.line)
            last = document.ends(self.line[self.at : end])
            self.at = end
            if last:
                break
        text = self.line[begin : self.at]
        self._refuse_if(MARK in text and document.quoted, "a quoted here-document")
        if not document.quoted:
            held, strict = self.known.held, self.known.strict
            body = ShellWalk(text, self.names, held, strict=strict, inside=HERE)
            body.run()
            text = "".join(body.out)
            if body.seen:
                document.command.input = True
                self._hold_around()
        self.out.append(text)

    def _hold_around(self) -> None:
        self._refuse_if(any(each.kind in EVALUATED for each in self.stack), "arithmetic")
        for context in self.stack[:-1]:
            if context.word is not None:
                context.word.holds = True

    # -- quotes -----------------------------------------------------------------------------------

    def _single_quoted(self) -> None:
        end = self.line.find("'", self.at + 1)
        end = len(self.line) if end < 0 else end
        first, *rest = self.line[self.at + 1 : end].split(MARK)
        start = len(self.out)
        if (owner := self._owner()) is not None:
            start = self._word(owner).start
        self._text(len(first) + 1, first, quoted=True)
        for each in rest:
            self.out.append("'")
            self._value(start, '"')
            self.out.append("'")
            self.at += 1
            self._text(len(each), each, quoted=True)
        self._take(1)

    def _double_quote(self) -> None:
        if self.stack[-1].kind == DOUBLE:
            self._leave()
            return
        self._text(0, "", quoted=True)
        self._enter(DOUBLE, 1)

    def _backquote(self) -> None:
        if any(each.kind == BACKQUOTE for each in self.stack):
            while self.stack[-1].kind != BACKQUOTE:
                self._end_command(self.stack.pop())
            self._end_command(self.stack[-1])
            self._leave()
        else:
            self._expand(runs=True)
            self._enter(BACKQUOTE, 1)

    def _escape(self) -> None:
        after = self.line[self.at + 1 : self.at + 2]
        self._refuse_if(after == MARK, "an escape")
        nested = after == "`" and any(each.kind == BACKQUOTE for each in self.stack)
        self._refuse_if(nested, "a line with one ` inside another")
        if after == "\n":  # the line goes on
            split = self.line[: self.at].endswith(("$", "(", "[", "<", ">", "&", "|", "{"))
            self._refuse_if(split, "a line that goes on in the middle of an operator")
            self._take(2)
        else:
            self._text(2, after, quoted=True)
