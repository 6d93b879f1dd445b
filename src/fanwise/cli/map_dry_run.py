"""`fanwise map --dry-run`: the commands that would run, as a shell would take them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator

from fanwise.cli.exit_codes import DONE
from fanwise.cli.map_spec import Line, MapSpec
from fanwise.errors import UsageError

CHUNK = 1 << 18


def print_commands(spec: MapSpec, fd: int, *, as_json: bool) -> int:
    """One in a line on stdout, or all in a JSON document. Nothing is started or written."""
    from fanwise.cli.json_stream import print_document

    make = spec.commands()
    argvs = (
        [os.fsdecode(each) for each in make(Line(index, item), index % spec.cap + 1).exec_argv()]
        for index, item in enumerate(_items(spec, fd))
    )
    if as_json:
        print_document(
            {"dry_run": True}, "commands", ([_text(word) for word in argv] for argv in argvs)
        )
        return DONE
    for argv in argvs:
        sys.stdout.write(f"{shlex.join(map(_text, argv))}\n")
    return DONE


def _items(spec: MapSpec, fd: int) -> Iterator[bytes]:
    """The lines, as many together as a command is given."""
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
