"""What a split has to keep to."""

from __future__ import annotations

from typing import get_args

import msgspec

from fanwise.errors import UsageError
from fanwise.plan.model.node import Mode


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The mode, the limits of a leaf, and how deep the tree may be."""

    mode: Mode = "independent"
    max_files: int = 25
    max_tokens: int = 60_000
    min_files: int = 2
    """Smaller leaves are joined with others, where the limits allow it."""
    max_depth: int = 4
    """Of a leaf; the root has depth 0. The last level is as wide as it has to be."""
    spine: bool = False
    """Hubs are leaves of their own, which all others come after."""
    history: bool = False
    """Files that changed together in past commits belong together, too."""
    stretch: float = 1.05
    """In `dependency` mode: how many times as long as it must be all of it may take, because leaves
    wait for one another. Less: more and smaller leaves."""

    def check(self) -> Rules:
        """Itself. `UsageError` if no split can keep to it."""
        if self.mode not in get_args(Mode):
            raise UsageError(
                f"there is no mode {self.mode!r}", f"Choose one of {', '.join(get_args(Mode))}"
            )
        for name in ("max_files", "max_tokens", "min_files", "max_depth"):
            value = getattr(self, name)
            if value < 1:
                raise UsageError(f"{name} is {value}", f"Give {name} a number of at least 1")
        if self.min_files > self.max_files:
            raise UsageError(
                f"min_files ({self.min_files}) is more than max_files ({self.max_files})",
                "Lower min_files or raise max_files",
            )
        if not 1 <= self.stretch < float("inf"):
            raise UsageError(f"stretch is {self.stretch:g}", "Give stretch a number of at least 1")
        return self

    def fits(self, files: int, tokens: int) -> bool:
        """Whether so much may be one leaf."""
        return files <= self.max_files and tokens <= self.max_tokens
