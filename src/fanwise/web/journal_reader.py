"""The journal as the view reads it: opened when it is there, and never on the event loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Concatenate, ParamSpec, TypeVar, cast

from fanwise.errors import JournalError
from fanwise.journal.open import journal_is_there, open_journal
from fanwise.journal.read_only import RefusesWrites
from fanwise.kernel.in_thread import in_thread

P = ParamSpec("P")
T = TypeVar("T")

LOOK_EVERY_S = 0.25
"""How often the journal is asked whether something changed, however many pages are open."""


class JournalReader:
    """One journal, which may not exist yet."""

    def __init__(self, location: str | None) -> None:
        self._location = location
        self._journal: RefusesWrites | None = None
        self._version = 0
        self._looked_at = 0.0

    async def read(
        self,
        function: Callable[Concatenate[RefusesWrites, P], T],
        *args: P.args,
        **options: P.kwargs,
    ) -> T | None:
        """Call the function with the journal, in a thread. None: there is no journal yet."""
        return await in_thread(lambda: self._read(function, *args, **options))

    async def version(self) -> int:
        """A number that changes with the journal; 0: there is none yet."""
        return await in_thread(self._current_version)

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def _read(
        self,
        function: Callable[Concatenate[RefusesWrites, P], T],
        *args: P.args,
        **options: P.kwargs,
    ) -> T | None:
        journal = self._open()
        return None if journal is None else function(journal, *args, **options)

    def _open(self) -> RefusesWrites | None:
        if self._journal is None and journal_is_there(self._location):
            self._journal = cast(RefusesWrites, open_journal(self._location, read_only=True))
        return self._journal

    def _current_version(self) -> int:
        now = time.monotonic()
        if now - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = now
            with suppress(JournalError):  # just being made, or its server is away for a moment
                journal = self._open()
                self._version = 0 if journal is None else journal.version()
        return self._version
