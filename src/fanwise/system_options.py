"""The options of systems: plain data, from which the command line is built.

A built-in system has them in its `options.py`, which imports nothing but this file; a third-party
system has them in its `options`. So `fanwise run --help` knows every option without importing what
the systems need to run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

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


def built_in_options(command: str) -> dict[str, list[Option]]:
    """The options of a command that fanwise's own systems take, by system."""
    return _of(command, ((name, _options_module(value)) for name, value in BUILT_IN.items()))


def third_party_options(command: str) -> dict[str, list[Option]]:
    """Those that installed systems take. One that cannot be loaded has none here."""
    return _of(command, ((name, _loaded(values)) for name, values in registered().items()))


def not_an_option(flag: str, kind: str) -> UsageError:
    """The error for an option that other systems take, but not this one."""
    others = " and ".join(f"`{name}`" for name in systems_with(flag))
    more = f"; it belongs to {others}" if others else ""
    return UsageError(f"{flag} is not an option of `{kind}`{more}", f"Leave {flag} out")


def systems_with(flag: str) -> list[str]:
    """The systems that take an option, whatever the command."""
    found = [(name, _options_module(value)) for name, value in BUILT_IN.items()]
    found += [(name, _loaded(values)) for name, values in registered().items()]
    return sorted(name for name, options in found if any(each.flag == flag for each in options))


def _of(command: str, found: Iterable[tuple[str, Sequence[Option]]]) -> dict[str, list[Option]]:
    taken = {name: [each for each in every if command in each.commands] for name, every in found}
    return {name: options for name, options in taken.items() if options}


def _options_module(value: str) -> Sequence[Option]:
    package = value.partition(":")[0].rpartition(".")[0]
    options: Sequence[Option] = import_module(f"{package}.options").OPTIONS
    return options


def _loaded(values: set[str]) -> Sequence[Option]:
    if len(values) > 1:
        return ()
    try:
        system = load(*values)
    except Exception:  # a file of that system gets the reason; other files need not suffer
        return ()
    return [each for each in getattr(system, "options", ()) if isinstance(each, Option)]
