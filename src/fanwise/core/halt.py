"""When to start nothing more.

A halt is judged in item order, whatever finished first: the outcomes that come back are those
that a sequential run would have returned. Only `on_success(fastest=True)` gives this up, on
request.
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
        """Every item runs, whatever becomes of the others."""
        return Halt("never")

    @staticmethod
    def on_failure() -> Halt:
        """The first failure in item order is the last outcome."""
        return Halt("failure")

    @staticmethod
    def on_success(*, fastest: bool = False) -> Halt:
        """The first success wins: in item order, or (`fastest`) the first to finish."""
        return Halt("fastest" if fastest else "success")

    @staticmethod
    def when(predicate: Callable[[Outcome[Any]], bool]) -> Halt:
        """The first outcome in item order for which this is true is the last one."""
        return Halt("when", predicate)

    def also_at(self, keys: Collection[str]) -> Halt:
        """The same, without asking again at recorded outcomes that are known to halt.

        The predicate might answer otherwise now: not all of an error survives a journal.
        """
        ask = self.predicate
        if ask is None:
            return self
        return Halt(self.kind, lambda o: True if o.recorded and o.key in keys else ask(o))

    @property
    def spared(self) -> frozenset[Status]:
        """No outcome of one of these statuses halts, whatever else it says."""
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
        """Whether this outcome halts. `BadPredicate` if the predicate fails."""
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
        # A coroutine is truthy: an async predicate would halt at once and look as if it worked.
        if not isinstance(answer, bool):
            if hasattr(answer, "close"):
                answer.close()
            problem = f"gave {type(answer).__name__}, not a bool,"
            raise BadPredicate("the halt predicate", outcome.index, problem)
        return answer
