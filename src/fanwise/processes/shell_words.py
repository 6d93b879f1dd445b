"""The words of a shell's commands, as they are built up along a line, and where values are in them.

`shell_walk.py` says what stands at each place of the line; this keeps what follows from it.
"""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.processes.shell_builtins import LineFacts, Refused, SimpleCommand, Word

MARK = "\0"
"""Stands for a value; no line of shell can hold it otherwise."""
BARE, DOUBLE, BACKQUOTE, HERE = "bare", '"', "`", "<<"
SUBSHELL, ARRAY = "( )", "=("
ARITHMETIC, GROUP, SQUARE, BRACES = "((", "(", "[", "${"
EVALUATED = {ARITHMETIC: "", GROUP: ")", SQUARE: "]", BRACES: "}"}
"""Where the shell computes, and what ends it; that of arithmetic is `))`."""


class Context:
    """What is open: quotes, a substitution, a here-document, or the line itself."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.command = SimpleCommand()
        self.word: Word | None = None
        self.cases = 0
        """`case` without its `esac`, in which a `)` closes nothing."""

    @property
    def has_commands(self) -> bool:
        return self.kind in (BARE, BACKQUOTE, SUBSHELL, ARRAY)


class ShellWords:
    """The line so far: what is open in it, and the commands that have ended. `Refused`."""

    def __init__(self, line: str, names: Iterator[str], known: LineFacts, inside: str) -> None:
        self.line = line
        self.names = names
        self.at = 0
        self.out: list[str] = []
        self.stack = [Context(inside)]
        self.seen = False
        """Whether there is a value in it."""
        self.known = known
        self.commands: list[SimpleCommand] = []

    def _value(self, at: int, quote: str) -> None:
        """The next value is written, if one can stand here; at `at` in `out` its word may begin."""
        owner = self._owner()
        if owner is not None and owner.command.is_printf():
            word = self._word(owner)
            if not word.text:  # one that begins with `-v` would be evaluated
                self.out.insert(min(word.start, at), "-- ")
                word.guarded = True
        self._hold(MARK)
        self.out.append(f"{quote}${{{next(self.names)}}}{quote}")

    def _hold(self, text: str, *, splits: bool = False) -> None:
        """A value stands here, which is also in all words around."""
        self.seen = True
        self._refuse_if(any(each.kind in EVALUATED for each in self.stack), "arithmetic")
        owner = self._owner()
        if owner is not None:
            self._word(owner).text += text
            self._word(owner).fixed = False
        for context, inner in zip(self.stack, [*self.stack[1:], None], strict=True):
            if context.word is not None:
                context.word.holds = True
                bare = inner is None or inner.kind != DOUBLE
                context.word.splits |= splits or (bare and (context is not owner or text != MARK))

    def _owner(self) -> Context | None:
        """The context whose word goes on here."""
        inner = self.stack[-2:] if self.stack[-1].kind == DOUBLE else self.stack[-1:]
        return inner[0] if inner[0].has_commands else None

    def _word(self, context: Context) -> Word:
        if context.word is None:
            context.word = Word(len(self.out))
        return context.word

    def _text(self, width: int, text: str | None = None, *, quoted: bool = False) -> None:
        """Take what stands here; `text`: what it means."""
        owner = self._owner()
        if owner is not None:
            word = self._word(owner)
            word.text += self.line[self.at : self.at + width] if text is None else text
            word.quoted |= quoted or self.stack[-1].kind == DOUBLE
        self._take(width)

    def _expand(self, text: str = "$", *, runs: bool = False) -> None:
        """Something is expanded here that holds no value."""
        owner = self._owner()
        if owner is not None:
            word = self._word(owner)
            word.text += text
            word.fixed, word.runs = False, word.runs or runs

    def _end_word(self, context: Context) -> None:
        word, command = context.word, context.command
        context.word = None
        if word is None:
            return
        if operator := command.redirects:
            command.redirects = ""
            command.input |= word.holds and operator in ("<", "<<<", "<>")
            self._refuse_if(word.holds and "&" in operator, f"`{operator}`")  # expanded twice
            return
        self._refuse_if(command.either and word.holds, "what follows `&>`")
        word.fixed |= word.text in ("{", "}", "{}")
        command.words.append(word)
        command.tests = command.begins_with("[[") or (command.tests and word.text != "]]")
        context.cases += command.begins_with("case") - command.begins_with("esac")

    def _end_command(self, context: Context) -> None:
        self._end_word(context)
        self.commands.append(context.command)
        context.command = SimpleCommand()

    # -- the walk ---------------------------------------------------------------------------------

    def _enter(self, what: str, width: int) -> None:
        self._take(width)
        self.stack.append(Context(what))

    def _leave(self) -> None:
        self._take()
        self.stack.pop()

    def _take(self, width: int = 1, instead: str | None = None) -> None:
        taken = self.line[self.at : self.at + width]
        self.out.append(taken if instead is None else instead)
        self.at += width

    def _sees(self, text: str) -> bool:
        return self.line.startswith(text, self.at)

    def _refuse_if(self, refused: bool, where: str) -> None:
        if refused:
            raise Refused(where)
