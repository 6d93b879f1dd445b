"""Limits that somebody changes while a run is executed: `fanwise caps RUN openai=20`.

Only what users set can be changed: the caps of the run, and how many items of a fan-out run at
once. The caps that a system makes for itself stand for something that there is only so much of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fanwise.core.resource import Resource
from fanwise.core.stats import BUDGET, CAP, CAPS, TOTAL

if TYPE_CHECKING:
    from fanwise.kernel.engine import Engine
    from fanwise.kernel.run import Run


NOTHING_MORE = {TOTAL: 0}
"""Asked for as the limits of a run: it halts. What is in flight finishes."""


class CapChanges:
    """The limits of one run. Everything here is called on the event loop of its fan-outs."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._asked: dict[str, int] = {}
        self._recorded: set[str] = set()
        self._told_budget = False

    def joined(self, engine: Engine[Any, Any]) -> None:
        """A fan-out begins: record its limits, and hold it to what was asked for before."""
        limits = {name: resource.limit for name, resource in self._resources().items()}
        if engine.intake.is_listed:
            limits[TOTAL] = engine.schedule.cap
        if new := {name: limit for name, limit in limits.items() if name not in self._recorded}:
            self._recorded |= new.keys()
            self._run.note(CAPS, new)
        if self._run.budget is not None and not self._told_budget:
            self._told_budget = True
            self._run.note(BUDGET, self._run.budget.limits)
        if self._asked.get(TOTAL) and engine.intake.is_listed:
            engine.change_cap(self._asked[TOTAL])

    def ask(self, caps: Mapping[str, int]) -> None:
        """These limits were asked for, now or before."""
        new = {name: limit for name, limit in caps.items() if self._asked.get(name) != limit}
        self._asked = dict(caps)
        if new.get(TOTAL) == NOTHING_MORE[TOTAL]:
            self._run.halt("halted from outside")
            return
        for name, limit in new.items():
            refusal = self._change(name, limit)
            if refusal is not None:
                self._run.note(CAP, {"name": name, "asked": limit, "refused": refusal})

    def _change(self, name: str, limit: int) -> str | None:
        """Change a limit; else why not."""
        if limit < 1:
            return "a cap is at least 1"
        engines = list(self._run.engines)
        resource = self._resources().get(name)
        if resource is None and name == TOTAL:
            listed = [each for each in engines if each.intake.is_listed]
            for engine in listed:
                engine.change_cap(limit)
            return None if listed else "its system decides how many items run at once"
        if resource is None:
            known = ", ".join(sorted(self._recorded)) or "none"
            return f"it has no such cap; it has {known}"
        if (refusal := _fixed(resource)) is not None:
            return refusal
        assert self._run.caps is not None
        self._run.caps.ledger.change(resource, limit)
        for engine in engines:
            engine.scope.report_moves()
            engine.go_on()
        return None

    def _resources(self) -> dict[str, Resource]:
        return {} if self._run.caps is None else self._run.caps.ledger.resources


def _fixed(resource: Resource) -> str | None:
    if resource.leased is not None:
        return "it is shared with other processes: change it where they all declare it"
    if resource.turns is not None:
        return "it is exclusive: an item gets all of it"
    if resource.limit is None:
        return "it is a rate, not a number of permits"
    return None
