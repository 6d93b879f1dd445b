"""The command that people write: a program with a place for the item.

A command is a list of arguments, never a line of text, so an item cannot run anything however
it is spelled. Pipes need a shell; `Command.shell_line` is for them, and there the item travels
as a positional parameter (see `shell_line.py`) instead of being pasted into the line. What a
program does with an argument is its own affair: an item such as `-rf` is an option to `rm`, and
`eval {}` evaluates the item, because the line says so.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from fanwise.errors import UsageError
from fanwise.processes.limits import Limits
from fanwise.processes.sandbox import Sandbox
from fanwise.processes.shell_line import PLACEHOLDER, place_parameter

KEEP = 8 * 1024 * 1024
"""Bytes of stdout, and of stderr, that are kept in memory."""

Text = str | bytes


@dataclass(frozen=True, init=False)
class Command:
    """A program to run for each item; `{}` inside any argument stands for the item.

    `env` is added to the inherited environment. `inherit` names what passes of that (`LC_*`: all
    that begin so); None: everything, or in a sandbox what carries no secrets (`PLAIN`). `limits`
    bound what it may take, `sandbox` says what it may write and reach (True: its folder). `keep`
    bounds the bytes of stdout, and of stderr, that stay in memory; what is beyond goes to a file
    in the directory `spill`, complete, or without one its middle is dropped. With `check` an exit
    code other than 0 is a `CommandFailed`.
    """

    argv: tuple[Text, ...]
    stdin: bytes | None
    cwd: str | None
    env: Mapping[str, str] | None
    shell: bool
    keep: int
    check: bool
    spill: str | None
    inherit: tuple[str, ...] | None
    limits: Limits | None
    sandbox: Sandbox | None

    def __init__(
        self,
        *argv: Text,
        stdin: bytes | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        shell: bool = False,
        keep: int = KEEP,
        check: bool = True,
        spill: str | None = None,
        inherit: Collection[str] | None = None,
        limits: Limits | None = None,
        sandbox: Sandbox | bool = False,
    ) -> None:
        _check_argv(argv)
        _check_cwd(cwd)
        _check_env(env)
        _check_keep(keep)
        _check_stdin(stdin)
        _check_inherit(inherit)
        given = {
            "argv": argv,
            "stdin": stdin,
            "cwd": cwd,
            "env": None if env is None else dict(env),
            "shell": shell,
            "keep": keep,
            "check": check,
            "spill": spill,
            "inherit": None if inherit is None else tuple(inherit),
            "limits": limits,
            "sandbox": _sandbox(sandbox, cwd),
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @classmethod
    def shell_line(cls, line: str, **options: Any) -> Command:
        """Run `line` under /bin/sh; `{}` becomes one word, whatever the item contains.

        `options` are those of `Command`: `Command(line, shell=True, …)` is the same.
        """
        return cls(line, shell=True, **options)

    def for_item(self, item: Text | os.PathLike[str]) -> Command:
        """Fill the placeholders; without any, the item becomes the last argument."""
        word = _word(item)
        if self.shell:
            line = place_parameter(os.fsdecode(self.argv[0]))
            return self._with_argv((line, *self.argv[1:], os.fsdecode(word)))
        arguments = [os.fsencode(argument) for argument in self.argv]
        mark = PLACEHOLDER.encode()
        if any(mark in argument for argument in arguments):
            filled = [argument.replace(mark, word) for argument in arguments]
        else:
            filled = [*arguments, word]
        return self._with_argv(tuple(os.fsdecode(argument) for argument in filled))

    def exec_argv(self) -> list[bytes]:
        """The arguments for `exec`."""
        arguments = [os.fsencode(argument) for argument in self.argv]
        if self.shell:
            return [b"/bin/sh", b"-c", arguments[0], b"sh", *arguments[1:]]
        return arguments

    def _with_argv(self, argv: tuple[Text, ...]) -> Command:
        rest: dict[str, Any] = {
            name: getattr(self, name) for name in self.__dataclass_fields__ if name != "argv"
        }
        return Command(*argv, **{**rest, "sandbox": self.sandbox or False})


def _word(item: Text | os.PathLike[str]) -> bytes:
    if not isinstance(item, str | bytes | os.PathLike):
        raise UsageError(
            f"a command was given the item {item!r}, a {type(item).__name__}",
            "Give text, bytes or a path",
        )
    word = _encoded("the item", os.fspath(item))
    if b"\0" in word:
        raise UsageError(
            f"the item {item!r} contains a NUL byte", "No program can be given one as an argument"
        )
    return word


def _encoded(what: str, text: Text) -> bytes:
    try:
        return os.fsencode(text)
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{what} {text!r} cannot be encoded", "Give bytes, or text without lone surrogates"
        ) from error


def _check_argv(argv: tuple[Text, ...]) -> None:
    if not argv:
        raise UsageError("a command has no program", 'Write Command("program", "argument", …)')
    for argument in argv:
        if not isinstance(argument, str | bytes):
            raise UsageError(
                f"a command's argument is {argument!r}, a {type(argument).__name__}",
                "Give text or bytes, each argument by itself",
            )
        if b"\0" in _encoded("the argument", argument):
            raise UsageError(f"the argument {argument!r} contains a NUL byte", "Leave it out")
    if not argv[0]:
        raise UsageError("a command's program is empty", "Name the program to run")


def _check_cwd(cwd: str | None) -> None:
    if cwd is not None and "\0" in cwd:
        raise UsageError(f"cwd {cwd!r} contains a NUL byte", "Give the path of a directory")


def _check_env(env: Mapping[str, str] | None) -> None:
    for name, value in (env or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise UsageError(f"env {name!r} is {value!r}", "Give text for names and values")
        if not name or "=" in name or "\0" in name + value:
            raise UsageError(
                f"env {name!r} cannot be a variable",
                "Names are not empty and have no '='; neither part has a NUL byte",
            )


def _check_inherit(inherit: Collection[str] | None) -> None:
    if isinstance(inherit, str) or not all(isinstance(name, str) for name in inherit or ()):
        raise UsageError(f"inherit is {inherit!r}", "Give a list of names of variables")


def _sandbox(given: Sandbox | bool, cwd: str | None) -> Sandbox | None:
    if given is True:
        return Sandbox(writable=(cwd or ".",))
    if given is False:
        return None
    if not isinstance(given, Sandbox):
        raise UsageError(f"sandbox is {given!r}", "Give True, or Sandbox(writable=[…])")
    return given


def _check_keep(keep: int) -> None:
    if keep < 0:
        raise UsageError(f"keep is {keep!r}", "Give the number of bytes to keep, 0 or more")


def _check_stdin(stdin: bytes | None) -> None:
    if stdin is not None and not isinstance(stdin, bytes):
        raise UsageError(
            f"stdin is a {type(stdin).__name__}", 'Give bytes, such as "text".encode()'
        )
