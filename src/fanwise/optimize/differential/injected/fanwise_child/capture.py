"""What a call prints, and what its subprocesses print: files in the place of stdout and stderr."""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys

_HEAD = 20_000
_DIGESTED = 4 << 20


class OutputCapture:
    """Takes the place of the two streams for the rest of this process."""

    def __init__(self) -> None:
        self._files = [_file(), _file()]
        for number, file in enumerate(self._files, start=1):
            os.dup2(file, number)
        sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115

    @property
    def size(self) -> int:
        """Bytes that were printed since the last `clear`."""
        return sum(os.fstat(file).st_size for file in self._files)

    def clear(self) -> None:
        """Forget what was printed so far."""
        self._flush()
        for file in self._files:
            os.ftruncate(file, 0)

    def read(self) -> tuple[str, str]:
        """What was printed, each with its head and, if there is more, its size and digest."""
        self._flush()
        out, err = (_told(file) for file in self._files)
        return out, err

    def _flush(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                continue  # replaced or closed by whoever was called


def _file() -> int:
    """An anonymous file that is appended to."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("printed")
        fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)
        return file
    import tempfile

    return os.dup(tempfile.TemporaryFile("ab+").fileno())


def _told(file: int) -> str:
    size = os.fstat(file).st_size
    head = os.pread(file, _HEAD, 0).decode("utf-8", "backslashreplace")
    if size <= _HEAD:
        return head
    whole = hashlib.sha256(os.pread(file, _DIGESTED, 0))
    return f"{head}… {size} bytes, {whole.hexdigest()[:16]}"
