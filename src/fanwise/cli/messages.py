"""Messages on stderr, results on stdout, and errors as either; no traceback for a known error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import msgspec

from fanwise.cli.streams import write_json, write_stderr
from fanwise.errors import BadSpec, FanwiseError, OutputNotWritable
from fanwise.view.terminal_text import terminal_safe


def say(text: str) -> None:
    """Print a message on stderr."""
    write_stderr(f"fanwise: {text}\n")


def say_lines(lines: list[str]) -> None:
    """Print messages on stderr; indented lines belong to the one before."""
    for line in lines:
        if line.startswith(" "):
            write_stderr(f"{line}\n")
        else:
            say(line)


def print_line(text: str) -> None:
    """Print a line on stdout, always safe for a terminal, since `| less` shows it too."""
    sys.stdout.write(f"{terminal_safe(text)}\n")


def print_json(document: Any) -> None:
    """Print one JSON document."""
    try:
        data = msgspec.json.format(msgspec.json.encode(document), indent=2)
    except UnicodeEncodeError:  # a lone surrogate: JSON can express it, UTF-8 cannot
        data = json.dumps(msgspec.to_builtins(document), indent=2).encode()
    sys.stdout.flush()
    write_json(data + b"\n")
    sys.stdout.flush()


def report_error(error: FanwiseError, *, as_json: bool) -> None:
    """Print an error: what is wrong, and what to do."""
    if as_json:
        name = type(error).__name__
        fields: dict[str, Any] = {
            "type": name, "message": error.message, "next_step": error.next_step,
        }  # fmt: skip
        if isinstance(error, BadSpec):
            fields["file"] = error.file
            fields["problems"] = [problem._asdict() for problem in error.problems]
        with suppress(OutputNotWritable):
            print_json({"error": fields})
            return
    with suppress(OutputNotWritable, OSError):
        sys.stdout.flush()  # in case stdout and stderr go to the same place
    say(error.message)
    if error.next_step:
        write_stderr(f"  {error.next_step}\n")
    for note in getattr(error, "__notes__", ()):
        write_stderr(f"  {note}\n")


def print_document(head: dict[str, Any], name: str, rows: Iterable[Any]) -> None:
    """Print `{…head, name: [row, …]}`, row by row: a run may not fit into memory."""
    write_json(msgspec.json.encode(head)[:-1])
    write_json(b', "%s": [' % name.encode())
    for number, row in enumerate(rows):
        write_json(b",\n  " if number else b"\n  ")
        write_json(msgspec.json.encode(row))
    write_json(b"\n]}\n")
    sys.stdout.flush()
