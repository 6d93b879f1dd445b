"""What somebody types next, as it is for one run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from fanwise.kernel.run import Run
from fanwise.kernel.scope import item_of


class Commands:
    """Of a run. One in memory has none, for nobody could go on with it; nor has a step of a
    workflow, for the run is the workflow's, and knows other options."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._any = run.journal is not None and item_of(run) is None

    def line(self, what: str, verb: str, *options: str) -> Iterator[str]:
        """Lines such as `  to continue: fanwise resume RUN`; none where there is no such run."""
        if self._any:
            given = self._run.given_journal
            where = () if given is None else ("--journal", os.fspath(given))
            yield f"  {what}: {shlex.join(['fanwise', verb, self._run.id, *where, *options])}"
