"""Where values go in a line of shell.

Pasting a quoted item into a line is not safe: inside "…" the quotes of `shlex.quote` are plain
characters, and `"{}"` with the item `$(rm x)` runs it. So the item is never part of the line: it
is a parameter, whose text the shell does not parse again. What is left to do is to quote
the *parameter*, so that it stays one word, and that depends on where it stands: bare, inside
"…", inside '…', or in a here-document. This file follows the quotes, and the words of each command.

Refused are places where a shell (bash, which is `sh` on some systems) evaluates what a parameter
contains: arithmetic, subscripts, offsets, numbers that `[[ ]]` compares, arguments of builtins (see
`shell_builtins.py`); and here-documents whose delimiter is quoted, in which nothing is replaced. A
variable of the line that holds a value (`y={}; echo $((y))`) is refused where the value would be,
and so is what a command prints that is given one. Where shells read a line in different ways, or
this file cannot follow it, the line is refused: it errs on that side.

What a line hands to another interpreter is beyond this: `sh -c "echo {}"`, `ssh`, `awk`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import repeat

from fanwise.errors import UsageError
from fanwise.processes.shell_builtins import Refused, check_names
from fanwise.processes.shell_walk import ShellWalk
from fanwise.processes.shell_words import MARK

PLACEHOLDER = "{}"
__all__ = ["MARK", "PLACEHOLDER", "place_parameter", "place_values"]


def place_parameter(line: str) -> str:
    """Replace each `{}` by the first parameter, quoted; add it at the end where there is none."""
    if PLACEHOLDER not in line:
        line = f"{line} {PLACEHOLDER}"
    return _placed(line.replace(MARK, "").replace(PLACEHOLDER, MARK))


def place_values(line: str, rest: Sequence[bool] = (), holding: Collection[str] = ()) -> str:
    """Replace the first `MARK` by the first parameter, and so on, each quoted.

    The parameters get names first: inside a function `$1` is another. Where `rest` is true, for a
    mark, all parameters stand there that are left behind those of the other marks. `holding`: the
    variables of its environment that hold a value too.
    """
    number = line.count(MARK)
    if not number and not holding:
        return line
    places = [f"fanwise_{n}" for n in range(1, number + 1)]
    for n, is_rest in enumerate(rest):
        places[n] = "@" if is_rest else places[n]
    names = [name for name in places if name != "@"]
    given = " ".join(f"{name}=${{{n}}}" for n, name in enumerate(names, 1))
    placed = _placed(line, tuple(places), frozenset(holding))
    return f"{given}; shift {len(names)}; {placed}" if names else placed


@lru_cache(maxsize=1000)
def _placed(line: str, places: tuple[str, ...] = (), holding: frozenset[str] = frozenset()) -> str:
    """`places`: what stands at each mark; none: the first parameter at all of them."""
    held = {*places, *holding}
    strict = MARK in line
    try:
        while True:
            known = len(held)
            names = iter(places) if places else repeat("1")
            walk = ShellWalk(line, names, held, strict=strict)
            walk.run()
            if len(held) == known:  # also through one another, in whatever order
                check_names(held - holding)
                return "".join(walk.out)
    except Refused as refused:
        shown = line.replace(MARK, "…")
        raise UsageError(
            f"a value stands inside {refused} of the shell line {shown!r}",
            "The shell would evaluate its text. Give a number (`{{ x | from_json }}`), compare "
            "with `[ ]`, compute with `expr`, or pass the value to a program as an argument",
        ) from None
