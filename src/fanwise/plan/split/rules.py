"""What a split has to keep to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import msgspec

from fanwise.errors import UsageError
from fanwise.plan.model.node import Mode

Sizes = Mapping[str, int]
"""The tokens of each file."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The mode, the limits of a leaf, and how deep the tree may be."""

    mode: Mode = "independent"
    max_files: int = 25
    max_tokens: int = 60_000
    min_files: int = 2
    """Smaller leaves are joined with others, where the limits allow it."""
    max_depth: int = 4
    """Of a leaf; the root has depth 0. The last level is as wide as it has to be."""

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
        return self

    def fits(self, files: int, tokens: int) -> bool:
        return files <= self.max_files and tokens <= self.max_tokens
