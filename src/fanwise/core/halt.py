"""Halt rules: when to start no more items.

Outcomes are judged in item order, not in the order in which they finish, so the result is what a
sequential run would have returned. Only `on_success(fastest=True)` gives that up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Literal, get_args

import msgspec

from fanwise.core.outcome import Outcome, Status
from fanwise.errors import BadPredicate

ALL: frozenset[Status] = frozenset(get_args(Status))
ALL_BUT_FAILED: frozenset[Status] = ALL - {"failed"}
ALL_BUT_DONE: frozenset[Status] = ALL - {"done"}
NONE: frozenset[Status] = frozenset()


class Halt(msgspec.Struct, frozen=True):
    """Made by `Halt.never()`, `.on_failure()`, `.on_success()` or `.when(predicate)`."""

    kind: Literal["never", "failure", "success", "fastest", "when"]
    predicate: Callable[[Outcome[Any]], bool] | None = None

    @staticmethod
    def never() -> Halt:
        """Run every item, whatever happens to the others."""
        return Halt("never")

    @staticmethod
    def on_failure() -> Halt:
        """Stop at the first failure in item order; it is the last outcome."""
        return Halt("failure")

    @staticmethod
    def on_success(*, fastest: bool = False) -> Halt:
        """Stop at the first success in item order, or (`fastest`) at the first to finish."""
        return Halt("fastest" if fastest else "success")

    @staticmethod
    def when(predicate: Callable[[Outcome[Any]], bool]) -> Halt:
        """Stop at the first outcome in item order for which this returns True."""
        return Halt("when", predicate)

    def also_at(self, keys: Collection[str]) -> Halt:
        """The same rule, which also halts at the recorded outcomes with these keys.

        The predicate halted there before. It might answer differently now, because a journal does
        not keep everything about an error.
        """
        ask = self.predicate
        if ask is None:
            return self
        return Halt(self.kind, lambda o: True if o.recorded and o.key in keys else ask(o))

    @property
    def never_halting(self) -> frozenset[Status]:
        """The statuses that never halt."""
        match self.kind:
            case "never":
                return ALL
            case "failure":
                return ALL_BUT_FAILED
            case "success" | "fastest":
                return ALL_BUT_DONE
            case "when":
                return NONE

    def judge(self, outcome: Outcome[Any]) -> bool:
        """Whether this outcome halts the fan-out. `BadPredicate` if the predicate fails."""
        match self.kind:
            case "never":
                return False
            case "failure":
                return outcome.status == "failed"
            case "success" | "fastest":
                return outcome.status == "done"
            case "when":
                return self._ask(outcome)

    def _ask(self, outcome: Outcome[Any]) -> bool:
        assert self.predicate is not None
        try:
            answer = self.predicate(outcome)
        except Exception as error:
            raise BadPredicate("the halt predicate", outcome.index, "raised") from error
        # A coroutine is truthy, so an async predicate would halt at once and seem to work.
        if not isinstance(answer, bool):
            if hasattr(answer, "close"):
                answer.close()
            problem = f"gave {type(answer).__name__}, not a bool,"
            raise BadPredicate("the halt predicate", outcome.index, problem)
        return answer
