"""What a `fanwise map` does, as data: checked before anything is written, kept for resume."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable

import msgspec

from fanwise.cli.map_halt import HaltRule
from fanwise.cli.map_template import Template, placeholders
from fanwise.core.caps import whole
from fanwise.core.retry import Retry
from fanwise.errors import UsageError
from fanwise.journal.codec import JSON
from fanwise.processes import Command

KEEP = 1 << 18
"""Bytes of an output that go into the journal; what is longer is complete in a file."""


class Line(msgspec.Struct, frozen=True, gc=False):
    """One item: a line, or as many as a command is given, with their separator between them."""

    index: int
    data: bytes


class MapSpec(msgspec.Struct, frozen=True):
    """The command and the options. The environment is that of whoever executes it."""

    argv: list[str]
    cwd: str
    shell: bool = False
    cap: int = 10
    halt: str = "never"
    """As `HaltRule.parse` takes it."""
    retry: int = 0
    timeout: float | None = None
    key: bool = False
    null: bool = False
    lines: int = 1
    """How many of them each command is given; the last one may get fewer."""
    tag: bool = False
    """Each line of output begins with the line of input that it is of."""
    joblog: str | None = None
    """Where to write a row for each command that has ended."""

    def check(self) -> None:
        """`UsageError` for what could not work with any line."""
        whole("--cap", self.cap)
        whole("-n", self.lines)
        whole("--retry", self.retry, least=0)
        HaltRule.parse(self.halt)
        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            raise UsageError(f"--timeout is {self.timeout:g}", "Give seconds, more than 0")
        self.commands()(Line(0, b"line"), 1)
        if not self.shell:
            _check_program(self.argv[0], self.cwd)

    def commands(self, spill: str | None = None) -> Callable[[Line, int], Command]:
        """Makes what is run for a line, in a slot (see `{%}`)."""
        template = Template(self.argv, shell=self.shell, lines=self.lines)

        def command(line: Line, slot: int) -> Command:
            words = [os.fsdecode(each) for each in self.split(line.data)]
            argv = template.fill(words, line.index + 1, slot)
            return Command(*argv, shell=self.shell, cwd=self.cwd, keep=KEEP, spill=spill)

        return command

    def split(self, item: bytes) -> list[bytes]:
        """The lines of an item."""
        return item.split(self.separator) if self.lines > 1 else [item]

    @property
    def halting(self) -> HaltRule:
        """When to start nothing more."""
        return HaltRule.parse(self.halt)

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
    if placeholders(program):
        return
    given = os.path.join(cwd, program) if os.sep in program else program  # noqa: PTH118
    if shutil.which(given) is None:
        shown = program.encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"there is no program {shown!r}", "Check its name, or use --shell")
