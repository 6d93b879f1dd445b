"""What a map does, as data: checked before anything is written, and kept for a resume."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import stat
from collections.abc import Callable, Mapping
from typing import Any, Self

import msgspec

from fanwise.core.caps import whole
from fanwise.core.retry import Retry
from fanwise.errors import UsageError
from fanwise.lines.spec.command_template import CommandTemplate, placeholders
from fanwise.lines.spec.halt_rule import HaltRule
from fanwise.processes import Command

KEEP = 1 << 18
"""Bytes of an output that go into the journal; longer outputs go to a file."""


class LineItem(msgspec.Struct, frozen=True, gc=False):
    """One item: a line, or several with the separator between them, if commands get several."""

    index: int
    data: bytes


class MapSpec(msgspec.Struct, frozen=True):
    """The command and the options. Commands run in the environment of whoever executes it."""

    argv: list[str]
    cwd: str
    shell: bool = False
    cap: int = 10
    halt: str = "never"
    """See `HaltRule.parse`."""
    retry: int = 0
    timeout: float | None = None
    key: bool = False
    null: bool = False
    lines: int = 1
    """How many lines each command gets; the last one may get fewer."""
    tag: bool = False
    """Prefix each line of output with its input line."""
    joblog: str | None = None
    """The file that gets a row for each command that has ended."""
    on: dict[str, Any] | None = None
    """Where its commands run, as in the file; None: in this process."""

    def check(self) -> Self:
        """The spec itself. `UsageError` if it could not work with any line."""
        whole("--cap", self.cap)
        whole("-n", self.lines)
        whole("--retry", self.retry, least=0)
        HaltRule.parse(self.halt)
        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            raise UsageError(f"--timeout is {self.timeout:g}", "Give seconds, more than 0")
        self.commands()(LineItem(0, b"line"), 1)
        if self.joblog is not None:
            _check_writable(self.joblog)
        if not self.shell:
            _check_program(self.argv[0], self.cwd)
        return self

    def commands(self, spill: str | None = None) -> Callable[[LineItem, int | str], Command]:
        """A function that makes the command for a line, in a slot (see `{%}`)."""
        template = CommandTemplate(self.argv, shell=self.shell, lines=self.lines)

        def command(line: LineItem, slot: int | str) -> Command:
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
        """The retry of the fan-out."""
        return Retry(self.retry)

    @property
    def separator(self) -> bytes:
        """What ends a line."""
        return b"\0" if self.null else b"\n"

    @property
    def title(self) -> str:
        """The command as one would type it."""
        text = " ".join(self.argv) if self.shell else shlex.join(self.argv)
        return text.encode("utf-8", "backslashreplace").decode()[:200]

    def to_json(self) -> dict[str, object]:
        """Plain data for the journal."""
        return msgspec.structs.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """From what `to_json` returned."""
        return msgspec.convert(data, cls)


def _check_writable(joblog: str) -> None:
    """A job log that cannot be written must not leave a run that never began."""
    folder = os.path.dirname(joblog) or "."  # noqa: PTH120
    problem = 0
    if os.path.isdir(joblog):  # noqa: PTH112
        problem = errno.EISDIR
    elif not os.path.isdir(folder):  # noqa: PTH112
        problem = errno.ENOENT
    elif not os.access(joblog if os.path.exists(joblog) else folder, os.W_OK):  # noqa: PTH110
        problem = errno.EACCES
    if problem:
        raise UsageError(f"cannot write the job log {joblog}: {os.strerror(problem)}")


def _check_program(program: str, cwd: str) -> None:
    """A typo in the program's name must not become ten thousand failures."""
    if placeholders(program):
        return
    given = os.path.join(cwd, program) if os.sep in program else program  # noqa: PTH118
    if shutil.which(given) is None:
        shown = program.encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"there is no program {shown!r}", "Check its name, or use --shell")


STDIN = "-"


def open_input(path: str = STDIN) -> int:
    """A descriptor to read lines from, opened before a run is made."""
    try:
        fd = 0 if path == STDIN else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if stat.S_ISDIR(os.fstat(fd).st_mode):  # a directory can be opened, but not read
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        name = "stdin" if path == STDIN else path
        raise UsageError(f"cannot read {name}: {error.strerror}", _next(error)) from error
    return fd


def _next(error: OSError) -> str:
    return (
        "Pass the names of its files as lines, with ls or find"
        if error.errno == errno.EISDIR
        else ""
    )
