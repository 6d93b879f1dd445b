"""Output as it comes in, in bounded memory.

Up to `keep` bytes stay as they are. Beyond that, half of `keep` from the beginning and half from
the end stay in memory, for the cause of a failure is nearly always in one of the two; and all of
it goes to a file, if there is a directory for it. A disk that is full is not the command's fault:
that is an `OutputNotWritable`, which ends the run and leaves the item without an outcome.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from io import FileIO
from pathlib import Path

from fanwise.errors import OutputNotWritable
from fanwise.private_files import make_folder
from fanwise.processes.mask import MaskedStream
from fanwise.processes.result import Capture


class Collector:
    """Collects the bytes of one stream. `hide`: what is masked in it, before anything else."""

    def __init__(
        self, name: str, keep: int, spill: Path | None, hide: Sequence[bytes] = ()
    ) -> None:
        self._masked = MaskedStream(hide)
        self._name = name
        self._keep = keep
        self._spill = spill
        self.size = 0
        """Bytes that came in so far, masked."""
        self._head = bytearray()
        self._tail = bytearray()
        self._file: FileIO | None = None
        self._path: Path | None = None

    def add(self, chunk: bytes) -> None:
        self._add(self._masked.feed(chunk))

    def _add(self, chunk: bytes) -> None:
        before = self.size
        self.size += len(chunk)
        if self.size <= self._keep:
            self._head += chunk
            return
        if before <= self._keep:
            self._overflow()
        if self._file is not None:
            self._write(chunk)
        room = self._keep // 2 - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        del self._tail[: max(0, len(self._tail) - self._tail_keep)]

    def capture(self) -> Capture:
        """The output; call it after `close`."""
        return Capture(
            data=self._data(),
            size=self.size,
            truncated=self.size > self._keep and self._path is None,
            path=None if self._path is None else str(self._path),
        )

    def close(self) -> None:
        self._add(self._masked.end())
        self._release()

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def discard(self) -> None:
        """Remove the file."""
        self._release()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    @property
    def _tail_keep(self) -> int:
        return self._keep - self._keep // 2

    def _data(self) -> bytes:
        left_out = self.size - len(self._head) - len(self._tail)
        marker = b"\n[... %d bytes left out ...]\n" % left_out if left_out else b""
        return b"".join((self._head, marker, self._tail))

    def _overflow(self) -> None:
        if self._spill is not None:
            self._open(self._spill)
            self._write(bytes(self._head))
        half = self._keep // 2
        self._tail = self._head[half:]
        del self._head[half:]

    def _open(self, spill: Path) -> None:
        try:
            make_folder(spill)
            fd, path = tempfile.mkstemp(dir=spill, prefix=f"{self._name}-", suffix=".out")
        except OSError as error:
            raise _unwritable(spill, error) from error
        self._file, self._path = os.fdopen(fd, "wb", buffering=0), Path(path)

    def _write(self, chunk: bytes) -> None:
        assert self._file is not None
        assert self._path is not None
        rest = memoryview(chunk)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise _unwritable(self._path, error) from error


def _unwritable(path: Path, error: OSError) -> OutputNotWritable:
    return OutputNotWritable(f"{path}, where a command's output goes", error.strerror or str(error))
