"""What earlier executions recorded of a fan-out, read as it is asked for.

Values may be large and many, so only the statuses are held; the rows come a page at a time, in
the order in which they were written, which is the order in which they are asked for unless the
items were reordered. What was asked for is let go.
"""

from __future__ import annotations

from typing import Any, cast

from fanwise.core.outcome import Attempt, Outcome, Status, Usage
from fanwise.errors import AttemptTimeout, CommandFailed, StepFailed
from fanwise.journal import port
from fanwise.journal.codec import Codec
from fanwise.journal.revive import revive_error

PAGE = 500


class Past:
    """The recorded outcomes of one fan-out."""

    def __init__(self, journal: port.Journal, fan_out: int, codec: Codec, *, again: bool) -> None:
        self._journal = journal
        self._fan_out = fan_out
        self._codec = codec
        self._again = again
        self._statuses = journal.statuses(fan_out)
        self._order = list(self._statuses)
        self._place = {key: place for place, key in enumerate(self._order)}
        self._page: dict[str, port.ItemRecord] = {}
        self._attempts: dict[str, list[port.AttemptRecord]] = {}

    def __bool__(self) -> bool:
        return bool(self._statuses)

    def outcome(self, index: int, key: str) -> tuple[Outcome[Any] | None, bool]:
        """The outcome on disk, if it ended; and whether it was started without an end."""
        status = self._statuses.get(key)
        if status not in ("done", "failed"):
            return None, status == "started"
        if status == "failed" and self._again:
            return None, False
        if key not in self._page:
            self._turn_to(key)
        return self._outcome(index, self._page.pop(key)), False

    def won_race(self) -> list[Outcome[Any]]:
        """If an earlier execution had a success: all that it recorded, the first success first."""
        if "done" not in self._statuses.values():
            return []
        rows = [row for row in self._journal.items(self._fan_out) if row.status != "started"]
        rows.sort(key=lambda row: (row.status != "done", row.ended_at or 0.0))
        return [self._outcome(row.index, row) for row in rows]

    def _turn_to(self, key: str) -> None:
        place = self._place[key]
        keys = self._order[place : place + PAGE]
        self._page.update({row.key: row for row in self._journal.items(self._fan_out, keys)})
        for attempt in self._journal.attempts(self._fan_out, keys):
            self._attempts.setdefault(attempt.key, []).append(attempt)

    def _outcome(self, index: int, row: port.ItemRecord) -> Outcome[Any]:
        rows = self._attempts.pop(row.key, [])
        # An item with a single attempt has its times in its own row.
        single = not any(attempt.call is None for attempt in rows)
        own = [Attempt(row.queued_s, row.ran_s, row.backoff_s)] if single else []
        value = None if row.value is None else self._codec.decode(row.value)
        error = None if row.error is None else revive_error(row.error)
        if value is not None and isinstance(error, CommandFailed | AttemptTimeout | StepFailed):
            error.result = value  # with the error itself only an excerpt is recorded
        return Outcome(
            index,
            cast(Status, row.status),
            value,
            error,
            (*own, *(attempt_of(attempt) for attempt in rows)),
            None if row.key == str(index) else row.key,
            recorded=True,
        )


def attempt_of(row: port.AttemptRecord) -> Attempt:
    """An attempt as it was when it was recorded."""
    return Attempt(
        row.queued_s,
        row.ran_s,
        row.backoff_s,
        None if row.error is None else revive_error(row.error),
        row.call,
        usage_of(row),
        row.first_token_s,
        tuple(row.caps.split(",")) if row.caps else (),
    )


def usage_of(row: port.AttemptRecord) -> Usage | None:
    """What an attempt cost; None: nobody knows."""
    if row.requests is None:
        return None
    return Usage(
        row.requests,
        row.tokens or 0,
        row.usd,
        row.input_tokens,
        row.output_tokens,
        row.cached_tokens,
    )
