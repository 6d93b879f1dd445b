"""The outcomes that earlier executions of a fan-out recorded, read as they are asked for.

Values may be large and many, so only keys and statuses are held. The rows are read a page at a
time, in the order in which they were recorded, and let go as soon as they are asked for.

Items usually come in that same order, so an item's index is also its place in it. Only when items
were added, removed or reordered is a dictionary needed to find a place; for a million items it
would be a quarter of all memory.
"""

from __future__ import annotations

from sys import intern
from typing import Any, cast

from fanwise.core.outcome import Attempt, Outcome, Status, Usage
from fanwise.errors import AttemptTimeout, CommandFailed, JournalDamaged, StepFailed
from fanwise.journal import port
from fanwise.journal.codec import Codec
from fanwise.journal.revive import revive_error

PAGE = 500


class RecordedOutcomes:
    """The recorded outcomes of one fan-out."""

    def __init__(
        self, journal: port.Journal, run_id: str, fan_out: int, codec: Codec, *, again: bool
    ) -> None:
        self._journal = journal
        self._run_id = run_id
        self._fan_out = fan_out
        self._codec = codec
        self._again = again
        self._statuses: list[port.ItemStatus]
        self._keys: list[str | None]
        """In the recorded order; None: already asked for. Set by `load`."""
        self._places: dict[str, int] | None = None
        """The places of keys that were not asked for yet; None: not needed so far."""
        self._page: dict[str, port.ItemRecord] = {}
        self._attempts: dict[str, list[port.AttemptRecord]] = {}

    def load(self) -> None:
        """Read which items there are. Call this in a thread: a million items take a second."""
        statuses = self._journal.statuses(self._fan_out)
        self._statuses = list(statuses.values())
        self._keys = list(statuses)

    def outcome(self, index: int, key: str) -> tuple[Outcome[Any] | None, bool]:
        """The recorded outcome, if the item ended; and whether it started without an end."""
        place = self._place_of(index, key)
        if place is None:
            return None, False
        self._keys[place] = None
        if not self._is_final(place):
            return None, self._statuses[place] == "started"
        if key not in self._page:
            self._read_page(key, place)
        return self._outcome(index, self._page.pop(key)), False

    def _is_final(self, place: int) -> bool:
        """Whether the recorded outcome is valid; if not, the item runs again."""
        status = self._statuses[place]
        return status == "done" or (status == "failed" and not self._again)

    def _place_of(self, index: int, key: str) -> int | None:
        keys = self._keys
        if index < len(keys) and keys[index] == key:
            return index
        if self._places is None:
            self._places = {each: place for place, each in enumerate(keys) if each is not None}
        return self._places.get(key)

    def won_race(self) -> list[Outcome[Any]]:
        """All outcomes of an earlier execution that had a success, the first success first."""
        if "done" not in self._statuses:
            return []
        rows = [row for row in self._journal.items(self._fan_out) if row.status != "started"]
        rows.sort(key=lambda row: (row.status != "done", row.ended_at or 0.0))
        return [self._outcome(row.index, row) for row in rows]

    def _read_page(self, key: str, place: int) -> None:
        """Read this item's row, and those of the items that are probably next."""
        keys = [key]
        for ahead in range(place + 1, min(place + PAGE, len(self._keys))):
            following = self._keys[ahead]
            if following is None or following in self._page or not self._is_final(ahead):
                continue
            keys.append(following)
        self._page.update({row.key: row for row in self._journal.items(self._fan_out, keys)})
        for attempt in self._journal.attempts(self._fan_out, keys):
            self._attempts.setdefault(attempt.key, []).append(attempt)

    def _outcome(self, index: int, row: port.ItemRecord) -> Outcome[Any]:
        rows = self._attempts.pop(row.key, None)
        value = None if row.value is None else self._value(row.key, row.value)
        error = None if row.error is None else revive_error(row.error)
        if value is not None and isinstance(error, CommandFailed | AttemptTimeout | StepFailed):
            error.result = value  # the recorded error has only an excerpt
        return Outcome(
            index,
            cast(Status, intern(row.status)),
            value,
            error,
            None if rows is None else _attempts(row, rows),
            None if row.key == str(index) else row.key,
            True,
            False,
            row.queued_s,
            row.ran_s,
            row.backoff_s or 0.0,  # most are 0: share one number instead of keeping a million
        )

    def _value(self, key: str, text: str) -> Any:
        try:
            return self._codec.decode(text)
        except Exception as error:
            row = f"the value of item {key!r}"
            raise JournalDamaged(self._journal.location, self._run_id, row, str(error)) from error


def _attempts(row: port.ItemRecord, rows: list[port.AttemptRecord]) -> tuple[Attempt, ...]:
    # An item with a single attempt has its times in its own row.
    single = not any(attempt.call is None for attempt in rows)
    own = [Attempt(row.queued_s, row.ran_s, row.backoff_s)] if single else []
    return (*own, *map(attempt_of, rows))


def attempt_of(row: port.AttemptRecord) -> Attempt:
    """The attempt of a recorded row."""
    return Attempt(
        row.queued_s,
        row.ran_s,
        row.backoff_s,
        None if row.error is None else revive_error(row.error),
        row.call,
        usage_of(row),
        row.first_token_s,
        tuple(row.caps.split(",")) if row.caps else (),
        row.lag_s or 0.0,
        row.in_flight or 0,
        row.worker,
    )


def usage_of(row: port.AttemptRecord) -> Usage | None:
    """What an attempt cost; None: unknown."""
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
