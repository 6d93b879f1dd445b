"""Values in a line for the shell that the user wrote: `agent --prompt-file {prompt}`.

Every value becomes a parameter of the line, never a part of it (see `processes/shell_line.py`), so
a file name cannot run anything. `{files}` and `{tests}` become several words, even inside quotes.
Other braces stay as they are, because shell lines contain many.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from fanwise.errors import UsageError
from fanwise.processes.shell_line import MARK, place_values

Value = str | Sequence[str]

WORK = ("prompt", "files", "id", "goal", "ask", "subplans")
"""What the command of a leaf may name."""
VERIFY = ("tests", "files", "id")
SEVERAL = ("files", "tests")


_QUOTED = re.compile(rf"""(?<!\S)(['"])\{{({"|".join(SEVERAL)})\}}\1(?!\S)""")


def places_in(line: str, names: Sequence[str]) -> set[str]:
    return set(_places(names).findall(line))


def check_line(line: str, names: Sequence[str]) -> None:
    """Refuse a line that could not be filled. `UsageError`."""
    fill(line, {name: ["a"] if name in SEVERAL else "a" for name in names})


def fill(line: str, values: Mapping[str, Value]) -> tuple[str, list[str]]:
    """The line with parameters in place of the names, and these. `UsageError`."""
    if MARK in line:
        raise UsageError(f"the command {line!r} contains a NUL byte", "Leave it out")
    given: list[str] = []

    def mark(found: re.Match[str]) -> str:
        value = values[found[1]]
        words = [value] if isinstance(value, str) else value
        given.extend(words)
        return " ".join(MARK for _ in words)

    bare = _QUOTED.sub(r"{\2}", line)
    return place_values(_places(tuple(values)).sub(mark, bare)), given


def filled_text(line: str, values: Mapping[str, Value]) -> str:
    """The line with its values in it, quoted: for people and agents to read."""

    def text(found: re.Match[str]) -> str:
        value = values[found[1]]
        return shlex.join([value] if isinstance(value, str) else value)

    return _places(tuple(values)).sub(text, _QUOTED.sub(r"{\2}", line))


def _places(names: Sequence[str]) -> re.Pattern[str]:
    # A `$` before it makes it a variable of the shell's.
    return re.compile(rf"(?<!\$)\{{({'|'.join(names)})\}}")
