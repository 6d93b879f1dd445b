"""Outputs that wait for their turn to be written to stdout.

If the first item takes an hour, the outputs of all others wait for it. The journal has them, but it
cannot be read by item; so what does not fit into memory waits in an unnamed temporary file.
"""

from __future__ import annotations

import tempfile
from typing import IO

import msgspec

from fanwise.core.outcome import Outcome
from fanwise.processes import Capture, CommandResult
from fanwise.view.text_file import cannot_write

MOST_IN_MEMORY = 64 << 20


class HeldOutput(msgspec.Struct, frozen=True, array_like=True):
    """The output of one item: bytes, or the name of the file that has them."""

    failed: bool
    stdout: bytes | str
    stderr: bytes | str


def held_output(outcome: Outcome[CommandResult]) -> HeldOutput:
    """The output of an outcome."""
    result = outcome.value or CommandResult(None)
    return HeldOutput(outcome.status == "failed", _content(result.stdout), _content(result.stderr))


def _content(capture: Capture) -> bytes | str:
    return capture.data if capture.path is None else capture.path


class HeldOutputs:
    """HeldOutputs by item index."""

    def __init__(self) -> None:
        self._held: dict[int, HeldOutput | tuple[int, int]] = {}
        self._size = 0
        self._file: IO[bytes] | None = None

    def __contains__(self, index: int) -> bool:
        return index in self._held

    def put(self, index: int, piece: HeldOutput) -> None:
        if self._size + _size(piece) > MOST_IN_MEMORY:
            try:
                self._held[index] = self._write(piece)
            except OSError as error:
                where = f"a temporary file in {tempfile.gettempdir()}"
                raise cannot_write(where, error) from error
        else:
            self._size += _size(piece)
            self._held[index] = piece

    def take(self, index: int) -> HeldOutput:
        """Remove and return it."""
        held = self._held.pop(index)
        if isinstance(held, HeldOutput):
            self._size -= _size(held)
            return held
        assert self._file is not None
        self._file.seek(held[0])
        return msgspec.msgpack.decode(self._file.read(held[1]), type=HeldOutput)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self, piece: HeldOutput) -> tuple[int, int]:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="fanwise-")  # noqa: SIM115 - see close
        data = msgspec.msgpack.encode(piece)
        place = self._file.seek(0, 2)
        self._file.write(data)
        self._file.flush()
        return place, len(data)


def _size(piece: HeldOutput) -> int:
    return len(piece.stdout) + len(piece.stderr)
