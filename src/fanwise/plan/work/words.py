"""Values in a command that the user wrote: `agent --prompt-file {prompt}`.

A command is a list of words, or a line for the shell. `{files}` and `{tests}` are several values.
In a list they stand alone and become so many words. In a line every value is a parameter, never a
part of it (see `processes/shell_line.py`), so what a file is called cannot run anything. Braces
that name nothing here stay as they are, for lines are full of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fanwise.errors import UsageError
from fanwise.processes import Command
from fanwise.processes.shell_line import MARK, place_values

Line = str | tuple[str, ...]
"""A line for the shell, or words that no shell sees."""
Value = str | Sequence[str]

WORK = ("prompt", "files", "id", "goal", "ask", "subplans")
"""What the command of a leaf may name."""
VERIFY = ("tests", "files", "id")
SEVERAL = ("files", "tests")


def named(line: Line, names: Sequence[str]) -> set[str]:
    """Those of these names that the line has a place for."""
    text = line if isinstance(line, str) else "\n".join(line)
    return {found[1] for found in _places(names).finditer(text)}


def check_line(line: Line, names: Sequence[str]) -> None:
    """Refuse a line that could not be filled. `UsageError`."""
    command_of(line, {name: ["a"] if name in SEVERAL else "a" for name in names})


def command_of(line: Line, values: Mapping[str, Value], **how: Any) -> Command:
    """The command, with its values; `how` is as for any `Command`. `UsageError`."""
    words, given = words_of(line, values)
    if isinstance(words, str):
        return Command(words, *given, shell=True, **how)
    return Command(*words, **how)


def words_of(line: Line, values: Mapping[str, Value]) -> tuple[str | list[str], list[str]]:
    """A line for the shell and its parameters; or words, and none. `UsageError`."""
    if isinstance(line, str):
        marked, given = _marked(line, values)
        return place_values(marked), given
    return [word for each in line for word in _filled(each, values)], []


def _places(names: Sequence[str]) -> re.Pattern[str]:
    # A `$` before it makes it a variable of the shell's.
    return re.compile(r"(?<!\$)\{(" + "|".join(names) + r")\}")


def _marked(line: str, values: Mapping[str, Value]) -> tuple[str, list[str]]:
    if MARK in line:
        raise UsageError(f"the command {line!r} contains a NUL byte", "Leave it out")
    given: list[str] = []

    def mark(found: re.Match[str]) -> str:
        value = values[found[1]]
        words = [value] if isinstance(value, str) else list(value)
        given.extend(words)
        return " ".join(MARK for _ in words)

    return _places(tuple(values)).sub(mark, line), given


def _filled(word: str, values: Mapping[str, Value]) -> list[str]:
    places = _places(tuple(values))
    if (found := places.fullmatch(word)) and not isinstance(values[found[1]], str):
        return list(values[found[1]])

    def fill(found: re.Match[str]) -> str:
        value = values[found[1]]
        if not isinstance(value, str):
            raise UsageError(
                f"{{{found[1]}}} is several words, and stands inside {word!r}",
                "Let it stand alone, or write the command as a line for the shell",
            )
        return value

    return [places.sub(fill, word)]
