"""What became of an item.

Outcomes are made by the hundred thousand, so they are msgspec structs (half the size of a
dataclass). Most items have a single attempt that worked. Its seconds are stored in the outcome
itself, as in the journal, and the `Attempt` is made when somebody asks for it. That saves a third
of the memory, and an outcome that holds only plain data costs the garbage collector nothing.

`gc=False` is only for structs of plain data: an attempt may hold an error, whose traceback holds
everything that was going on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, Generic, Literal, Self, TypeVar, overload

import msgspec

from fanwise.core.notebook import html_table
from fanwise.core.stats import Stats
from fanwise.errors import NotOk, UsageError, one_line

T = TypeVar("T")
Status = Literal["done", "failed", "cancelled", "skipped"]


class Usage(msgspec.Struct, frozen=True, gc=False):
    """What an attempt spent, or the most it may spend: requests, tokens, dollars."""

    requests: float = 1
    tokens: float = 0
    usd: float | None = 0.0
    """None: the price is unknown. It never counts as 0; a budget of dollars refuses it."""
    input_tokens: int | None = None
    """Tokens that were sent; None: unknown. Budgets and rates count `tokens`."""
    output_tokens: int | None = None
    """Tokens that were generated; None: unknown."""
    cached_tokens: int | None = None
    """Input tokens that came from the provider's cache; None: unknown."""

    def __post_init__(self) -> None:
        # A negative amount would raise a budget, and NaN would make it wait for ever.
        usd = 0 if self.usd is None else self.usd
        try:
            fine = 0 <= self.requests < inf and 0 <= self.tokens < inf and 0 <= usd < inf
        except TypeError:
            fine = False
        if not fine:
            given = f"requests={self.requests!r}, tokens={self.tokens!r}, usd={self.usd!r}"
            step = "Give numbers of at least 0, and usd=None if the price is unknown"
            raise UsageError(f"a usage cannot be {given}", step)


class Attempt(msgspec.Struct, frozen=True):
    """One try at an item, or one try of a `call` inside it.

    `queued_s`: the wait for permits, rates and the journal since the item was pulled. Items are
    pulled lazily: one that would wait only for the fan-out's own cap is not pulled yet. `ran_s`:
    the work and nothing else. `backoff_s`: the pause *before* this attempt, without a permit.
    `first_token_s`: how long a model took to start its answer, even if the answer broke off.
    """

    queued_s: float
    ran_s: float
    backoff_s: float = 0.0
    error: BaseException | None = None
    call: str | None = None
    usage: Usage | None = None
    """What a call cost; None: unknown."""
    first_token_s: float | None = None
    caps: tuple[str, ...] = ()
    """The caps that a call held while it ran."""
    lag_s: float = 0.0
    """How late this process was when a call began and ended: so much of `ran_s` may be its own."""
    in_flight: int = 0
    """Of a call with a lag: how many calls this process had in flight."""
    worker: str | None = None
    """The worker that made it, as NODE/PROCESS; None: the process of the fan-out."""


class Outcome(msgspec.Struct, Generic[T], frozen=True, gc=True):
    """What became of one item: done, failed, cancelled or skipped."""

    index: int
    status: Status
    value: T | None = None
    error: BaseException | None = None
    kept_attempts: tuple[Attempt, ...] | None = ()
    """What `attempts` gives; None: a single attempt that is made from the seconds below."""
    given_key: str | None = None
    recorded: bool = False
    """Read from the journal: it was not run again."""
    may_have_run_twice: bool = False
    """An earlier process started it and recorded no end."""
    queued_s: float = 0.0
    """Seconds spent waiting for permits, rates and the journal."""
    ran_s: float = 0.0
    """Seconds of work, over all attempts."""
    backoff_s: float = 0.0
    """Seconds between attempts, during which it held no permit."""

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every attempt at the item, then those of the calls inside it."""
        if self.kept_attempts is None:
            return (Attempt(self.queued_s, self.ran_s, self.backoff_s),)
        return self.kept_attempts

    @property
    def key(self) -> str:
        """The item's identity across resumes; its index where none was given."""
        return str(self.index) if self.given_key is None else self.given_key

    @property
    def ok(self) -> bool:
        """Whether it is done."""
        return self.status == "done"

    def unwrap(self) -> T:
        """The value; if the item is not done, its error is raised."""
        if self.error is not None:
            raise self.error
        if self.status != "done":
            raise LookupError(f"item {self.index} was {self.status}: it has no value")
        return self.value  # type: ignore[return-value]


class Outcomes(Sequence[Outcome[T]], Generic[T]):
    """The outcomes of a fan-out, in item order: a sequence with a summary."""

    def __init__(
        self,
        outcomes: Sequence[Outcome[T]],
        stats: Stats,
        *,
        halted_by: Outcome[T] | None = None,
        halt_reason: str | None = None,
        winner: Outcome[T] | None = None,
        discarded: Sequence[Outcome[T]] = (),
        one_wins: bool = False,
        run_id: str | None = None,
    ) -> None:
        self._outcomes = outcomes
        self._one_wins = one_wins
        self.stats = stats
        self.run_id = run_id
        """The durable run that recorded them; None: they are in memory only."""
        self.halted_by = halted_by
        """The outcome that halted the fan-out, if one did."""
        self.halt_reason = halt_reason
        """Why nothing more was started, if not because of an outcome, such as "interrupted"."""
        self.winner = winner
        """With `Halt.on_success`: the success that won."""
        self.discarded = discarded
        """Items beyond the halt that had started; a sequential run would not have run them."""

    @overload
    def __getitem__(self, index: int) -> Outcome[T]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Outcome[T]]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._outcomes[index]

    def __len__(self) -> int:
        return len(self._outcomes)

    def __iter__(self) -> Iterator[Outcome[T]]:
        return iter(self._outcomes)

    def __repr__(self) -> str:
        # Must be quick: `asyncio.run` calls the repr of its task's result.
        counts = Counter(outcome.status for outcome in self._outcomes)
        inside = ", ".join(f"{n} {status}" for status, n in counts.items())
        return f"<Outcomes: {inside or 'none'}>"

    def _repr_html_(self) -> str:
        rows = (
            (each.key, each.status, each.value if each.ok else each.error, f"{each.ran_s:.2f}")
            for each in self._outcomes
        )
        names = ("key", "status", "value or error", "seconds")
        return html_table(repr(self)[1:-1], names, rows, len(self))

    @property
    def ok(self) -> bool:
        """Whether all items are done or, with `Halt.on_success`, whether one succeeded."""
        if self.halt_reason is not None:
            return False
        if self._one_wins:
            return self.winner is not None
        return all(outcome.status == "done" for outcome in self._outcomes)

    @property
    def failures(self) -> list[Outcome[T]]:
        """The outcomes that failed, in item order."""
        return [outcome for outcome in self._outcomes if outcome.status == "failed"]

    @property
    def may_have_run_twice(self) -> list[Outcome[T]]:
        """Items that an earlier process started without recording an end; they ran again here."""
        return [outcome for outcome in self._outcomes if outcome.may_have_run_twice]

    def values(self) -> list[T]:
        """All values in item order; raises an `ExceptionGroup` of all errors if any item failed."""
        errors = [o.error for o in self._outcomes if o.error is not None]
        if errors:
            what = f"{len(errors)} of {len(self._outcomes)} items failed"
            raise BaseExceptionGroup(what, errors)
        return [outcome.unwrap() for outcome in self._outcomes]

    def require(self) -> Self:
        """Return the outcomes, or raise `NotOk` if they are not `ok`."""
        if self.ok:
            return self
        first = next((o for o in self._outcomes if o.error is not None), None)
        raise NotOk(self._problem(first), self) from (None if first is None else first.error)

    def _problem(self, first: Outcome[T] | None) -> str:
        failed = len(self.failures)
        parts = [f"{failed} of {len(self._outcomes)} items failed"] if failed else []
        parts += ["none succeeded"] if self._one_wins and not failed else []
        parts += [f"halted: {self.halt_reason}"] if self.halt_reason is not None else []
        parts += [repr(self)] if not parts else []
        if first is not None and first.error is not None:
            parts.append(f"the first: {first.key}: {one_line(first.error)}")
        return "; ".join(parts)
