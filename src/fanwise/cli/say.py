"""Words on stderr, JSON on stdout, and errors as both: never a traceback for a known error."""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from typing import Any

import msgspec

from fanwise.cli.streams import write_stderr
from fanwise.errors import BadSpec, FanwiseError, OutputNotWritable

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All but the tab and the end of a line."""


def say(text: str) -> None:
    """A line for the person, on stderr."""
    write_stderr(f"fanwise: {text}\n")


def say_lines(lines: list[str]) -> None:
    """Lines for the person; those that are indented belong to the one before."""
    for line in map(harmless, lines):
        if line.startswith(" "):
            write_stderr(f"{line}\n")
        else:
            say(line)


def harmless(text: str) -> str:
    """Text that others wrote, for a terminal: nothing in it moves the cursor or worse."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def print_json(document: Any) -> None:
    """One document on stdout."""
    try:
        data = msgspec.json.format(msgspec.json.encode(document), indent=2)
    except UnicodeEncodeError:  # half of a surrogate pair: JSON can say it, UTF-8 cannot
        data = json.dumps(msgspec.to_builtins(document), indent=2).encode()
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def report_error(error: FanwiseError, *, as_json: bool) -> None:
    """An error: what is wrong, and what to do."""
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
    say(error.message)
    if error.next_step:
        write_stderr(f"  {error.next_step}\n")
    for note in getattr(error, "__notes__", ()):
        write_stderr(f"  {note}\n")
