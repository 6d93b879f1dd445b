"""The options of systems: plain data, from which the command line is built.

A built-in system has them in its `options.py`, which imports nothing but this file; a third-party
system has them in its `options`. So `fanwise run --help` knows every option without importing what
the systems need to run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain

import msgspec

from fanwise.errors import UsageError
from fanwise.system_names import BUILT_IN, load, registered


class Option(msgspec.Struct, frozen=True):
    """An option of the command line that belongs to a system."""

    name: str
    """The keyword under which the system gets the value. Options that are not given are not
    passed."""
    commands: Sequence[str]
    """The commands that take it, such as `run` and `report`. None: only Python does."""
    help: str
    type: type[str] | type[int] | type[float] | type[bool] = str
    """A `bool` is a flag."""
    many: bool = False
    """It may be given several times; the system gets a tuple."""
    flags: Sequence[str] = ()
    """As it is written on the command line. Default: `--NAME`."""
    metavar: str | None = None
    """What stands for the value in the help."""
    choices: Sequence[str] = ()
    """The values that are allowed. Default: any."""
    required: bool = False

    @property
    def flag(self) -> str:
        """The first of its flags, by which it is known."""
        return self.flags[0] if self.flags else f"--{self.name.replace('_', '-')}"


def declare(
    commands: str, usage: str, text: str, *, name: str | None = None, required: bool = False
) -> Option:
    """An option as its help writes it: `--cap -c N`, `--tag`, `--only AXIS=VALUE …`.

    Without a value it is a flag, with `…` it may be given several times, and `one|two` are the
    values that are allowed. A value called `N`, `SECONDS` … is a number.
    """
    words = usage.split()
    flags = tuple(word for word in words if word.startswith("-"))
    value, *more = [word for word in words if word not in flags] or [""]
    choices = tuple(value.split("|")) if "|" in value else ()
    known = name or flags[0].lstrip("-").replace("-", "_")
    return Option(
        known,
        tuple(commands.split()),
        text,
        type=NUMBERS.get(value, str) if value else bool,
        many=bool(more),
        flags=() if flags == (f"--{known.replace('_', '-')}",) else flags,
        metavar=None if choices else value or None,
        choices=choices,
        required=required,
    )


NUMBERS: Mapping[str, type[int] | type[float]] = {
    "N": int, "SECONDS": float, "RATIO": float, "DOLLARS": float, "NUMBER": float,
}  # fmt: skip


def built_in_options(command: str) -> dict[str, list[Option]]:
    """The options of a command that fanwise's own systems take, by system."""
    return _for(command, _built_in())


def third_party_options(command: str) -> dict[str, list[Option]]:
    """Those that systems of other packages take. One that cannot be loaded has none."""
    return _for(command, _third_party())


def not_an_option(flag: str, kind: str) -> UsageError:
    """The error for an option that this system does not take; names those that do."""
    others = sorted(system for system, option in _all() if option.flag == flag)
    belongs = " and ".join(f"`{name}`" for name in dict.fromkeys(others))
    more = f"; it belongs to {belongs}" if others else ""
    return UsageError(f"{flag} is not an option of `{kind}`{more}", f"Leave {flag} out")


def hint_about(flag: str) -> str:
    """Which commands take an option, or why that is unknown; empty if none does."""
    commands = {each for _, option in _all() if option.flag == flag for each in option.commands}
    if commands:
        return f"It is an option of fanwise {' and '.join(sorted(commands))}"
    broken = sorted(name for name, options in _third_party() if options is None)
    return f"The system `{broken[0]}` may have it, but cannot be loaded" if broken else ""


Systems = Iterator[tuple[str, Sequence[Option] | None]]
"""The options of each system; None: it cannot be loaded."""


def _built_in() -> Systems:
    for name, value in BUILT_IN.items():
        package = value.partition(":")[0].rpartition(".")[0]
        yield name, import_module(f"{package}.options").OPTIONS


def _third_party() -> Systems:
    for name, values in registered().items():
        try:
            (value,) = values
            declared = getattr(load(value), "options", ())
        except Exception:  # a file of that system gets the reason; other files need not suffer
            yield name, None
        else:
            yield name, [each for each in declared if isinstance(each, Option)]


def _all() -> Iterator[tuple[str, Option]]:
    for name, options in chain(_built_in(), _third_party()):
        yield from ((name, option) for option in options or ())


def _for(command: str, systems: Systems) -> dict[str, list[Option]]:
    taken = {name: [o for o in options or () if command in o.commands] for name, options in systems}
    return {name: options for name, options in taken.items() if options}
