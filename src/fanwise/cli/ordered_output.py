"""Outputs of commands to stdout: in input order, each whole, as soon as the order allows.

An item that was cancelled or never ran has no output yet; what comes after it waits for a resume,
so that what the first execution and the resume write together is everything once, in order.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol

from fanwise.cli.fd_writer import FdWriter
from fanwise.cli.pieces import Piece, Pieces, piece_of
from fanwise.cli.position import Position
from fanwise.core.outcome import Outcome
from fanwise.errors import JournalError, OutputNotWritable
from fanwise.processes import CommandResult

READ_AT_ONCE = 1 << 20


class Screen(Protocol):
    """What else is drawn on the terminal, and has to make room."""

    def make_room(self, fd: int) -> None:
        """Something will be written to this descriptor."""

    def wrote(self, fd: int, data: bytes) -> None:
        """This was written to it."""


class OrderedOutput:
    """Writes what outcomes bring; `position` says where an earlier execution got to."""

    def __init__(
        self, out: FdWriter, err: FdWriter, position: Position, screen: Screen, *, to_failure: bool
    ) -> None:
        self._out = out
        self._err: FdWriter | None = err
        self._position = position
        self._screen = screen
        self._to_failure = to_failure
        self._waiting = Pieces()
        self._ended = False

    async def add(self, outcome: Outcome[CommandResult]) -> None:
        """Write it, and what has waited for it, or keep it until its turn."""
        if outcome.status not in ("done", "failed") or outcome.index < self._position.item:
            return
        self._waiting.put(outcome.index, piece_of(outcome))
        while not self._ended and self._position.item in self._waiting:
            await self._write(self._waiting.take(self._position.item))

    def close(self) -> None:
        """Let go of what still waits; the journal has it."""
        self._waiting.close()
        self._position.close()

    async def _write(self, piece: Piece) -> None:
        item, skip = self._position.item, self._position.offset
        if not skip:
            await self._write_stderr(piece.stderr)
        await self._copy(self._out, piece.stdout, skip, self._position)
        self._position.move(item + 1, 0)
        # With "halt on failure" a sequential run would have ended here.
        self._ended = piece.failed and self._to_failure

    async def _write_stderr(self, content: bytes | str) -> None:
        if self._err is not None:
            try:
                await self._copy(self._err, content, 0, None)
            except (OSError, OutputNotWritable):  # nobody reads it; the journal has it
                self._err = None

    async def _copy(
        self, to: FdWriter, content: bytes | str, skip: int, position: Position | None
    ) -> None:
        if isinstance(content, bytes):
            await self._put(to, content[skip:], position)
            return
        for chunk in _chunks(content, skip):
            await self._put(to, chunk, position)

    async def _put(self, to: FdWriter, data: bytes, position: Position | None) -> None:
        if data:
            self._screen.make_room(to.fd)
            await to.write(data, position)
            self._screen.wrote(to.fd, data)


def _chunks(path: str, skip: int) -> Iterator[bytes]:
    """The file of an output that was too long for the journal."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            while chunk := os.pread(fd, READ_AT_ONCE, skip):
                yield chunk
                skip += len(chunk)
        finally:
            os.close(fd)
    except OSError as error:
        raise JournalError(
            f"cannot read an output that was kept in {path}: {error.strerror}",
            "Put the file back, then resume",
        ) from error
