"""What a `fanwise map` does, as data: checked before anything is written, kept for resume."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import Literal

import msgspec

from fanwise.core.caps import whole
from fanwise.core.halt import Halt
from fanwise.core.retry import Retry
from fanwise.errors import UsageError
from fanwise.journal.codec import JSON
from fanwise.processes import Command

KEEP = 1 << 18
"""Bytes of an output that go into the journal; what is longer is complete in a file."""


class MapSpec(msgspec.Struct, frozen=True):
    """The command and the options. The environment is that of whoever executes it."""

    argv: list[str]
    cwd: str
    shell: bool = False
    cap: int = 10
    halt: Literal["never", "failure"] = "never"
    retry: int = 0
    timeout: float | None = None
    key: bool = False
    null: bool = False

    def check(self) -> None:
        """`UsageError` for what could not work with any line."""
        whole("--cap", self.cap)
        whole("--retry", self.retry, least=0)
        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            raise UsageError(f"--timeout is {self.timeout:g}", "Give seconds, more than 0")
        self.command(None).for_item("line")
        if not self.shell:
            _check_program(self.argv[0], self.cwd)

    def command(self, spill: str | None) -> Command:
        """What is run for each line."""
        if self.shell:
            return Command.shell_line(" ".join(self.argv), cwd=self.cwd, keep=KEEP, spill=spill)
        return Command(*self.argv, cwd=self.cwd, keep=KEEP, spill=spill)

    @property
    def halting(self) -> Halt:
        """When to start nothing more."""
        return Halt.on_failure() if self.halt == "failure" else Halt.never()

    @property
    def retrying(self) -> Retry:
        """How often to try again."""
        return Retry(self.retry)

    @property
    def separator(self) -> bytes:
        """What ends a line."""
        return b"\0" if self.null else b"\n"

    @property
    def title(self) -> str:
        """The command as a person would write it."""
        text = " ".join(self.argv) if self.shell else shlex.join(self.argv)
        return text.encode("utf-8", "backslashreplace").decode()[:200]

    def to_json(self) -> dict[str, object]:
        """Plain data for the journal."""
        return msgspec.structs.asdict(self)

    @classmethod
    def from_json(cls, text: str) -> MapSpec:
        """What `to_json` gave, as the journal has it."""
        return msgspec.convert(JSON.decode(text), cls)


def line_key(line: bytes) -> str:
    """A line as a key: its text; bytes that are not text as Python would show them."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return repr(line)


def _check_program(program: str, cwd: str) -> None:
    """A typing error in the program's name shall not become ten thousand failures."""
    if "{}" in program:
        return
    given = os.path.join(cwd, program) if os.sep in program else program  # noqa: PTH118
    if shutil.which(given) is None:
        shown = program.encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"there is no program {shown!r}", "Check its name, or use --shell")
