"""What became of a command: how it ended and what it wrote.

It must survive a journal of JSON to the byte, and output is not always text. So bytes that are
UTF-8 are stored as text, which keeps journals readable, and others as base64 under another key.
"""

from __future__ import annotations

import base64
import os
import signal as signals
from typing import Any, Literal

import msgspec

from fanwise.errors import CommandFailed
from fanwise.processes.limits import Exceeded

Ending = Literal["exit", "signal", "time-out", "limit", "lost"]


class Capture(msgspec.Struct, frozen=True, gc=False):
    """What a command wrote to stdout or stderr.

    `data` is all of it up to the command's `keep`; beyond that its head, a line that says how
    much is left out, and its tail. Then either `path` names the file that has all of it, or it
    is `truncated`: the middle is gone.
    """

    data: bytes = b""
    size: int = 0
    truncated: bool = False
    path: str | None = None

    @property
    def text(self) -> str:
        """`data` as text; what is not UTF-8 is replaced."""
        return self.data.decode("utf-8", "replace")

    def to_json(self) -> dict[str, Any]:
        """As plain data, for `from_json`."""
        form = {**bytes_to_json("data", self.data), "size": self.size}
        if self.truncated:
            form["truncated"] = True
        if self.path is not None:
            form.update(bytes_to_json("path", os.fsencode(self.path)))
        return form

    @classmethod
    def from_json(cls, form: dict[str, Any]) -> Capture:
        path = _bytes_from_json("path", form)
        return cls(
            data=_bytes_from_json("data", form) or b"",
            size=form["size"],
            truncated=form.get("truncated", False),
            path=None if path is None else os.fsdecode(path),
        )


class CommandResult(msgspec.Struct, frozen=True):
    """How a command ended. It has an exit code or a signal; neither, if the system lost it.

    `left_behind`: the program ended and left processes of its own running, which were killed.
    `exceeded`: the limit that ended it. `sandboxed`: whether it ran in a
    sandbox. A program that a signal ended there has the signal here too, although a sandbox
    reports it as a code of 128 and more, as shells do.
    """

    exit_code: int | None
    signal: int | None = None
    timed_out: bool = False
    left_behind: bool = False
    stdout: Capture = Capture()
    stderr: Capture = Capture()
    exceeded: Exceeded | None = None
    sandboxed: bool = False

    @property
    def ok(self) -> bool:
        """Whether it exited with code 0, in time and within its limits."""
        return self.exit_code == 0 and not self.timed_out and self.exceeded is None

    @property
    def out_of_memory(self) -> bool:
        """Whether it was ended, or failed, for want of memory."""
        return self.exceeded == "memory"

    @property
    def ending(self) -> Ending:
        """What ended it, in one word; of a limit, `exceeded` says which."""
        if self.timed_out:
            return "time-out"
        if self.exceeded is not None:
            return "limit"
        if self.signal is not None:
            return "signal"
        return "lost" if self.exit_code is None else "exit"

    def to_json(self) -> dict[str, Any]:
        """As plain data, for `from_json`."""
        more: dict[str, Any] = {} if self.exceeded is None else {"exceeded": self.exceeded}
        if self.sandboxed:
            more["sandboxed"] = True
        return {
            "exit_code": self.exit_code,
            "signal": self.signal,
            "timed_out": self.timed_out,
            "left_behind": self.left_behind,
            "stdout": self.stdout.to_json(),
            "stderr": self.stderr.to_json(),
            **more,
        }

    @classmethod
    def from_json(cls, form: dict[str, Any]) -> CommandResult:
        return cls(
            exit_code=form["exit_code"],
            signal=form["signal"],
            timed_out=form["timed_out"],
            left_behind=form["left_behind"],
            stdout=Capture.from_json(form["stdout"]),
            stderr=Capture.from_json(form["stderr"]),
            exceeded=form.get("exceeded"),
            sandboxed=form.get("sandboxed", False),
        )


def require_success(result: CommandResult) -> CommandResult:
    """Return the result if the command exited with code 0 in time; else raise `CommandFailed`."""
    if result.ok:
        return result
    last = _last_line(result.stderr.text)
    ended = ending_in_words(result)
    raise CommandFailed(result, f"{ended}: {last}" if last else ended)


def ending_in_words(result: CommandResult) -> str:
    """How a command ended, in a few words."""
    if result.timed_out:
        return "the command timed out and was killed"
    if result.exceeded is not None:
        return f"the command {_EXCEEDED[result.exceeded]}"
    if result.signal is not None:
        return f"the command was killed by {signal_name(result.signal)}"
    if result.exit_code is None:
        return "the command ended, and its exit code was taken by something else in this process"
    return f"the command exited with code {result.exit_code}"


_EXCEEDED: dict[Exceeded, str] = {
    "memory": "ran out of the memory that it may have",
    "cpu": "used up its CPU time",
    "file_size": "wrote a file larger than it may",
    "processes": "had more processes than it may",
    "output": "wrote more output than it may",
}


def signal_name(number: int) -> str:
    """`SIGKILL`, or `signal 99` for one that has no name here."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(text: str, most: int = 200) -> str:
    line = text.rstrip().rpartition("\n")[2].strip()
    return line if len(line) <= most else f"{line[: most - 1]}…"


def bytes_to_json(name: str, data: bytes) -> dict[str, Any]:
    """Return text under `name`, or base64 under `name_base64`."""
    # Not every database takes a NUL in JSON text, so data with one is not text either.
    if b"\0" not in data:
        try:
            return {name: data.decode("utf-8")}
        except UnicodeDecodeError:
            pass
    return {f"{name}_base64": base64.b64encode(data).decode("ascii")}


def _bytes_from_json(name: str, form: dict[str, Any]) -> bytes | None:
    if name in form:
        text: str = form[name]
        return text.encode("utf-8")
    if f"{name}_base64" in form:
        return base64.b64decode(form[f"{name}_base64"])
    return None
