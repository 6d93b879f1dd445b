"""Halts a map after so many ends of a kind, in the order in which commands end.

A subscriber, because it hears of an outcome before anything else starts, also of one that an
earlier execution recorded. `now,fail=1` is not counted here: it is the kernel's own halt, in the
order of the lines.
"""

from __future__ import annotations

from fanwise.kernel import events
from fanwise.kernel.run import Run
from fanwise.lines.spec.halt_rule import HaltRule

STATUSES = {"fail": ("failed",), "success": ("done",), "done": ("done", "failed")}


class HaltAfter:
    """Halts or cancels the run when the rule says so."""

    def __init__(self, rule: HaltRule, run: Run) -> None:
        self._rule = rule
        self._run = run
        self._counted = 0
        self.halted = False
        """Whether it has halted the run."""

    def __call__(self, event: events.Event) -> None:
        rule = self._rule
        if not isinstance(event, events.ItemEnded) or rule.when == "never" or rule.in_order:
            return
        self._counted += event.outcome.status in STATUSES[rule.what]
        if self._counted >= rule.number and not self.halted:
            self.halted = True
            (self._run.cancel if rule.when == "now" else self._run.halt)(rule.words)
