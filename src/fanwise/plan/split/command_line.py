"""`fanwise split`: a folder and options become a split."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from fanwise.errors import UsageError
from fanwise.plan.model.node import Split
from fanwise.plan.split import Listing, Rules, files_in, files_of, split
from fanwise.plan.split.files import past_commits


class SplitRequest(msgspec.Struct, frozen=True):
    """The options of the command, checked."""

    folder: Path
    rules: Rules
    files: Sequence[str] = ()
    """Patterns; a single `-`: stdin has the names."""
    parallel: int = 10
    goal: str = ""

    @staticmethod
    def of(folder: Path, given: Mapping[str, Any]) -> SplitRequest:
        named = {name: given[name] for name in Rules.__struct_fields__ if name in given}
        rest = {name: given[name] for name in ("files", "parallel", "goal") if name in given}
        return SplitRequest(folder, Rules(**named).check(), **rest)

    def split(self) -> tuple[Split, Listing]:
        listing = self._listing()
        found = split(
            listing.files, self.rules, goal=self.goal, max_parallel=self.parallel,
            commits=past_commits(self.folder), left_out=listing.left_out,
        )  # fmt: skip
        return found, listing

    def _listing(self) -> Listing:
        if [*self.files] == ["-"]:
            listing = files_of(_names(sys.stdin.read()), self.folder)
        else:
            listing = files_in(self.folder, [*self.files])
        if not listing.files:
            only = f" that match {', '.join(map(repr, self.files))}" if self.files else ""
            more = f"; {len(listing.left_out)} are left out" if listing.left_out else ""
            raise UsageError(
                f"{self.folder} has no files to split{only}{more}",
                "Give other patterns, as in: --files 'src/**/*.py'",
            )
        return listing


def _names(text: str) -> list[str]:
    """Names in lines, or with a NUL after each, since a name may have any other character."""
    if "\0" in text:
        return list(filter(None, text.split("\0")))
    return [line for line in (each.removesuffix("\r") for each in text.split("\n")) if line]
