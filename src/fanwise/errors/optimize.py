"""What can go wrong with candidates for a faster program."""

from __future__ import annotations

from collections.abc import Iterable

from fanwise.errors.base import FanwiseError


class NotApplied(FanwiseError):
    """The winner was not written to the tree, or to a branch; nothing was changed.

    `files` are those that are in its way.
    """

    def __init__(self, message: str, next_step: str = "", files: Iterable[str] = ()) -> None:
        self.files = list(files)
        super().__init__(message, next_step or "The patch file has it: see `git apply --3way`")
