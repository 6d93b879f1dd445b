"""Placeholders in a command: `{}` for the line, and the replacement strings of GNU parallel.

| written | is |
|---|---|
| `{}` | the line |
| `{.}` | without its extension: `a/b.txt` is `a/b` |
| `{/}` | without its folder: `b.txt` |
| `{//}` | its folder: `a` |
| `{/.}` | without both: `b` |
| `{#}` | the number of the command, from 1 |
| `{%}` | a number from 1 to the cap that no other command has at the same time |

A command without placeholders gets the line as its last argument. If commands get several lines
(`-n`), these replace arguments that are just `{}`. A value is always one argument, or one word of a
shell line, whatever it contains. `${#}` and the like belong to the shell.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence

from fanwise.errors import UsageError
from fanwise.processes.shell_line import MARK, place_parameter, place_values

LINE = "{}"
_PLACEHOLDER = re.compile(r"\{\}|(?<!\$)\{(?:\.|//|/\.|/|#|%)\}")
_EXTENSION = re.compile(r"\.[^/.]+$")

OF_A_LINE: dict[str, Callable[[str], str]] = {
    LINE: lambda line: line,
    "{.}": lambda line: _EXTENSION.sub("", line),
    "{/}": posixpath.basename,
    "{//}": lambda line: posixpath.dirname(line.rstrip("/")) or ("/" if line[:1] == "/" else "."),
    "{/.}": lambda line: _EXTENSION.sub("", posixpath.basename(line)),
}


def placeholders(text: str) -> list[str]:
    """The placeholders in the text, in order."""
    return _PLACEHOLDER.findall(text)


class CommandTemplate:
    """A command with placeholders; `lines`: how many lines each command gets.

    `UsageError` if it could not work with any line.
    """

    def __init__(self, argv: Sequence[str], *, shell: bool = False, lines: int = 1) -> None:
        self._shell = shell
        self._many = lines > 1
        text = " ".join(argv)
        self._argv = [text] if shell else [*argv]
        self._marks = placeholders(text)
        if not self._marks:
            self._argv = [f"{text} {LINE}"] if shell else [*argv, LINE]
            self._marks = [LINE]
        if self._many:
            self._check_several(lines)
        if shell:
            self._argv = [self._placed(self._argv[0])]

    def fill(self, lines: Sequence[str], number: int, slot: int | str) -> list[str]:
        """The arguments of one command; for a shell, the line and its parameters."""
        if self._shell:
            values = [self._value(mark, lines, number, slot) for mark in self._marks]
            return [*self._argv, *values, *(lines if self._many else ())]
        filled: list[str] = []
        for argument in self._argv:
            if argument == LINE:
                filled += lines
            else:
                filled.append(
                    _PLACEHOLDER.sub(lambda m: self._value(m[0], lines, number, slot), argument)
                )
        return filled

    def _value(self, mark: str, lines: Sequence[str], number: int, slot: int | str) -> str:
        if mark == "{#}":
            return str(number)
        return str(slot) if mark == "{%}" else OF_A_LINE[mark](lines[0])

    def _placed(self, line: str) -> str:
        """A shell line with parameters; `_marks` then has one placeholder for each."""
        if not self._many and set(self._marks) == {LINE}:
            self._marks = [LINE]
            return place_parameter(line)
        all_lines = [mark == LINE and self._many for mark in self._marks]
        self._marks = [mark for mark in self._marks if mark != LINE or not self._many]
        return place_values(_PLACEHOLDER.sub(MARK, line), all_lines)

    def _check_several(self, lines: int) -> None:
        for mark in self._marks:
            if mark in OF_A_LINE and mark != LINE:
                raise UsageError(
                    f"{mark} needs a single line, but with -n {lines} each command gets several",
                    "Leave -n out, or write {}",
                )
        for argument in self._argv:
            if not self._shell and LINE in argument and argument != LINE:
                raise UsageError(
                    f"{{}} is part of {argument!r}, but with -n {lines} commands get several lines",
                    "Make {} an argument of its own",
                )
