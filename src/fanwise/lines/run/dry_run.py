"""`fanwise map --dry-run`: the commands that would run."""

from __future__ import annotations

import os
from collections.abc import Iterator

from fanwise.errors import UsageError
from fanwise.lines.spec.map_spec import LineItem, MapSpec

CHUNK = 1 << 18


def commands(spec: MapSpec, fd: int) -> Iterator[list[str]]:
    """The words of each command. Nothing is started or written."""
    make = spec.commands()
    for index, item in enumerate(_items(spec, fd)):
        argv = make(LineItem(index, item), index % spec.cap + 1).exec_argv()
        yield [_text(os.fsdecode(each)) for each in argv]


def _items(spec: MapSpec, fd: int) -> Iterator[bytes]:
    """The lines, grouped as commands get them."""
    together: list[bytes] = []
    for line in _lines(fd, spec.separator):
        together.append(line)
        if len(together) == spec.lines:
            yield spec.separator.join(together)
            together = []
    if together:
        yield spec.separator.join(together)


def _lines(fd: int, separator: bytes) -> Iterator[bytes]:
    rest = b""
    while chunk := _read(fd):
        *lines, rest = (rest + chunk).split(separator)
        yield from lines
    if rest:
        yield rest


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, CHUNK)
    except OSError as error:
        raise UsageError(f"cannot read the input: {error.strerror}") from error


def _text(word: str) -> str:
    return word.encode("utf-8", "backslashreplace").decode()
