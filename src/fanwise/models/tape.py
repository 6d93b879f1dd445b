"""The file of a recording: one JSON line for each call, written when it ends.

A line has the request, what came of it (reply, error or cancelled), how long it took, and its
number in the order in which calls *began*: equal requests are played back in that order. A last
line without an end, from a process that was killed, is no line; any other damage is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from fanwise import errors
from fanwise.core.outcome import Usage
from fanwise.errors import FanwiseError, ModelError, RecordedError, UsageError, full_name
from fanwise.models.port import Reply, Request


class Failed(msgspec.Struct, frozen=True):
    type: str
    text: str
    fields: dict[str, Any] = {}


class TapedCall(msgspec.Struct, frozen=True, omit_defaults=True):
    number: int
    model: str
    provider: str
    key: str | None
    request: Request
    estimate: Usage
    ran_s: float
    reply: Reply | None = None
    error: Failed | None = None
    """Neither reply nor error: it was cancelled."""


_decoder = msgspec.json.Decoder(TapedCall)


def encode(line: TapedCall) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def read(path: Path) -> list[TapedCall]:
    try:
        *whole, _ = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"cannot read the recording {path}: {error.strerror}") from None
    lines = []
    for number, text in enumerate(whole, 1):
        try:
            lines.append(_decoder.decode(text))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            what = f"line {number} of {path} is no recorded call: {error}"
            raise UsageError(what, "Record it anew") from None
    return sorted(lines, key=lambda line: line.number)


def failed(error: Exception) -> Failed:
    if not isinstance(error, ModelError):
        return Failed(full_name(type(error)), str(error))
    fields = {name: value for name, value in vars(error).items() if not name.startswith("_")}
    return Failed(type(error).__name__, str(error), fields)


def revived(recorded: Failed) -> FanwiseError:
    """The error again, as its own class if it is a `ModelError`."""
    kind = vars(errors).get(recorded.type)
    if not (isinstance(kind, type) and issubclass(kind, ModelError)):
        return RecordedError(recorded.type, recorded.text)
    error = kind.__new__(kind, recorded.text)
    error.args = (recorded.text,)
    error.__dict__.update(recorded.fields)
    return error
