"""How much of the output has been written, recorded so that it survives a SIGKILL.

Outputs go to stdout only after their outcomes are in the journal; after each write to stdout the
new position goes into a small file, with one `pwrite`. The page cache survives the process, so
after `kill -9` the file is behind by at most the one write between the two system calls. Writing
it to the journal instead would cost a disk flush for each piece of output and be no more exact:
no two files can be written at one instant. After a power failure, or a kill between the two
calls, a piece of output may come twice; it is never left out.

The file names its run as the journal knows it, for the directory may outlive its journal: what a
run of the same id in a journal that is gone had written is nothing to the run of today.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fanwise.journal.port import RunRecord
from fanwise.private_files import make_folder, open_file
from fanwise.view.text_file import cannot_write

libc = ctypes.PyDLL(None, use_errno=True)
"""System calls that keep the interpreter lock."""
libc.write.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
libc.write.restype = ctypes.c_ssize_t
libc.pwrite.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64]
libc.pwrite.restype = ctypes.c_ssize_t

_FORM = struct.Struct("<dQQQ")
"""When the run was created, its number, the item, the offset."""


class Position:
    """The next item to write, and how many bytes of it are written."""

    def __init__(self, path: Path, run: RunRecord) -> None:
        self._run = (run.created_at, run.number)
        self._path = path
        try:
            make_folder(path.parent)
            self._fd = open_file(path)
        except OSError as error:
            raise cannot_write(str(path), error) from error
        found = os.pread(self._fd, _FORM.size + 1, 0)
        if len(found) == _FORM.size and _FORM.unpack(found)[:2] == self._run:
            _, _, self.item, self.offset = _FORM.unpack(found)
        else:
            os.ftruncate(self._fd, 0)
            self.move(0, 0)

    def move(self, item: int, offset: int) -> None:
        """Record the position; call it right after the write."""
        self.item, self.offset = item, offset
        try:
            os.pwrite(self._fd, _FORM.pack(*self._run, item, offset), 0)
        except OSError as error:
            raise cannot_write(str(self._path), error) from error

    def noting(self, offset: int) -> Callable[[], object]:
        """A function that records this offset within the item."""
        note = _FORM.pack(*self._run, self.item, offset)
        return partial(libc.pwrite, self._fd, note, len(note), 0)

    def noted(self, offset: int, *, correct: bool) -> None:
        """That function was called; `correct`: less was written than it recorded."""
        if correct:
            self.move(self.item, offset)
        self.offset = offset

    def close(self) -> None:
        os.close(self._fd)
