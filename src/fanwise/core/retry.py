"""Retries: how often, after which errors, and after how long.

Backoff is exponential with full jitter: a random time between zero and a ceiling. With equal
pauses, requests that collided would collide again. A `retry_after` of the error takes precedence.
If it is longer than a day, nobody waits for it and the item fails with that error.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from fanwise.core.caps import whole
from fanwise.core.rate import LONGEST_WAIT_S
from fanwise.errors import BadCap, BadPredicate, BudgetExceeded, JournalError, UsageError

OnError = Callable[[BaseException], bool]


class Retry(msgspec.Struct, frozen=True):
    """`Retry(3)`: up to three more attempts after a failure."""

    times: int
    base_s: float = 0.5
    most_s: float = 60.0
    on: type[BaseException] | tuple[type[BaseException], ...] | OnError | None = None
    """Which errors: types, or a function. Default: all but usage, budget and journal errors."""

    def __post_init__(self) -> None:
        whole("times of Retry", self.times, least=0)
        for name in ("base_s", "most_s"):
            given = getattr(self, name)
            if not isinstance(given, int | float) or not given >= 0:
                raise BadCap(f"{name} of Retry", given, "a number of seconds")

        kinds = self.on if isinstance(self.on, tuple) else (self.on,)
        if not all(kind is None or callable(kind) for kind in kinds):
            raise UsageError(f"on of Retry is {self.on!r}", "Give error types or a function")

    @staticmethod
    def none() -> Retry:
        """One attempt only."""
        return Retry(0)

    def wants(self, error: BaseException, attempts: int) -> bool:
        """Whether to try again after this many attempts and this error."""
        if attempts > self.times or not isinstance(error, Exception):
            return False
        if (_asked_pause(error) or 0.0) > LONGEST_WAIT_S:
            return False
        if self.on is None:
            return not isinstance(error, UsageError | BudgetExceeded | JournalError)
        if isinstance(self.on, type | tuple):
            return isinstance(error, self.on)
        return self._ask(self.on, error, attempts)

    def _ask(self, on: OnError, error: BaseException, attempts: int) -> bool:
        try:
            answer = on(error)
        except Exception as problem:
            raise BadPredicate("Retry's `on`", attempts, "raised", "attempt") from problem
        if not isinstance(answer, bool):  # a coroutine is truthy, and would retry forever
            kind = type(answer).__name__
            raise BadPredicate("Retry's `on`", attempts, f"gave {kind}, not a bool,", "attempt")
        return answer

    def delay(self, error: BaseException, attempts: int, chance: float) -> float:
        """Seconds to wait; `chance` is a random number in [0, 1)."""
        if (asked := _asked_pause(error)) is not None:
            return asked
        # Without the limit of 63, a float would overflow.
        return chance * min(self.most_s, self.base_s * 2.0 ** min(attempts - 1, 63))


def _asked_pause(error: BaseException) -> float | None:
    """The `retry_after` of an error; None: it has none, or none that makes sense."""
    asked = getattr(error, "retry_after", None)
    return float(asked) if isinstance(asked, int | float) and asked >= 0 else None


RetryLike = Retry | int


def as_retry(given: RetryLike, on: OnError | None = None) -> Retry:
    """Accept a `Retry` or a number of extra attempts. `on`: the errors that a number retries."""
    if isinstance(given, Retry):
        return given
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise UsageError(f"retry is {given!r}", "Give Retry(3), or 3")
    return Retry(given, on=on)
