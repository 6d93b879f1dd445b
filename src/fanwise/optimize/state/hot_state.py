"""What is known of a run with `hot`: the ranking, what came of each function, and the branch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from fanwise.core.counts import Counts
from fanwise.core.outcome import Outcome
from fanwise.errors import one_line
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import Journal
from fanwise.kernel.repository_watch import recorded_changes
from fanwise.optimize.benchmark.hot_functions import HotFunction

PROFILE, FUNCTIONS, TOGETHER = "hot-profile", "hot", "hot-branch"
"""The fan-outs of such a run."""


class HotResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one function. JSON-able."""

    target: str
    base: str
    candidates: int = 0
    rejected: int = 0
    failures: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    """Of candidates that were not accepted: the verdict on each, and why."""
    halted: str = ""
    """Why less was done than was asked, if the budget was used up."""
    name: str = ""
    """Of the winner; empty: none was proven faster."""
    speed: str = ""
    message: str = ""
    patch: str = ""

    def came_to(self) -> str:
        """In words."""
        if self.patch:
            return f"{self.speed} by {self.name}"
        told = "; ".join(self.reasons) or f"there were {self.candidates} candidates"
        return f"none was proven faster: {told}"


class HotState(msgspec.Struct, kw_only=True):
    """Built from outcomes, while it runs or from the journal."""

    ranked: Sequence[HotFunction] = ()
    results: dict[str, HotResult | str] = {}
    """By target; text: why it was not judged."""
    branch: str = ""
    commits: Sequence[str] = ()
    problem: str = ""
    """Why the branch was not made, or what is wrong with it."""
    outside: tuple[str, ...] = ()
    """What changed in the user's repository during the run, not by fanwise."""

    def apply(self, fan_out: str, key: str, outcome: Outcome[Any]) -> None:
        """Take in the outcome of an item."""
        failed = one_line(outcome.error) if outcome.error is not None else outcome.status
        if fan_out == FUNCTIONS:
            found = msgspec.convert(outcome.value, HotResult) if outcome.ok else failed
            self.results = {**self.results, key: found}
        elif fan_out == PROFILE and outcome.ok:
            self.ranked = msgspec.convert(outcome.value, list[HotFunction])
        elif fan_out == TOGETHER:
            value: Any = outcome.value if outcome.ok else {"commits": (), "problem": failed}
            self.branch, self.commits, self.problem = key, value["commits"], value["problem"]

    @property
    def made(self) -> list[HotResult]:
        """Functions with a version that is proven faster."""
        return [each for each in self.results.values() if not isinstance(each, str) and each.patch]

    @property
    def failures(self) -> list[str]:
        """What could not be judged, and why."""
        found = [f"{key}: {each}" for key, each in self.results.items() if isinstance(each, str)]
        done = [each for each in self.results.values() if isinstance(each, HotResult)]
        return [*found, *(f"{each.target}: {why}" for each in done for why in each.failures)]

    @property
    def counts(self) -> Counts:
        done = [each for each in self.results.values() if isinstance(each, HotResult)]
        halted = next((each.halted for each in done if each.halted), "")
        total, more = len(self.results), "raise the budget, and start a new run" if halted else ""
        return Counts("function", len(done), total - len(done), total, halted, more)


def read_hot(journal: Journal, run_id: str) -> HotState | None:
    """The state that a journal has; None: it is not such a run."""
    fan_outs = [each for each in journal.fan_outs(run_id) if each.path in _PATHS]
    if not fan_outs:
        return None
    state = HotState(outside=recorded_changes(journal, run_id, FUNCTIONS))
    for fan_out in fan_outs:
        for key, outcome in _outcomes(journal, fan_out.id):
            state.apply(fan_out.path, key, outcome)
    return state


_PATHS = (PROFILE, FUNCTIONS, TOGETHER)


def _outcomes(journal: Journal, fan_out: int) -> Iterable[tuple[str, Outcome[Any]]]:
    for record in journal.items(fan_out):
        if record.status in ("done", "failed"):
            value = None if record.value is None else JSON.decode(record.value)
            error = None if record.error is None else decode_error(record.error)
            yield record.key, Outcome(0, record.status, value, error)
