"""Contents of files in git, read by processes that stay: a new one for each costs more than most.

Threads take a free process and put it back; if there is none, they start one. So there are as many
as were ever at work at once, and nobody waits.
"""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Sequence

from fanwise.errors import GitFailed
from fanwise.workspaces.git import Git


class BlobReader:
    """Reads objects of one repository by their names, until it is closed."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._free: deque[subprocess.Popen[bytes]] = deque()

    def read(self, names: Sequence[str]) -> list[bytes]:
        """Return their contents, in order. `GitFailed` if one is missing."""
        if not names:
            return []
        try:
            process = self._free.pop()
        except IndexError:
            process = self._git.start("cat-file", "--batch")
        try:
            found = [_ask(process, name) for name in names]
        except BaseException:
            _end(process)
            raise
        self._free.append(process)
        return found

    def close(self) -> None:
        """End the processes."""
        while self._free:
            _end(self._free.pop())


def _ask(process: subprocess.Popen[bytes], name: str) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{name}\n".encode())
    process.stdin.flush()
    head = process.stdout.readline().split()
    if len(head) != 3:
        raise GitFailed("git cat-file", f"there is no object {name}")
    content = process.stdout.read(int(head[2]))
    process.stdout.read(1)  # the line break after it
    return content


def _end(process: subprocess.Popen[bytes]) -> None:
    """It ends by itself when there is nothing more to read; nobody else has its pipes."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()
