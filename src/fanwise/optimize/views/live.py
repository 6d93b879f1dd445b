"""The live view in a terminal: every candidate, the stage that it is in, and the time that is left.

The state is built from the run's events, as it is built from the journal. Candidates that are at
work come first, then those that wait, then the verdicts, so that what does not fit is what is over.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from fanwise.core.counts import many
from fanwise.kernel import events
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.state.item import FAN_OUT
from fanwise.optimize.state.run_state import CandidateState, OptimizeState
from fanwise.optimize.views.text import speed_text, why
from fanwise.view.formats import cut

DOING = {
    "prepare": "is applied and compiled", "check": "is tested", "compare": "is compared",
    "benchmark": "is measured", "profile": "is profiled", "verdict": "is judged",
}  # fmt: skip
ORIGINAL = {
    "tests": "runs its tests", "recording": "is observed", "profile": "is profiled",
    "noise": "is measured against itself",
}  # fmt: skip
STYLES = {"accepted": "green", "rejected": "red", "undecided": "yellow", "same": "dim"}
WIDEST = 40
"""Columns for a name."""
Line = list[tuple[str, str]]


class LiveCandidates:
    """The drawing of a run: see `Drawing` in `fanwise.specs.system`."""

    tells_time_left = True

    def __init__(self, given: Iterable[Candidate], slots: int) -> None:
        self._given = tuple(given)
        self._slots = slots
        self._state = OptimizeState(self._given)
        self._at_work: dict[str, tuple[str, float]] = {}
        """What is done for an item, and since when, by its key."""
        self._title = ""

    def __call__(self, event: events.Event) -> None:
        path = getattr(event, "path", "")
        if path.rpartition("/")[2] != FAN_OUT:
            return
        if isinstance(event, events.FanOutStarted):
            self._begin(path)
        elif isinstance(event, events.ItemStarted):
            self._at_work[event.key] = event.key.partition(":")[0], event.at
        elif isinstance(event, events.StageBegan) and event.key in self._at_work:
            self._at_work[event.key] = event.stage, self._at_work[event.key][1]
        elif isinstance(event, events.ItemEnded):
            key = event.outcome.key or ""
            self._at_work.pop(key, None)
            if event.outcome.status in ("done", "failed"):
                self._state.apply(key, event.outcome)

    def _begin(self, path: str) -> None:
        """One function after another may be optimised; only the one at work is shown."""
        self._state = OptimizeState(self._given)
        self._at_work.clear()
        self._title = path.removesuffix(FAN_OUT).strip("/").rpartition("/")[2].replace("%2F", "/")

    def lines(self, now: float, rows: int, width: int) -> Sequence[Line]:
        """The drawing at this time: at most so many lines."""
        entries = list(self._state.entries.values())
        entries.sort(key=lambda each: (each.verdict is not None, each.place))
        names = [cut(each.candidate.name, WIDEST) for each in entries]
        wide = max(map(len, names), default=0)
        found = [[(self._title, "bold")]] if self._title else []
        found += self._others(now)
        for entry, name in zip(entries, names, strict=True):
            told, style = self._told(entry, now)
            room = max(20, width - wide - 4)
            first, *rest = textwrap.wrap(told, room) or [""]
            found.append([(f"  {name.ljust(wide)}  ", ""), (first, style)])
            found += [[(" " * (wide + 4), ""), (line, style)] for line in rest]
        left = self._left()
        last = [[(left, "")]] if left else []
        if len(found) + len(last) > rows:
            found = found[: max(0, rows - len(last))]
        return [*found, *last][:rows]

    def _others(self, now: float) -> list[Line]:
        """What is done for the original, and proposals that are awaited."""
        found: list[Line] = []
        asked = 0
        for key, (what, since) in self._at_work.items():
            kind, _, name = key.partition(":")
            asked += kind in ("propose", "repair", "refine")
            if kind == "baseline":
                doing = f"{ORIGINAL.get(name, what)}, {_seconds(now - since)}"
                found.append([("  the original  ", ""), (doing, "cyan")])
        if asked:
            found.append([(f"  {many(asked, 'proposal')} awaited", "cyan")])
        return found

    def _told(self, entry: CandidateState, now: float) -> tuple[str, str]:
        verdict = entry.verdict
        if verdict is not None:
            names = {key: each.candidate.name for key, each in self._state.entries.items()}
            told = "  ".join(filter(None, [verdict.status, speed_text(verdict)]))
            return f"{told}  {why(verdict, names)}", STYLES[verdict.status]
        if (error := self._state.error(entry)) is not None:
            return f"not judged: {error}", "red"
        for kind in ("benchmark", "check", "prepare", "profile"):
            if (doing := self._at_work.get(f"{kind}:{entry.candidate.key}")) is not None:
                return f"{DOING[doing[0]]}, {_seconds(now - doing[1])}", "cyan"
        if entry.checked is not None:
            return "passed its checks, waits to be measured", ""
        return "waits", "dim"

    def _left(self) -> str:
        """How long the rest will take, from what it has taken so far."""
        state = self._state
        entries = state.entries.values()
        waiting = [each for each in entries if each.verdict is None and not each.error]
        unchecked = [each for each in waiting if each.checked is None]
        took = [
            sum(finding.seconds for finding in each.checked.findings)
            for each in entries
            if each.checked is not None
        ]
        tests: Any = state.baseline.get("tests") or {}
        check_s = median(took) if took else tests.get("seconds")
        if not waiting or check_s is None:
            return ""
        left = check_s * len(unchecked) / self._slots
        if state.noise is None:
            told = f"{len(unchecked)} to check" if unchecked else "checked"
            return f"{told}, about {_seconds(left)} left, and then the measurements"
        decision_s = state.noise.decision_s
        each = f"a decision takes about {_seconds(decision_s)}"
        return f"about {_seconds(left + decision_s * len(waiting))} left: {each}"


def _seconds(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{rest:02} min" if minutes else f"{rest} s"
