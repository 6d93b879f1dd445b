"""Outputs of commands to stdout: in input order, each whole, as soon as the order allows.

An item that was cancelled or never ran has no output yet; what comes after it waits for a resume,
so that what the first execution and the resume write together is everything once, in order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from fanwise.core.outcome import Outcome
from fanwise.errors import JournalError, OutputNotWritable
from fanwise.lines.output.fd_writer import FdWriter
from fanwise.lines.output.held_outputs import HeldOutput, HeldOutputs, held_output
from fanwise.lines.output.position import Position
from fanwise.processes import CommandResult
from fanwise.specs.system import Screen

READ_AT_ONCE = 1 << 20


class OrderedOutput:
    """Writes the outputs of outcomes; `position`: how far an earlier execution got."""

    def __init__(
        self,
        out: FdWriter,
        err: FdWriter,
        position: Position,
        screen: Screen,
        *,
        to_failure: bool,
        tag: Callable[[int], bytes] | None = None,
    ) -> None:
        self._out = out
        self._err: FdWriter | None = err
        self._position = position
        self._screen = screen
        self._to_failure = to_failure
        self._tag = tag
        """The prefix of each line of an item's output."""
        self._waiting = HeldOutputs()
        self._ended = False

    async def add(self, outcome: Outcome[CommandResult]) -> None:
        """Write its output and what has waited for it, or keep it until its turn."""
        if outcome.status not in ("done", "failed") or outcome.index < self._position.item:
            return
        self._waiting.put(outcome.index, held_output(outcome))
        while not self._ended and self._position.item in self._waiting:
            await self._write(self._waiting.take(self._position.item))

    def close(self) -> None:
        """Drop what is still waiting; the journal has it."""
        self._waiting.close()
        self._position.close()

    async def _write(self, piece: HeldOutput) -> None:
        item, skip = self._position.item, self._position.offset
        tag = b"" if self._tag is None else self._tag(item)
        if not skip:
            await self._write_stderr(piece.stderr, tag)
        await self._copy(self._out, piece.stdout, tag, skip, self._position)
        self._position.move(item + 1, 0)
        # With `--halt failure` a sequential run would have ended here.
        self._ended = piece.failed and self._to_failure

    async def _write_stderr(self, content: bytes | str, tag: bytes) -> None:
        if self._err is not None:
            try:
                await self._copy(self._err, content, tag, 0, None)
            except (OSError, OutputNotWritable):  # nobody reads it; the journal has it
                self._err = None

    async def _copy(
        self, to: FdWriter, content: bytes | str, tag: bytes, skip: int, position: Position | None
    ) -> None:
        for chunk in _tagged(_chunks(content, 0), tag, skip) if tag else _chunks(content, skip):
            await self._put(to, chunk, position)

    async def _put(self, to: FdWriter, data: bytes, position: Position | None) -> None:
        if data:
            self._screen.make_room(to.fd)
            await to.write(data, position)
            self._screen.wrote(to.fd, data)


def _tagged(chunks: Iterator[bytes], tag: bytes, skip: int) -> Iterator[bytes]:
    """Each line with the tag before it, from the first byte that was not written yet."""
    begins = True
    for chunk in filter(None, chunks):
        text = chunk[:-1].replace(b"\n", b"\n" + tag) + chunk[-1:]
        text = tag + text if begins else text
        begins = chunk.endswith(b"\n")
        yield text[skip:]
        skip = max(0, skip - len(text))


def _chunks(path: str | bytes, skip: int) -> Iterator[bytes]:
    """The output in pieces; a path if it was too long for the journal."""
    if isinstance(path, bytes):
        yield path[skip:]
        return
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
            f"cannot read the output in {path}: {error.strerror}",
            "Put the file back, then resume",
        ) from error
