"""Errors about items, caps, budgets and time-outs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from fanwise.errors.base import FanwiseError, RecordedError, UsageError


class BadCap(UsageError):
    """A cap, rate or budget that is not a positive number."""

    def __init__(self, name: str, given: object, wanted: str = "a whole number of at least 1"):
        self.name = name
        self.given = given
        super().__init__(f"{name} is {given!r}", f"Give {wanted}")


class UnknownCap(UsageError):
    """`needs` names a cap that was not declared."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = sorted(known)
        close = get_close_matches(name, self.known, n=1)
        if close:
            step = f"Did you mean {close[0]!r}?"
        elif self.known:
            step = f"Known caps: {', '.join(self.known)}"
        else:
            step = f"No caps were declared: pass caps=Caps({name}=…)"
        super().__init__(f"unknown cap {name!r}", step)


class ImpossibleNeeds(UsageError):
    """An item needs more of a cap than exists, so it would wait forever."""

    def __init__(self, name: str, units: int, limit: int) -> None:
        self.name = name
        self.units = units
        self.limit = limit
        super().__init__(
            f"an item needs {units} of cap {name!r}, which has only {limit}",
            "Raise the cap or lower the need",
        )


class NestedCap(UsageError):
    """An item waits for a cap that it already holds, or takes two caps in opposite orders."""

    def __init__(self, name: str, held: Iterable[str]) -> None:
        self.name = name
        self.held = sorted(held)
        if name in self.held:
            message = f"cap {name!r} is needed inside an item that already holds {name!r}"
        else:
            message = (
                f"cap {name!r} is needed while holding {', '.join(map(repr, self.held))}, "
                "and elsewhere they are taken in the opposite order"
            )
        super().__init__(
            f"{message}: this can deadlock",
            "Let only the innermost work need the cap, or use a separate cap for each level",
        )


class DuplicateKey(UsageError):
    """Two items of one fan-out have the same key."""

    def __init__(self, key: str, index: int) -> None:
        self.key = key
        self.index = index
        super().__init__(
            f"item {index} has the same key as an earlier item: {key!r}",
            "Pass a key= function that returns a different key for each item",
        )


class DuplicateName(UsageError):
    """Two fan-outs of one run have the same name, so resume could not tell them apart."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"this run already has a fan-out at {path!r}", "Give each fan-out its own name"
        )


class BadPredicate(UsageError):
    """A predicate or another function of the caller raised, or returned the wrong type."""

    def __init__(self, what: str, index: int, problem: str, of: str = "item") -> None:
        self.what = what
        self.index = index
        step = "; its error is the cause of this one" if problem == "raised" else ""
        super().__init__(f"{what} {problem} at {of} {index}", f"Fix the function{step}")


class BadVerdict(UsageError):
    """A requirement did not return a verdict, so it cannot count as passed."""

    def __init__(self, requirement: str, answer: object, wanted: str) -> None:
        self.requirement = requirement
        self.answer = answer
        super().__init__(f"the requirement {requirement!r} returned {answer!r}", f"Return {wanted}")


class NotStorable(UsageError):
    """A value that the codec cannot store."""

    def __init__(self, what: str, type_name: str, problem: str = "") -> None:
        self.what = what
        self.type_name = type_name
        detail = f" ({problem})" if problem else ""
        super().__init__(
            f"{what} is a {type_name}, which cannot be stored as JSON{detail}",
            "Return plain data, or pass a codec to open_run",
        )


class ItemsError(FanwiseError):
    """The iterable of items raised. Items pulled before that ran to their end."""

    def __init__(self, pulled: int, outcomes: Any) -> None:
        self.pulled = pulled
        self.outcomes = outcomes
        super().__init__(
            f"the iterable of items raised after {pulled} items",
            "Its error is the cause of this one; .outcomes has the outcomes of the items before",
        )


class NotOk(FanwiseError):
    """`require()` was called on a result that is not ok. `result` is that result."""

    def __init__(self, message: str, result: Any) -> None:
        self.run_id: str | None = result.run_id
        self._result = result  # no field for the journal: it may be large
        step = "See `failures`"
        if self.run_id is not None:
            step += f", or run: fanwise show {self.run_id}"
        super().__init__(message, step)

    @property
    def result(self) -> Any:
        return self._result


class SamplingFailed(NotOk):
    """No sample is valid, or there is none at all; then `result` is None.

    `reasons`: what was wrong with the best sample, or the errors that ended the chains.
    """

    def __init__(self, message: str, reasons: Sequence[str], result: Any = None) -> None:
        self.reasons = list(reasons)
        self._result = result
        self.run_id = None if result is None else result.run_id
        step = "Loosen a requirement, or raise loop_budget" if result is not None else ""
        FanwiseError.__init__(self, message, step)

    @property
    def errors(self) -> tuple[BaseException, ...]:
        """What ended chains."""
        cause = self.__cause__
        if isinstance(cause, BaseExceptionGroup):
            return cause.exceptions
        return () if cause is None else (cause,)


class AttemptTimeout(FanwiseError, TimeoutError):
    """An attempt took longer than its time-out."""

    def __init__(self, seconds: float, result: Any = None) -> None:
        self.seconds = seconds
        self.result = result
        """What a command had printed until then."""
        super().__init__(f"timed out after {seconds:g} s")


class DeadlinePassed(FanwiseError, TimeoutError):
    """The deadline passed before everything was done; what was in flight was cancelled."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        super().__init__(f"the deadline of {deadline:g} s has passed", "Allow more time")


class RateLimited(FanwiseError):
    """The server said "too many requests". Adaptive caps shrink on it."""

    def __init__(self, message: str = "rate limited", retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        step = "" if retry_after is None else f"Retry after {retry_after:g} s"
        super().__init__(message, step)


class BudgetExceeded(FanwiseError):
    """The budget does not allow the next call, so it was not made."""

    def __init__(self, what: str, limit: float, spent: float, wanted: float) -> None:
        self.what = what
        self.limit = limit
        self.spent = spent
        self.wanted = wanted
        super().__init__(
            f"budget of {limit:g} {what}: {spent:g} spent, {wanted:g} more needed",
            "Raise the budget and resume",
        )


def refused_by_budget(error: BaseException | None) -> bool:
    """Whether this is a `BudgetExceeded`, on its own, in a group or read from a journal."""
    if isinstance(error, SamplingFailed):
        return refused_by_budget(error.__cause__)
    if isinstance(error, BaseExceptionGroup):
        return any(map(refused_by_budget, error.exceptions))
    if isinstance(error, RecordedError):
        return error.type_name.rpartition(".")[2] == BudgetExceeded.__name__
    return isinstance(error, BudgetExceeded)
