"""What can go wrong with candidates for a faster program."""

from __future__ import annotations

from collections.abc import Iterable

from fanwise.errors.base import FanwiseError


class BenchFailed(FanwiseError):
    """The original cannot be measured: its benchmark fails, or gives no figures."""

    def __init__(self, what: str, why: str) -> None:
        self.what = what
        self.why = why
        super().__init__(
            f"{what} cannot be timed on the original: {why}",
            "Run it by hand in a clean checkout; see `bench:` in the guide to optimize",
        )


class NotApplied(FanwiseError):
    """The winner was not written to the tree, or to a branch; nothing was changed.

    `files` are those that are in its way.
    """

    def __init__(self, message: str, next_step: str = "", files: Iterable[str] = ()) -> None:
        self.files = list(files)
        super().__init__(message, next_step or "The patch file has it: see `git apply --3way`")
